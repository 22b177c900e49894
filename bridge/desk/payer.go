package desk

import (
	"context"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
)

// accountsOf returns the projects a person spends from: those their jobs and
// rentals show, and those with a Unix group of theirs.
func (d *Desk) accountsOf(ctx context.Context, p Person) ([]bridge.Account, error) {
	seen := map[bridge.Account]bool{}
	rs, err := d.Reader.Recent(ctx, recentRentals)
	if err != nil {
		return nil, unreadable(err)
	}
	for i := range rs {
		if p.owns(&rs[i]) {
			seen[rs[i].Account.Project()] = true
		}
	}
	if snap, _, err := d.look(); err == nil {
		for i := range snap.Queues {
			for _, dem := range jobsOf(&snap.Queues[i], p.Name) {
				seen[d.Rules.Terms(&dem, &bridge.Facts{Cluster: dem.Cluster}).Account] = true
			}
		}
	}
	for _, b := range d.Rules.Budgets() {
		if strings.Count(string(b.Account), "/") >= 2 && p.belongs(b.Account.Project()) {
			seen[b.Account.Project()] = true
		}
	}
	delete(seen, "")
	out := make([]bridge.Account, 0, len(seen))
	for a := range seen {
		out = append(out, a)
	}
	slices.Sort(out)
	return out, nil
}

// jobsOf returns what a user has in a queue, pending and running, one for each
// scheduler account and partition.
func jobsOf(q *bridge.Queue, user string) []bridge.Demand {
	var out []bridge.Demand
	add := func(account, partition string) {
		same := func(o bridge.Demand) bool { return o.Account == account && o.Partition == partition }
		if !slices.ContainsFunc(out, same) {
			out = append(out, bridge.Demand{Cluster: q.Cluster, User: user, Account: account, Partition: partition, Nodes: 1, Count: 1})
		}
	}
	for i := range q.Demands {
		if d := &q.Demands[i]; d.User == user {
			add(d.Account, d.Partition)
		}
	}
	for i := range q.Runs {
		if r := &q.Runs[i]; r.User == user {
			add(r.Account, r.Partition)
		}
	}
	return out
}

// payer finds cluster, account and terms of a request, and refuses an account
// that the asker does not spend from.
func (d *Desk) payer(ctx context.Context, p Person, r *request) error {
	if err := r.whichCluster(); err != nil {
		return err
	}
	mine, err := d.accountsOf(ctx, p)
	if err != nil {
		return err
	}
	account := r.wish.Project
	if account == "" {
		switch len(mine) {
		case 0:
			return r.no(BadRequest, strings.TrimSpace("spillway rent "+r.wish.String()+" project NAME"),
				"which project pays? You have no job in the queue that would tell")
		case 1:
			account = lastOf(mine[0])
		default:
			return r.no(BadRequest, "spillway rent "+r.wish.String()+" project "+lastOf(mine[0]), "which project pays? You spend from %s", joined(mine))
		}
	}
	project, terms := d.project(account, r)
	if project == "" {
		return r.no(NotFound, "spillway spend", "policy knows no project %q", account)
	}
	allowed := p.Is(Admin) || slices.Contains(mine, project) || p.belongs(project) || d.approvesFor(p, project)
	if !allowed {
		return r.no(Forbidden, "spillway whoami", "you do not spend from %s: no job of yours uses it, and you are not in the group %s", project, lastOf(project))
	}
	r.wish.Project = lastOf(project)
	r.account, r.terms = project+bridge.Account("/"+r.user), terms
	return nil
}

func (r *request) whichCluster() error {
	all := clusters(&r.snap)
	if r.cluster == "" {
		r.cluster = r.wish.Cluster
	}
	switch {
	case r.cluster == "" && len(all) == 1:
		r.cluster = all[0]
	case r.cluster == "" && len(all) > 1:
		return r.no(BadRequest, "spillway rent "+r.wish.String()+" cluster "+all[0], "for which cluster? There are %s", strings.Join(all, ", "))
	case len(all) == 0:
		return wrong(Unavailable, "spillway status", "no cluster has been seen yet")
	case !slices.Contains(all, r.cluster):
		return wrong(NotFound, "spillway status", "no cluster %q is watched; watched: %s", r.cluster, strings.Join(all, ", "))
	}
	return nil
}

// project finds the account that a name means: what policy maps the scheduler
// account of that name to, else the one budgeted project so called.
func (d *Desk) project(name string, r *request) (bridge.Account, *bridge.Terms) {
	dem := bridge.Demand{Cluster: r.cluster, User: r.user, Account: lastOf(bridge.Account(name)), Nodes: 1, Count: 1, Restartable: true, TimeLimit: r.wish.duration()}
	if r.demand != nil {
		dem.Partition, dem.QOS, dem.Comment, dem.Shape = r.demand.Partition, r.demand.QOS, r.demand.Comment, r.demand.Shape
	}
	terms := d.Rules.Terms(&dem, &bridge.Facts{Cluster: r.cluster})
	if strings.Contains(name, "/") && terms.Account != bridge.Account(name) {
		return "", terms
	}
	if terms.Account != "" {
		return terms.Account, terms
	}
	var found []bridge.Account
	for _, b := range d.Rules.Budgets() {
		if p := b.Account.Project(); strings.Count(string(p), "/") == 2 && lastOf(p) == name && !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	if len(found) == 1 {
		return found[0], terms
	}
	return "", terms
}

// approvesFor reports whether the person may approve anything for an account.
func (d *Desk) approvesFor(p Person, account bridge.Account) bool {
	return slices.ContainsFunc(d.Rules.Budgets(), func(b bridge.Budget) bool {
		return under(account, b.Account) && p.approves(&b)
	})
}

// approvesSome reports whether the person may approve for a budget that what is
// spent in a scope counts in.
func (d *Desk) approvesSome(p Person, spent bridge.Scope) bool {
	return slices.ContainsFunc(d.Rules.Budgets(), func(b bridge.Budget) bool {
		return b.Scope().Covers(spent) && p.approves(&b)
	})
}

func joined(as []bridge.Account) string {
	out := make([]string, 0, len(as))
	for _, a := range as {
		out = append(out, string(a))
	}
	return strings.Join(out, ", ")
}

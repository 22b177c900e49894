package desk

import (
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
)

// Role is what a person may do beyond asking about themselves.
type Role string

// The roles. Everybody who can reach the socket is a member; an approver is
// one for the budgets that name them, or for all when named in the policy's
// roles. An admin is not an approver by that alone.
const (
	Admin    Role = "admin"
	Approver Role = "approver"
	Member   Role = "member"
)

// Person is who asks. Name is the Unix account: the only identity that counts
// when somebody's own request is decided.
type Person struct {
	Name   string   `json:"name"`
	UID    int      `json:"uid"`
	Groups []string `json:"groups,omitempty"`
	Roles  []Role   `json:"roles"`
	// Via is the door they come through, for the record of decisions: "slack
	// T1/U1" for one of several Slack users of an account; empty: the socket.
	Via string `json:"-"`
}

// Is reports whether the person has a role.
func (p Person) Is(r Role) bool { return slices.Contains(p.Roles, r) }

// among reports whether a list of accounts and @groups names the person.
func (p Person) among(list []string) bool {
	return slices.ContainsFunc(list, func(w string) bool {
		if g, ok := strings.CutPrefix(w, "@"); ok {
			return slices.Contains(p.Groups, g)
		}
		return w == p.Name
	})
}

// Roles is the role table: Unix accounts, or groups with a leading @.
type Roles struct {
	Admins    []string
	Approvers []string // above any budget but a hard one
	// Escalation are approvers too, asked only when a question is about to lapse.
	Escalation []string
}

// Of returns the person with the roles the table gives them. The account root
// is an admin.
func (t Roles) Of(name string, uid int, groups []string) Person {
	p := Person{Name: name, UID: uid, Groups: groups, Roles: []Role{Member}}
	if name == "root" || p.among(t.Admins) {
		p.Roles = append(p.Roles, Admin)
	}
	if p.among(t.Approvers) || p.among(t.Escalation) {
		p.Roles = append(p.Roles, Approver)
	}
	return p
}

// Right is something not everybody may do.
type Right string

// The rights.
const (
	SeeAll      Right = "see everybody's jobs, rentals and spend"
	ReleaseAny  Right = "release somebody else's rental"
	StopMoney   Right = "freeze and thaw"
	CheckLedger Right = "check the ledger"
	SettleBills Right = "import a bill"
)

// rights is the role table's other half: which roles have which right.
var rights = map[Right][]Role{
	SeeAll:      {Admin, Approver},
	ReleaseAny:  {Admin},
	StopMoney:   {Admin},
	CheckLedger: {Admin, Approver},
	SettleBills: {Admin},
}

func (p Person) may(r Right) bool { return slices.ContainsFunc(rights[r], p.Is) }

// need returns a Forbidden error when the person lacks a right.
func (p Person) need(r Right) error {
	if p.may(r) {
		return nil
	}
	return wrong(Forbidden, "spillway whoami", "only the role %s may %s; you are %s", anyOf(rights[r]), r, p.Name)
}

// anyOf are roles of which one is enough.
type anyOf []Role

// String says them in English.
func (a anyOf) String() string { return a.joined(" or ") }

func (a anyOf) joined(by string) string {
	out := make([]string, 0, len(a))
	for _, r := range a {
		out = append(out, string(r))
	}
	return strings.Join(out, by)
}

// owns reports whether a rental is the person's own.
func (p Person) owns(r *bridge.Rental) bool { return r.Requester == p.Name }

// approves reports whether the person may approve above a budget.
func (p Person) approves(b *bridge.Budget) bool { return p.Is(Approver) || p.among(b.Approvers) }

// belongs reports whether a Unix group of the person has the project's name.
func (p Person) belongs(project bridge.Account) bool {
	return slices.Contains(p.Groups, lastOf(project))
}

// lastOf is the last level of an account.
func lastOf(a bridge.Account) string { return string(a[strings.LastIndex(string(a), "/")+1:]) }

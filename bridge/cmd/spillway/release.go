package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

type releaseCmd struct {
	format
	ID      string `arg:"" optional:"" predictor:"rental" help:"The rental."`
	Job     string `xor:"target" predictor:"job" help:"What is rented for this job." placeholder:"ID"`
	Node    string `xor:"target" help:"The rental of this machine, if it has no other." placeholder:"NAME"`
	All     bool   `xor:"target" help:"All that is rented in your name."`
	Cluster string `help:"With --job and --all: only on this cluster." placeholder:"NAME"`
	Now     bool   `xor:"how" help:"At once; jobs on the machines are requeued where they may be."`
	Drain   bool   `xor:"how" help:"When the jobs on the machines have ended (the default)."`
	At      string `xor:"how" help:"Then, when the jobs on the machines have ended: 18:00, fri 18:00, eod." placeholder:"TIME"`

	ByTag bool   `name:"by-tag" help:"Without daemon and store: end machines that the clouds list with this site's tags."`
	Store string `name:"store-id" help:"With --by-tag: id of the store, if its folder is lost." placeholder:"ID"`
	Yes   bool   `short:"y" help:"With --by-tag: do not ask at the terminal first."`
}

// Help gives examples.
func (releaseCmd) Help() string {
	return `Examples:
  spillway release r-0013             when its jobs have ended
  spillway release r-0013 --now
  spillway release r-0013 --at 'fri 18:00'
  spillway release --job 4711
  spillway release --all
  spillway release --by-tag           everything of this site, from the clouds' lists alone
  spillway release --by-tag r-0013    one rental, the same way

Releasing needs no budget and no approval, and may be asked again without harm. --by-tag needs the configuration only;
stop the daemon first, or it may rent again.

JSON keys: released[] (rental, was, changed, text); with --by-tag: machines[] (cloud, id, rental, state, launched), ended.`
}

// Run gives machines back.
func (c *releaseCmd) Run(a *app) error {
	if c.ByTag {
		return c.byTag(a)
	}
	req := desk.ReleaseRequest{Rental: c.ID, Job: bridge.JobID(c.Job), Node: c.Node, All: c.All, Cluster: c.Cluster, Now: c.Now}
	if c.At != "" {
		req.Words, req.Zone = []string{"at", c.At}, zoneHere()
	}
	got, err := ask(a, desk.AskRelease, req)
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) {
		for i := range got.Released {
			r := &got.Released[i]
			p.line("%s: %s.", r.Rental.ID, r.Text)
		}
		if len(got.Released) == 0 {
			p.line("Nothing is rented in your name.")
		}
	})
}

// tagged is a machine found by its tags.
type tagged struct {
	Cloud  string               `json:"cloud"`
	ID     string               `json:"id"`
	Rental string               `json:"rental"`
	State  bridge.InstanceState `json:"state"`
	Since  time.Time            `json:"launched"`
}

type byTagAnswer struct {
	Machines []tagged `json:"machines"`
	Ended    bool     `json:"ended"`
}

// byTag ends machines from the clouds' lists alone: the way out when daemon
// and store are gone.
func (c *releaseCmd) byTag(a *app) error {
	if c.Job != "" || c.Node != "" || c.All {
		return &desk.Error{Kind: desk.BadRequest, Wrong: "--by-tag takes a rental, or nothing for everything of this site", Try: "spillway release --by-tag"}
	}
	want := bridge.RentalID("")
	if c.ID != "" {
		id, err := bridge.ParseRentalID(c.ID)
		if err != nil {
			return &desk.Error{Kind: desk.BadRequest, Wrong: err.Error(), Try: "spillway release --by-tag", Err: err}
		}
		want = id
	}
	s, err := a.site()
	if err != nil {
		return err
	}
	store, err := c.storeID(a, s)
	if err != nil {
		return err
	}
	found, err := listTagged(a.ctx, s, store, want)
	if err != nil {
		return err
	}
	answer := byTagAnswer{Machines: found}
	if len(found) > 0 {
		if c.Output == "text" {
			if err := c.print(a, nil, func(p *page) { sayTagged(p, found) }); err != nil {
				return err
			}
		}
		if err := a.confirm(c.Yes, fmt.Sprintf("End %s for good?", desk.Count(len(found), "machine"))); err != nil {
			return err
		}
		if err := endTagged(a.ctx, s, found); err != nil {
			return err
		}
		answer.Ended = true
	}
	return c.print(a, answer, func(p *page) {
		if len(found) == 0 {
			p.line("No cloud lists a machine of this site%s.", ofRental(want))
			return
		}
		p.line("All are told to end. Look again: spillway release --by-tag")
	})
}

func ofRental(id bridge.RentalID) string {
	if id == "" {
		return ""
	}
	return " for " + string(id)
}

// storeID is whose machines are ours: the flag's, else the store's.
func (c *releaseCmd) storeID(a *app, s *site) (string, error) {
	if c.Store != "" {
		return c.Store, nil
	}
	id, err := s.storeID(a.ctx)
	if err != nil {
		return "", &desk.Error{
			Kind: desk.Unavailable, Wrong: "the store does not say whose machines are ours: " + err.Error(),
			Try: "spillway release --by-tag --store-id ID (the tag " + bridge.TagStore + " of the machines)", Err: err,
		}
	}
	return id, nil
}

func listTagged(ctx context.Context, s *site, store string, want bridge.RentalID) ([]tagged, error) {
	found := []tagged{}
	var errs []error
	for _, cloud := range s.clouds {
		for _, cluster := range s.clusterNames() {
			l, err := cloud.List(ctx, store, cluster)
			if err != nil {
				errs = append(errs, fmt.Errorf("list %s: %w", cloud.Name(), err))
				continue
			}
			if !l.Complete {
				errs = append(errs, fmt.Errorf("list %s: not every page came; run it again", cloud.Name()))
			}
			for i := range l.Instances {
				m := &l.Instances[i]
				if m.Tags[bridge.TagStore] != store || m.State == bridge.InstanceGone || want != "" && m.Tags[bridge.TagRental] != string(want) {
					continue
				}
				found = append(found, tagged{cloud.Name(), m.ID, m.Tags[bridge.TagRental], m.State, m.Launched})
			}
		}
	}
	slices.SortFunc(found, func(a, b tagged) int {
		return cmp.Or(cmp.Compare(a.Cloud, b.Cloud), cmp.Compare(a.Rental, b.Rental), cmp.Compare(a.ID, b.ID))
	})
	found = slices.CompactFunc(found, func(a, b tagged) bool { return a.Cloud == b.Cloud && a.ID == b.ID })
	return found, errors.Join(errs...)
}

func sayTagged(p *page, found []tagged) {
	rows := make([]string, 0, len(found))
	for i := range found {
		m := &found[i]
		rows = append(rows, row(m.Cloud, m.ID, m.Rental, m.State, desk.Clock(m.Since)))
	}
	p.table("CLOUD\tMACHINE\tRENTAL\tSTATE\tSINCE", rows)
}

func endTagged(ctx context.Context, s *site, found []tagged) error {
	var errs []error
	for _, cloud := range s.clouds {
		var ids []string
		for i := range found {
			if found[i].Cloud == cloud.Name() {
				ids = append(ids, found[i].ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		if err := cloud.Terminate(ctx, ids); err != nil {
			errs = append(errs, fmt.Errorf("end machines of %s: %w", cloud.Name(), err))
		}
	}
	return errors.Join(errs...)
}

package sim

import (
	"fmt"
	"maps"
	"slices"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/adopt"
	"spillway.sh/spillway/bridge/cloud/contract"
	"spillway.sh/spillway/bridge/cloud/local"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/sim/invariant"
	"spillway.sh/spillway/slurm"
)

// Books is where an operator rebuilds the store of a bridge that is dead: its
// folder, the clouds and the cluster, by connections of their own.
func (w *World) Books() (*adopt.Site, error) {
	own := &life{w: w}
	site := &adopt.Site{
		Dir: w.stateDir(), Watch: w.policy.Watch(), Now: w.Now,
		Clusters: map[string]adopt.Scheduler{Cluster: slurm.New(slurm.Options{Name: Cluster, Exec: own.exec, Now: w.Now})},
	}
	for _, name := range w.site.cloudNames() {
		c, err := local.New(local.Config{
			Name: name, URL: "http://clouds", TokenFile: w.Cloud.TokenFile(name, account), Timeout: listen, Limits: 100, Transport: line{w, own},
		})
		if err != nil {
			return nil, fmt.Errorf("reach cloud %s: %w", name, err)
		}
		site.Clouds = append(site.Clouds, contract.New(c, w.policy.Capacity(), w.Now))
	}
	return site, nil
}

// Forget has what was seen of the store forgotten: the next life's is another,
// and judged from its beginning. Machines that are gone were in the lost one.
func (w *World) Forget() {
	w.checker = invariant.New(w.rules())
	s := &w.seen
	s.life, s.wrote, s.newsID, s.seq, s.epoch = 0, 0, 0, 0, 0
	s.balances, s.marks, s.news, s.ledger = nil, bridge.Marks{}, nil, nil
	clear(s.rentals)
	maps.DeleteFunc(s.machines, func(_ string, m *invariant.Machine) bool { return m.State == wire.StateTerminated })
	s.order = slices.DeleteFunc(s.order, func(id string) bool { return s.machines[id] == nil })
}

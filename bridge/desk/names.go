package desk

import (
	"context"
	"slices"

	"spillway.sh/spillway/bridge"
)

// NamesRequest asks for the names that words may mean.
type NamesRequest struct{}

// NamesAnswer is what a person may name: what is on offer, the projects they
// rent for, and their own waiting jobs.
type NamesAnswer struct {
	Known
	Mine []string  `json:"mine"` // projects, the likeliest first
	Jobs []JobName `json:"jobs"`
}

// JobName is a waiting job in a list to choose from.
type JobName struct {
	Job     bridge.JobID `json:"job"`
	Name    string       `json:"name"`
	Cluster string       `json:"cluster"`
	Size    string       `json:"size"`
}

// mostJobs is how many jobs a person can be offered to choose from.
const mostJobs = 100

// Names answers which names mean something. While nothing is known of the
// queue, only the budgets' projects do.
func (d *Desk) Names(ctx context.Context, p Person, _ NamesRequest) (NamesAnswer, error) {
	snap, _, err := d.look()
	if err != nil && AsError(err).Kind != Unavailable {
		return NamesAnswer{}, err
	}
	a := NamesAnswer{Known: *d.known(&snap), Mine: []string{}, Jobs: []JobName{}}
	mine, err := d.accountsOf(ctx, p)
	if err != nil {
		return NamesAnswer{}, err
	}
	for _, account := range mine {
		a.Mine = append(a.Mine, lastOf(account))
	}
	for i := range snap.Queues {
		for j := range snap.Queues[i].Demands {
			if dem := &snap.Queues[i].Demands[j]; dem.User == p.Name && len(a.Jobs) < mostJobs {
				a.Jobs = append(a.Jobs, JobName{dem.Job, dem.Name, dem.Cluster, Size(dem.Shape, dem.Nodes, dem.Count)})
			}
		}
	}
	for _, list := range []*[]string{&a.GPUs, &a.Types, &a.Places, &a.Projects} {
		*list = append([]string{}, *list...)
	}
	a.Mine = slices.Compact(a.Mine)
	return a, nil
}

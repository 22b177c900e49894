package killed

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/bridge/store"
)

// undone are the jobs that have not said that they are done.
func (b *bustle) undone() (out []*job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.jobs {
		if len(b.record(j).ends) == 0 {
			out = append(out, j)
		}
	}
	return out
}

// tell says all that is known of jobs: what they wrote, what Slurm says of them,
// and the news of theirs and of the rentals that these name.
func (b *bustle) tell(jobs []*job) string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var out strings.Builder
	news, err := b.r.news(ctx)
	if err != nil {
		fmt.Fprintln(&out, err)
	}
	for _, j := range jobs {
		said, err := os.ReadFile(b.file(j) + ".log")
		if err != nil {
			said = []byte("it has not begun\n")
		}
		slurm, err := b.r.Cluster.Output(ctx, sandbox.Account{}, "scontrol", "-o", "show", "job", j.id)
		if err != nil {
			slurm = err.Error()
		}
		fmt.Fprintf(&out, "%s is job %s; spot %t, %d nodes\n%s%s\n", j.name, j.id, j.spot, j.nodes, said, strings.TrimSpace(slurm))
		rentals := map[bridge.RentalID]bool{}
		for i := range news {
			if string(news[i].Job) == j.id && news[i].Rental != "" {
				rentals[news[i].Rental] = true
			}
		}
		for i := range news {
			if n := &news[i]; string(n.Job) == j.id || rentals[n.Rental] {
				fmt.Fprintf(&out, "  %s %s rental %s job %s node %s who %s why %s: %s\n", n.At.Format("15:04:05.000"), n.Kind, n.Rental, n.Job, n.Node, n.Who, n.Why, n.Text)
			}
		}
	}
	return out.String()
}

// news are those of the whole run.
func (r *rig) news(ctx context.Context) ([]bridge.News, error) {
	s, err := store.OpenReadOnly(ctx, r.Path("state"), store.Options{})
	if err != nil {
		return nil, fmt.Errorf("read the news: %w", err)
	}
	defer func() { _ = s.Close() }() // It was only read.
	return s.NewsBetween(ctx, time.Unix(0, 0), time.Now().Add(time.Hour))
}

package desk

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

func TestAQuoteSaysWhatTheLocalQueueWouldDo(t *testing.T) {
	start := noon.Add(11 * time.Hour)
	queue := Local{Cluster: "main", Source: FromQueue, At: noon, Waiting: 11, Oldest: 720}
	for name, c := range map[string]struct {
		words  string
		change func(q *bridge.Queue)
		want   *Local
	}{
		"no job named":                           {words: "8xh100 2h project nlp", want: &queue},
		"a job the scheduler has not thought of": {words: "job 4711", want: &queue},
		"a job with an estimate": {
			words: "job 4711", change: func(q *bridge.Queue) { q.Demands[0].StartEstimate = start },
			want: &Local{Cluster: "main", Source: FromScheduler, At: noon, Job: "4711", Start: start, Waiting: 11, Oldest: 720},
		},
		"an estimate of another job":  {words: "8xh100 2h project nlp", change: func(q *bridge.Queue) { q.Demands[0].StartEstimate = start }, want: &queue},
		"an estimate that has passed": {words: "job 4711", change: func(q *bridge.Queue) { q.Demands[0].StartEstimate = noon.Add(-time.Minute) }, want: &queue},
		"nothing waits for machines": {words: "8xh100 2h project nlp", change: func(q *bridge.Queue) {
			q.Demands[0].Standing, q.Demands[1].Standing = bridge.StandingUser, bridge.StandingPolicy
		}, want: &Local{Cluster: "main", Source: FromQueue, At: noon}},
		"a queue seen too long ago": {words: "8xh100 2h project nlp", change: func(q *bridge.Queue) { q.ObservedAt = noon.Add(-time.Hour) }},
	} {
		t.Run(name, func(t *testing.T) {
			d, w := newWorld(t)
			q := &w.snap.Queues[0]
			q.Demands[0].Standing, q.Demands[1].Standing = bridge.StandingHelps, bridge.StandingBehind
			if c.change != nil {
				c.change(q)
			}
			a, err := d.Quote(t.Context(), d.as("ana"), QuoteRequest{Wish: Wish{Words: []string{c.words}}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, a.Local); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAQuestionSaysWhenItsJobsWouldStartWithoutIt(t *testing.T) {
	d, w := newWorld(t)
	d.Rules.(*rules).terms.AskAbove = usd(1)
	local := func(r *Rental) *Local {
		t.Helper()
		a, err := d.Question(t.Context(), d.as("mei"), QuestionRequest{Rental: string(r.ID)})
		if err != nil {
			t.Fatal(err)
		}
		return a.Questions[0].Local
	}
	forJob, byHand := d.mustRent(t, "ana", "job 4711"), d.mustRent(t, "ana", "4xh100 1h project nlp")
	if l := local(&forJob.Rental); l != nil {
		t.Errorf("no estimate is known, and it says %+v", l)
	}
	w.snap.Queues[0].Demands[0].StartEstimate = noon.Add(time.Hour)
	if l := local(&forJob.Rental); l == nil || l.Job != "4711" || !l.Start.Equal(noon.Add(time.Hour)) || l.Source != FromScheduler {
		t.Errorf("for the job: %+v", l)
	}
	if l := local(&byHand.Rental); l != nil {
		t.Errorf("for no job: %+v", l)
	}
	if _, err := d.Decide(t.Context(), d.as("mei"), DecideRequest{Rental: string(forJob.Rental.ID), Revision: 1}); err != nil {
		t.Fatal(err)
	}
	if l := local(&forJob.Rental); l != nil {
		t.Errorf("of a closed question: %+v", l)
	}
}

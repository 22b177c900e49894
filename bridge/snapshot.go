package bridge

import "time"

// Balance is what one budget may still spend in one period.
type Balance struct {
	Account Account `json:"account"`
	Cloud   string  `json:"cloud,omitempty"` // empty: all
	GPU     string  `json:"gpu,omitempty"`   // empty: all
	Period  string  `json:"period"`          // for example 2026-11
	Limit   Money   `json:"limit"`
	Posted  Money   `json:"posted"`
	Held    Money   `json:"held"`
	Hard    bool    `json:"hard"` // no approval may exceed it
}

// Left is limit less posted less held; negative when the bill ran over.
func (b *Balance) Left() (Money, error) {
	m, err := b.Limit.Sub(b.Posted)
	if err != nil {
		return Money{}, err
	}
	return m.Sub(b.Held)
}

// Answer is a closed question that must not be asked again at once.
type Answer struct {
	Cluster string    `json:"cluster,omitempty"` // empty: of any cluster
	Jobs    []JobID   `json:"jobs"`
	Why     Reason    `json:"why"`   // denied or not-answered
	Until   time.Time `json:"until"` // not asked again before
}

// Snapshot is everything a decision may look at. Plain values; now is one of them.
type Snapshot struct {
	Now     time.Time    `json:"now"`
	Queues  []Queue      `json:"queues"`
	Offers  []Offer      `json:"offers"`
	Rentals []Rental     `json:"rentals"` // all that have not ended
	Pools   []PoolHealth `json:"pools"`
	Budgets []Balance    `json:"budgets"`
	Answers []Answer     `json:"answers"`
	// Reclaims counts, per cluster and job, the spot machines taken from it.
	Reclaims map[string]map[JobID]int `json:"reclaims"`
	// Checkpoints are the newest complete ones, per cluster and job; of a job
	// that is not in here nothing is known.
	Checkpoints map[string]map[JobID]Checkpoint `json:"checkpoints,omitempty"`
	// Looking are jobs whose checkpoints are being looked for the first time.
	Looking map[string]map[JobID]bool `json:"looking,omitempty"`
	// Hazards are the reclaims seen of each spot pool.
	Hazards []Hazard `json:"hazards,omitempty"`

	MaxQueueAge time.Duration `json:"max_queue_age"` // an older queue is stale
	Frozen      bool          `json:"frozen"`        // no new money, by a person
	Protected   bool          `json:"protected"`     // no new money, by the breaker
}

// Stale reports whether a queue is too old, or from the future, to act on.
func (s *Snapshot) Stale(q *Queue) bool {
	age := s.Now.Sub(q.ObservedAt)
	return q.ObservedAt.IsZero() || age > s.MaxQueueAge || age < -time.Minute
}

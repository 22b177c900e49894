package bridge

import "time"

// Marks are what the engine remembers between cycles and restarts.
type Marks struct {
	Pools    []PoolHealth             `json:"pools"`
	Answers  []Answer                 `json:"answers"`
	Reclaims map[string]map[JobID]int `json:"reclaims"`
	Hazards  []Hazard                 `json:"hazards,omitempty"`
	// Runs are those on rented machines of jobs whose checkpoints are looked for,
	// until it is known what was lost of one that was broken off.
	Runs map[string]map[JobID]Interruption `json:"runs,omitempty"`
	// Frozen is set by a person, Protected by the breaker with its cause.
	Frozen    bool   `json:"frozen"`
	Protected string `json:"protected"`
	// ProtectedAt is when the breaker opened; it closes by itself after a time.
	// Zero with Protected set: only a person closes it.
	ProtectedAt time.Time `json:"protected_at"`
	// Failures of the latest launches, oldest first, for the breaker.
	Failures []time.Time `json:"failures"`
	// Suspects are machines with our tag that the store does not know, by cloud
	// and provider id, with when they were first and last listed.
	Suspects map[string]Suspect `json:"suspects"`
	// Foreign are machines of this cluster rented by another store, as
	// cloud/provider id: each opens the breaker once, until a person has looked.
	Foreign []string `json:"foreign,omitempty"`
	// Requeued are jobs taken off reclaimed machines that are not eligible yet.
	Requeued map[string]map[JobID]time.Time `json:"requeued"`
	// Calendar is since when what is due by the clock is told.
	Calendar time.Time `json:"calendar,omitzero"`
	// HighWater is the latest time ever seen; a clock that steps back is not believed.
	HighWater time.Time `json:"high_water"`
}

// Suspect is a machine that looks like an orphan.
type Suspect struct {
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	Lists int       `json:"lists"`
}

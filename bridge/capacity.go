package bridge

import "time"

// CapacityKind is how capacity is had that is paid for whether it is used or
// not.
type CapacityKind string

// The kinds. Owned machines are nodes of a cluster already; the others are
// contracts with a cloud, whose machines are rented for nothing more.
const (
	Owned       CapacityKind = "owned"
	Contract    CapacityKind = "reserved"
	Block       CapacityKind = "block" // for a time that was bought in advance
	SavingsPlan CapacityKind = "savings-plan"
)

// Capacity is GPUs that cost the same whether they are used or not.
type Capacity struct {
	Name string       `json:"name"`
	Kind CapacityKind `json:"kind"`
	GPU  string       `json:"gpu"`  // class
	GPUs int          `json:"gpus"` // all of its machines together
	// Rate is the amortised price of one GPU-hour, power and staff included where
	// the site counts them.
	Rate Rate `json:"rate"`
	// From and Until bound it; zero: without bound.
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Cloud, Region, Zone and Type name the machines of a contract; Region and Zone may be
	// empty: any. Machines is how many may run at once.
	Cloud    string `json:"cloud,omitempty"`
	Region   string `json:"region,omitempty"`
	Zone     string `json:"zone,omitempty"`
	Type     string `json:"type,omitempty"`
	Machines int    `json:"machines,omitempty"`
}

// Active reports whether the capacity is paid for at now.
func (c *Capacity) Active(now time.Time) bool {
	return (c.From.IsZero() || !now.Before(c.From)) && (c.Until.IsZero() || now.Before(c.Until))
}

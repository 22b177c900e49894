package bridge

import "strings"

// Scope is a part of all spending: an account with all below it, narrowed to
// one cloud or to one class of GPU where they are named.
type Scope struct {
	Account Account `json:"account"`
	Cloud   string  `json:"cloud,omitempty"` // empty: all
	GPU     string  `json:"gpu,omitempty"`   // a model or a family; empty: all, machines without a GPU too
}

// Covers reports whether what is spent in a scope of one account, cloud and
// class of GPU counts in s.
func (s Scope) Covers(spent Scope) bool {
	return (s.Cloud == "" || s.Cloud == spent.Cloud) && (s.GPU == "" || GPUTakes(s.GPU, spent.GPU)) &&
		(s.Account == spent.Account || strings.HasPrefix(string(spent.Account), string(s.Account)+"/"))
}

// String prints acme/models, acme/models on north, acme h100 or
// acme h100 on north.
func (s Scope) String() string {
	out := string(s.Account)
	if s.GPU != "" {
		out += " " + s.GPU
	}
	if s.Cloud != "" {
		out += " on " + s.Cloud
	}
	return out
}

// Scope is what the budget covers.
func (b *Budget) Scope() Scope { return Scope{b.Account, b.Cloud, b.GPU} }

// Scope is what the balance is of.
func (b *Balance) Scope() Scope { return Scope{b.Account, b.Cloud, b.GPU} }

// Scope is where a rental's cost counts.
func (r *Rental) Scope() Scope { return Scope{r.Account, r.Pool.Cloud, r.Shape.GPUType} }

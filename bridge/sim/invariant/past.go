package invariant

// past is what a checker keeps of the sights before.
type past struct {
	told map[string]bool
}

func newPast() past { return past{told: map[string]bool{}} }

// take learns from a sight what the rules of this very sight need.
func (p *past) take(r *Rules, s *Sight) {}

// keep remembers a sight for the next one.
func (p *past) keep(s *Sight) {}

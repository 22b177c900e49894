package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// Rules are what a checker knows of the bridge that it watches.
type Rules struct {
	StoreID  string   // tag of the machines that are ours
	Clusters []string // whose jobs and nodes are seen

	OrphanAge time.Duration // nothing younger is an orphan; 5 min
	AbsentGap time.Duration // between two lists that prove absence; 2 min
	QueueAge  time.Duration // nothing is ended on an older look at the queue; 30 s
	Slack     time.Duration // from a machine's end until it is off; 10 min
	Most      int           // live machines of ours by policy; zero: any number
	Rounding  int64         // micro-units for each machine; 1
	Converge  int           // cycles after a restart; 10

	// Budgets are those of the bridge, and MayDecide says who may answer for a
	// rental; nil: nobody is refused.
	Budgets   []bridge.Budget
	MayDecide func(who string, r *bridge.Rental, yes bool) bool
	// Secrets are texts that must be nowhere that people can read.
	Secrets []string
}

// Checker looks at one sight after the other, and keeps what it needs of those
// before. It is not safe for use by several goroutines.
type Checker struct {
	rules Rules
	past  past
	found []Violation
}

// New returns a checker that has seen nothing yet.
func New(r Rules) *Checker {
	r.OrphanAge = cmp.Or(r.OrphanAge, 5*time.Minute)
	r.AbsentGap = cmp.Or(r.AbsentGap, 2*time.Minute)
	r.QueueAge = cmp.Or(r.QueueAge, 30*time.Second)
	r.Slack = cmp.Or(r.Slack, 10*time.Minute)
	r.Rounding = cmp.Or(r.Rounding, 1)
	r.Converge = cmp.Or(r.Converge, 10)
	return &Checker{rules: r, past: newPast()}
}

// Step judges the next sight, and returns what is not as it must be.
func (c *Checker) Step(s Sight) []Violation {
	c.found = nil
	c.past.take(&c.rules, &s)
	for _, i := range always {
		i.judge(c, &s)
	}
	c.past.keep(&s)
	return slices.Clone(c.found)
}

// End judges the last sight, of a world in which all is over, after Step has
// seen it.
func (c *Checker) End(s Sight) []Violation {
	c.found = nil
	for _, i := range atTheEnd {
		i.judge(c, &s)
	}
	return slices.Clone(c.found)
}

// rule is one invariant of those that are judged at each step, or at the end.
type rule struct {
	id    string
	judge func(*Checker, *Sight)
}

// report adds a violation, once for each text.
func (c *Checker) report(s *Sight, id, format string, args ...any) {
	v := Violation{Invariant: id, At: s.At, Text: fmt.Sprintf(format, args...)}
	if key := id + v.Text; !c.past.told[key] {
		c.past.told[key] = true
		c.found = append(c.found, v)
	}
}

// String is the violation in one line.
func (v Violation) String() string {
	return v.Invariant + " " + v.At.UTC().Format(time.RFC3339) + " " + v.Text
}

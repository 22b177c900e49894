package invariant

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// past is what a checker keeps of the sights before, and has learnt of the one
// that it judges.
type past struct {
	told map[string]bool // what was reported
	last *Sight

	clock   time.Time // the latest the bridge's own clock has shown
	skewed  time.Time // when that clock was last wrong, in true time
	epoch   int64     // the highest that has written or lived
	creates map[string]bridge.Launch
	intents map[string]time.Time // token: when the intent was durable
	lives   map[bridge.RentalID]*life
	seen    map[string]*seen // machine, by provider id
	jobs    map[bridge.JobID]*watched
	lists   map[string][]list    // complete ones of each cloud, oldest first
	looks   map[string]time.Time // cluster: when it was last read well
	cleared map[string]bool      // nodes that were drained, set down or dismissed, or tried to be
	garbled map[string]int       // adapter and name: cycles since it answered garbage that no line of the log names
	books   books
	quiet   int // cycles in a row in which nothing was there to do
}

// life is the life of a rental so far.
type life struct {
	now     bridge.Rental
	asked   bool      // it was a question
	until   time.Time // end of the newest question
	expires time.Time // latest end it ever had
	news    map[bridge.NewsKind]bridge.News
	overrun bool     // it was told that its hold does not suffice
	yeses   []string // who agreed, with the digest they agreed to
	ends    []bridge.NewsKind

	// For how long it could have been settled.
	idle, proofs int       // cycles, and complete lists
	since        time.Time // by the bridge's clock
	proof        time.Time // the newest of those lists
}

// seen is a machine as lists showed it, and what was done to it.
type seen struct {
	unknown int       // complete lists in a row that showed it while the store did not know it
	since   time.Time // by the bridge's clock, when the first of them was
	counted time.Time // and the latest
	asked   bool      // to end
	askedAt time.Time // for the first time
	strange int       // complete lists in all that showed it
	first   time.Time // when the first of them was asked for
	listed  time.Time // when the newest list that has it was asked for
	missing int       // complete lists in a row without it
	lacked  time.Time // when the first of them was asked for
	shown   bool      // as gone, in a list or by a direct look
}

// watched is a job as it was first seen.
type watched struct {
	first   Job
	touched bool // by a call that may change its place in the queue
}

// list is a complete list of one cloud.
type list struct {
	begun, ended time.Time
	live         map[string]bool // ids that it showed alive
}

func newPast() past {
	return past{
		told: map[string]bool{}, creates: map[string]bridge.Launch{}, intents: map[string]time.Time{}, lives: map[bridge.RentalID]*life{}, seen: map[string]*seen{},
		jobs: map[bridge.JobID]*watched{}, lists: map[string][]list{}, looks: map[string]time.Time{}, cleared: map[string]bool{}, garbled: map[string]int{}, books: newBooks(),
	}
}

// take learns from a sight what its own judgement needs: news and orders of
// calls, but not yet the states of rentals and jobs, which are compared with
// those of the sight before.
func (p *past) take(r *Rules, s *Sight) {
	if s.Bridge.Now.After(p.clock) {
		p.clock = s.Bridge.Now
	}
	if d := s.Bridge.Now.Sub(s.At).Abs(); s.Bridge.Life > 0 && d > time.Minute {
		p.skewed = s.At
	}
	for i := range s.News {
		p.hear(&s.News[i])
	}
	for i := range s.Calls {
		p.follow(&s.Calls[i])
	}
	for i := range s.Ledger {
		p.books.add(&s.Ledger[i], r.Budgets)
	}
}

func (p *past) life(id bridge.RentalID) *life {
	l := p.lives[id]
	if l == nil {
		l = &life{news: map[bridge.NewsKind]bridge.News{}}
		p.lives[id] = l
	}
	return l
}

// hear keeps the news of rentals.
func (p *past) hear(n *bridge.News) {
	if n.Rental == "" {
		return
	}
	l := p.life(n.Rental)
	l.overrun = l.overrun || n.Kind == bridge.NewsWarning && strings.Contains(n.Text, "beyond the hold")
	if _, ok := l.news[n.Kind]; !ok || n.Kind == bridge.NewsReleasing {
		l.news[n.Kind] = *n
	}
}

// follow keeps what calls show.
func (p *past) follow(c *Call) {
	switch {
	case c.Method == "List" && c.Err == nil && c.Listing != nil && c.Listing.Complete:
		l := list{begun: c.Begun, ended: c.Ended, live: map[string]bool{}}
		for i := range c.Listing.Instances {
			if in := &c.Listing.Instances[i]; in.State != bridge.InstanceGone {
				l.live[in.ID] = true
			}
		}
		p.list(c, &l)
	case c.Method == "Terminate":
		for _, id := range c.IDs {
			if k := p.machine(id); !k.asked {
				k.asked, k.askedAt = true, c.Begun
			}
		}
	case c.Method == "Observe" && c.Err == nil && c.Port != "Cloud":
		p.looks[c.Of] = c.Ended
	case slices.Contains([]string{"Drain", "Down", "Dismiss"}, c.Method):
		for _, n := range c.Nodes {
			p.cleared[n] = true
		}
	}
	if c.Job != "" && slices.Contains([]string{"Route", "Unroute", "Requeue", "Nudge", "Expedite", "Signal"}, c.Method) {
		p.job(c.Job).touched = true
	}
}

// list counts the lists that show or lack each machine.
func (p *past) list(c *Call, l *list) {
	// Between two looks there may be many; what one of them settled stands on the list before it.
	kept := append(p.lists[c.Of], *l)
	p.lists[c.Of] = slices.DeleteFunc(kept, func(k list) bool { return len(kept) > 8 && c.Ended.Sub(k.ended) > 5*time.Minute })
	for i := range c.Listing.Instances {
		in := &c.Listing.Instances[i]
		m := p.machine(in.ID)
		m.missing, m.listed = 0, c.Begun
		if m.shown = m.shown || in.State == bridge.InstanceGone; !l.live[in.ID] {
			continue
		}
		if m.strange++; m.strange == 1 {
			m.first = c.Begun
		}
	}
	for id, m := range p.seen {
		if m.listed.Equal(c.Begun) || m.listed.IsZero() || p.cloudOf(id) != c.Of {
			continue
		}
		if m.missing++; m.missing == 1 {
			m.lacked = c.Begun
		}
	}
}

func (p *past) machine(id string) *seen {
	m := p.seen[id]
	if m == nil {
		m = &seen{}
		p.seen[id] = m
	}
	return m
}

// cloudOf is the cloud of a machine of the sight before.
func (p *past) cloudOf(id string) string {
	if p.last == nil {
		return ""
	}
	if i := slices.IndexFunc(p.last.Machines, func(m Machine) bool { return m.ID == id }); i >= 0 {
		return p.last.Machines[i].Cloud
	}
	return ""
}

// job is what is known of a job, or of the array that a task belongs to.
func (p *past) job(id bridge.JobID) *watched {
	w := p.jobs[id.Base()]
	if w == nil {
		w = &watched{}
		p.jobs[id.Base()] = w
	}
	return w
}

// keep remembers a sight for the next one.
func (p *past) keep(s *Sight) {
	for i := range s.Rentals {
		r := &s.Rentals[i]
		l := p.life(r.ID)
		if l.now.Version == r.Version && l.now.State == r.State {
			continue
		}
		l.now = *r
		l.asked = l.asked || r.State == bridge.StateWaiting
		if r.State == bridge.StateWaiting {
			l.until = r.AskUntil
		}
		if r.Expires.After(l.expires) {
			l.expires = r.Expires
		}
		if r.State.Held() && r.Launch.Token != "" {
			if _, ok := p.intents[r.Launch.Token]; !ok {
				p.intents[r.Launch.Token] = s.At
			}
		}
	}
	for i := range s.Jobs {
		if w := p.job(s.Jobs[i].ID); w.first.ID == "" {
			w.first = s.Jobs[i]
		}
	}
	p.epoch = max(p.epoch, s.Bridge.Epoch)
	p.last = s
}

// live reports whether a machine costs money.
func (m *Machine) live() bool { return m.State != wire.StateTerminated && m.State != wire.StateError }

// ours reports whether our store has rented a machine, by the truth.
func (m *Machine) ours(r *Rules) bool {
	return !m.Untouched && (r.StoreID == "" || m.Tags[bridge.TagStore] == r.StoreID)
}

func (m *Machine) rental() bridge.RentalID { return bridge.RentalID(m.Tags[bridge.TagRental]) }

func (m *Machine) attempt() int {
	n, err := strconv.Atoi(m.Tags[bridge.TagAttempt])
	if err != nil {
		return 0
	}
	return n
}

// machinesOf are the machines that were rented for a rental, by their tags.
func (s *Sight) machinesOf(r *Rules, id bridge.RentalID) []*Machine {
	var out []*Machine
	for i := range s.Machines {
		if m := &s.Machines[i]; m.ours(r) && m.rental() == id {
			out = append(out, m)
		}
	}
	return out
}

func (s *Sight) machine(id string) *Machine {
	if i := slices.IndexFunc(s.Machines, func(m Machine) bool { return m.ID == id }); i >= 0 {
		return &s.Machines[i]
	}
	return nil
}

// rental finds a rental in the store.
func (s *Sight) rental(id bridge.RentalID) *bridge.Rental {
	if i := slices.IndexFunc(s.Rentals, func(r bridge.Rental) bool { return r.ID == id }); i >= 0 {
		return &s.Rentals[i]
	}
	return nil
}

// keeper is the rental and its machine that the store knows an id by.
func (s *Sight) keeper(id string) (*bridge.Rental, *bridge.Machine) {
	for i := range s.Rentals {
		for k := range s.Rentals[i].Machines {
			if m := &s.Rentals[i].Machines[k]; m.ID == id {
				return &s.Rentals[i], m
			}
		}
	}
	return nil, nil
}

// was is a rental at the sight before; false: it was not there.
func (p *past) was(id bridge.RentalID) (bridge.Rental, bool) {
	l := p.lives[id]
	if l == nil || l.now.ID == "" {
		return bridge.Rental{}, false
	}
	return l.now, true
}

// cycles is how many looks the bridge has had since the sight before, in the
// same life; zero after a start.
func (p *past) cycles(s *Sight) int {
	if p.last == nil || p.last.Bridge.Life != s.Bridge.Life {
		return 0
	}
	return max(s.Bridge.Cycles-p.last.Bridge.Cycles, 0)
}

// adopted reports whether a rental was found running, and taken back into the
// books; the news say so before the store is read.
func (l *life) adopted() bool {
	_, orphan := l.news[bridge.NewsOrphan]
	_, taken := l.news[bridge.NewsAdopted]
	return l.now.Adopted || orphan || taken
}

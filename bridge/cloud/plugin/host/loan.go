package host

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/plugin/serve"
	"spillway.sh/spillway/bridge/cloud/plugin/wire"
)

// Phase is how far a machine of a loan is.
type Phase string

// The phases, in order.
const (
	Awaited  Phase = "awaited"  // nobody brought it yet
	Booting  Phase = "booting"  // ours; the boot script may have been started
	Running  Phase = "running"  // the boot script was started
	Ending   Phase = "ending"   // to be given back; not certain yet
	Cleaned  Phase = "cleaned"  // nothing of ours is on it; it still costs
	Released Phase = "released" // over
)

// Machine is one machine of a loan.
type Machine struct {
	ID       string    `json:"id"`
	Host     Host      `json:"host"`
	Phase    Phase     `json:"phase"`
	Launched time.Time `json:"launched,omitzero"` // it costs from then
	Stopped  time.Time `json:"stopped,omitzero"`
	Fault    string    `json:"fault,omitempty"` // why it ended by itself
	Said     string    `json:"said,omitempty"`  // why the last try did not work
	Tries    int       `json:"tries,omitempty"`
	Tried    time.Time `json:"tried,omitzero"`
}

// Loan is what one create was given.
type Loan struct {
	Token    string            `json:"token"`
	Sum      string            `json:"sum"` // of all parameters
	Region   string            `json:"region,omitempty"`
	Zone     string            `json:"zone,omitempty"`
	Type     string            `json:"type"`
	Rate     wire.Rate         `json:"rate"`
	Tags     map[string]string `json:"tags"`
	Created  time.Time         `json:"created"`
	Expires  time.Time         `json:"expires"`
	UserData string            `json:"user_data,omitempty"` // until all machines have it
	Machines []Machine         `json:"machines"`
	// Failed is why the whole create came to nothing.
	Failed string `json:"failed,omitempty"`
}

// NewLoan is a loan of a create, without machines.
func NewLoan(c *wire.Create, rate wire.Rate, now time.Time) Loan {
	return Loan{
		Token: c.Token, Sum: serve.Sum(c), Region: c.Region, Zone: c.Zone, Type: c.Type, Rate: rate, Tags: c.Tags,
		Created: now, Expires: c.Expires.UTC(), UserData: c.UserData,
	}
}

// MachineID is the id of a machine in a loan: another one each time it is lent.
func MachineID(name, token string) string {
	sum := sha256.Sum256([]byte(name + "\n" + token))
	return name + "." + hex.EncodeToString(sum[:4])
}

// All reports whether every machine is in one of the phases.
func (l *Loan) All(phases ...Phase) bool {
	return !slices.ContainsFunc(l.Machines, func(m Machine) bool { return !slices.Contains(phases, m.Phase) })
}

// End has all machines of the loan given back.
func (l *Loan) End() {
	for i := range l.Machines {
		l.Machines[i].end()
	}
}

// Machine is one of the loan's by id; nil: none.
func (l *Loan) Machine(id string) *Machine {
	i := slices.IndexFunc(l.Machines, func(m Machine) bool { return m.ID == id })
	if i < 0 {
		return nil
	}
	return &l.Machines[i]
}

func (m *Machine) end() {
	if m.Phase == Booting || m.Phase == Running {
		m.Phase, m.Said, m.Tries, m.Tried = Ending, "", 0, time.Time{}
	}
}

var states = map[Phase]bridge.InstanceState{
	Awaited: bridge.InstancePending, Booting: bridge.InstancePending, Running: bridge.InstanceRunning,
	Ending: bridge.InstanceStopping, Cleaned: bridge.InstanceStopping, Released: bridge.InstanceGone,
}

// Shown are the loan's machines as a list shows them.
func (l *Loan) Shown() []wire.Machine {
	out := make([]wire.Machine, 0, len(l.Machines))
	for i := range l.Machines {
		m := &l.Machines[i]
		out = append(out, wire.Machine{
			ID: m.ID, Region: l.Region, Zone: l.Zone, Type: l.Type, Market: string(bridge.OnDemand), State: string(states[m.Phase]),
			Address: m.Host.Address, Tags: l.Tags, Token: l.Token, Rate: l.Rate, Launched: m.Launched, Stopped: m.Stopped,
			Fault: m.Fault,
		})
	}
	return out
}

// over is how long a loan that is over is remembered: its token must not make
// machines again.
const over = 30 * 24 * time.Hour

// shown is how long a machine that is gone is listed.
const shown = 24 * time.Hour

// Forgettable reports whether a loan need not be remembered any more.
func (l *Loan) Forgettable(now time.Time) bool {
	return l.All(Released) && now.After(l.Expires.Add(over)) && now.After(l.Created.Add(over))
}

// Listed are the machines that a list at now shows.
func (l *Loan) Listed(now time.Time) []wire.Machine {
	return slices.DeleteFunc(l.Shown(), func(m wire.Machine) bool {
		return m.State == string(bridge.InstanceGone) && now.After(m.Stopped.Add(shown))
	})
}

// EndOne has one machine given back, and reports whether it is of the loan and
// not over.
func (l *Loan) EndOne(id string) bool {
	m := l.Machine(id)
	if m == nil {
		return false
	}
	m.end()
	return m.Phase == Ending
}

// Move moves the end of a loan, if one of the machines is of it, and returns those
// of its machines that run.
func (l *Loan) Move(ids []string, expires time.Time) map[string]Host {
	if !slices.ContainsFunc(l.Machines, func(m Machine) bool { return slices.Contains(ids, m.ID) && m.Phase != Released }) {
		return nil
	}
	l.Expires, l.Tags = expires.UTC(), maps.Clone(l.Tags)
	l.Tags[bridge.TagExpires] = expires.UTC().Format(time.RFC3339)
	out := map[string]Host{}
	for i := range l.Machines {
		if m := &l.Machines[i]; m.Phase == Running {
			out[m.ID] = m.Host
		}
	}
	return out
}

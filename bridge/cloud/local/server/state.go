package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/server/ec2"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// state is all the server remembers over a restart. It is small and is
// written whole at each change.
type state struct {
	Born       time.Time             `json:"born"` // of the world; prices count from here
	Operations map[string]*operation `json:"operations"`
	Machines   map[string]*machine   `json:"machines"`
	// Prices and Stock hold what commands have set, by cloud and pool.
	Prices map[string]int64 `json:"prices"`
	Stock  map[string]int   `json:"stock"`
	// PricesAt is when each of Prices was set.
	PricesAt map[string]time.Time `json:"prices_at,omitempty"`
}

// setPrice sets a pool's price, from now on.
func (s *state) setPrice(pool string, rate int64, now time.Time) {
	if s.PricesAt == nil {
		s.PricesAt = map[string]time.Time{}
	}
	s.Prices[pool], s.PricesAt[pool] = rate, now
}

// operation is one accepted create.
type operation struct {
	ID       string      `json:"id"`
	Cloud    string      `json:"cloud"`
	Account  string      `json:"account"`
	Token    string      `json:"token"`
	Hash     string      `json:"hash"` // of all parameters
	At       time.Time   `json:"at"`
	DoneAt   time.Time   `json:"done_at"` // running until then
	Error    *wire.Error `json:"error,omitempty"`
	Machines []string    `json:"machines"`
	UserData string      `json:"user_data,omitempty"` // of its machines, while one lives
}

// machine is one instance.
type machine struct {
	wire.Instance
	Cloud     string    `json:"cloud"`
	Account   string    `json:"account"`
	Operation string    `json:"operation"`
	Index     int       `json:"index"` // among the operation's machines
	MaxRate   wire.Rate `json:"max_rate"`
	BootAt    time.Time `json:"boot_at"`
	StopAt    time.Time `json:"stop_at"` // when a stopping machine is off
	VisibleAt time.Time `json:"visible_at"`
	GPUs      int       `json:"gpus"` // it really has
	// ExtendedAt is when Expires was last changed; zero: it is what create said.
	ExtendedAt time.Time     `json:"extended_at,omitzero"`
	Step       time.Duration `json:"step"`
	Minimum    time.Duration `json:"minimum"`
	Term       time.Duration `json:"term,omitempty"`
	EarlyPM    int           `json:"early_pm,omitempty"`
	// ShownAs is the state that lists show until ShownUntil; empty: the true one.
	ShownAs    wire.State `json:"shown_as,omitempty"`
	ShownUntil time.Time  `json:"shown_until,omitzero"`
	Mute       bool       `json:"mute,omitempty"`  // does not run its user-data
	Frail      bool       `json:"frail,omitempty"` // ends as it comes up
	// EC2 is what a create in EC2's words said beside all this.
	EC2 *ec2.Manner `json:"ec2,omitempty"`
}

// live says whether a machine takes up stock and costs money.
func (m *machine) live() bool {
	switch m.State {
	case wire.StatePending, wire.StateRunning, wire.StateStopping:
		return true
	case wire.StateTerminated, wire.StateError:
		return false
	}
	return false
}

func loadState(path string, now time.Time) (*state, error) {
	s := &state{
		Born: now, Operations: map[string]*operation{}, Machines: map[string]*machine{},
		Prices: map[string]int64{}, Stock: map[string]int{},
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load state: %w", err)
	}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("load state %s: %w", path, err)
	}
	return s, nil
}

// save replaces the file as a whole; when it returns the new one is on disk.
func (s *state) save(path string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	if err := writeDurably(path, text); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	return nil
}

func writeDurably(path string, text []byte) error {
	tmp := path + ".part"
	file, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// startEntry and stopEntry are the ledger's lines of a machine.
func (m *machine) startEntry() wire.Entry {
	return wire.Entry{
		At: m.Launched, Kind: wire.EntryStart, Cloud: m.Cloud, Machine: m.ID, Account: m.Account,
		Pool: &m.Pool, Operation: m.Operation, Token: m.Token, Tags: m.Tags, Rate: &m.Rate,
		Step: wire.Duration(m.Step), Minimum: wire.Duration(m.Minimum), Term: wire.Duration(m.Term), EarlyPM: m.EarlyPM, Expires: m.Expires,
	}
}

func (m *machine) stopEntry() wire.Entry {
	return wire.Entry{At: m.Stopped, Kind: wire.EntryStop, Cloud: m.Cloud, Machine: m.ID, Why: m.Ended}
}

func (m *machine) noticeEntry() wire.Entry {
	return wire.Entry{At: m.NoticeAt, Kind: wire.EntryNotice, Cloud: m.Cloud, Machine: m.ID, ReclaimAt: m.ReclaimAt}
}

// entries are the lines that the ledger must hold of a machine as it is.
func (m *machine) entries() []wire.Entry {
	if m.Launched.IsZero() || m.State == wire.StateError {
		return nil
	}
	out := []wire.Entry{m.startEntry()}
	if !m.ExtendedAt.IsZero() {
		out = append(out, wire.Entry{At: m.ExtendedAt, Kind: wire.EntryExtend, Cloud: m.Cloud, Machine: m.ID, Expires: m.Expires})
	}
	if !m.NoticeAt.IsZero() {
		out = append(out, m.noticeEntry())
	}
	if m.State == wire.StateTerminated {
		out = append(out, m.stopEntry())
	}
	return out
}

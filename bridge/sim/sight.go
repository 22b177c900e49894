package sim

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
	"spillway.sh/spillway/bridge/ledger"
	"spillway.sh/spillway/bridge/sim/invariant"
	"spillway.sh/spillway/bridge/store"
)

// seen is what was seen of the store and the clouds so far, so that a look reads
// what is new.
type seen struct {
	life     int // whose store was read
	wrote    int64
	rentals  map[bridge.RentalID]bridge.Rental
	balances []bridge.Balance
	marks    bridge.Marks
	newsID   int64
	news     []bridge.News // not in a sight yet
	seq      int64
	ledger   []ledger.Transaction // not in a sight yet
	epoch    int64
	faults   []string
	holds    int
	fresh    bool // faults and holds are not in a sight yet
	audited  time.Time
	err      error

	offset   int64 // in the clouds' ledger
	machines map[string]*invariant.Machine
	order    []string
	was      map[string]bool // machines that were switched on

	log  journal
	said []string // to people, not in a sight yet
}

// auditEvery is how often the whole ledger is replayed.
const auditEvery = 6 * time.Hour

func (s *seen) start() {
	s.rentals, s.machines, s.was = map[bridge.RentalID]bridge.Rental{}, map[string]*invariant.Machine{}, map[string]bool{}
}

// journal is what the bridge has logged since the latest sight.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer; it never fails.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) take() []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	defer j.buf.Reset()
	return bytes.Clone(j.buf.Bytes())
}

// look reads what is new in the store of a life.
func (w *World) look(ctx context.Context, l *life) {
	s := &w.seen
	w.calls.mu.Lock()
	written, wrote := w.calls.rentals, w.calls.wrote
	w.calls.rentals = map[bridge.RentalID]bool{}
	w.calls.mu.Unlock()
	if s.life == l.n && s.wrote == wrote {
		return
	}
	errs := []error{s.err, w.readRentals(ctx, l.store, written, s.life != l.n)}
	s.life, s.wrote, s.epoch = l.n, wrote, l.store.Epoch()
	var err error
	if s.balances, err = l.store.Balances(ctx, w.Now(), w.budgets()); err != nil {
		errs = append(errs, err)
	}
	if s.marks, err = l.store.Marks(ctx); err != nil {
		errs = append(errs, err)
	}
	news, err := l.store.NewsAfter(ctx, s.newsID, math.MaxInt32)
	errs = append(errs, err)
	for i := range news {
		s.newsID = max(s.newsID, news[i].ID)
		w.story.news(time.Now(), &news[i])
	}
	s.news = append(s.news, news...)
	lines, err := l.store.Ledger(ctx, s.seq, -1)
	errs = append(errs, err)
	for i := range lines {
		s.seq = max(s.seq, lines[i].Seq)
	}
	s.ledger = append(s.ledger, lines...)
	s.err = errors.Join(errs...)
}

// readRentals reads those that were written, or all.
func (w *World) readRentals(ctx context.Context, from *store.Store, written map[bridge.RentalID]bool, all bool) error {
	if all {
		rs, err := from.Recent(ctx, math.MaxInt32)
		for i := range rs {
			w.seen.rentals[rs[i].ID] = rs[i]
		}
		return err
	}
	for id := range written {
		r, err := from.Rental(ctx, id)
		if errors.Is(err, store.ErrNoRental) {
			continue // its write was refused
		}
		if err != nil {
			return err
		}
		w.seen.rentals[id] = r
	}
	return nil
}

// audit has the store replay its whole ledger.
func (w *World) audit(ctx context.Context) {
	s := &w.seen
	if w.life == nil || w.life.isDead() {
		return
	}
	s.audited = time.Now()
	report, err := w.life.store.CheckLedger(ctx)
	if err != nil {
		s.err = errors.Join(s.err, err)
		return
	}
	s.faults, s.holds, s.fresh = report.Faults, report.OpenHolds, true
}

// readClouds reads what is new in the clouds' ledger.
func (w *World) readClouds() error {
	s := &w.seen
	file, err := os.Open(w.Cloud.LedgerFile())
	if err != nil {
		return fmt.Errorf("read clouds' ledger: %w", err)
	}
	defer file.Close() // Only read from.
	text, err := io.ReadAll(io.NewSectionReader(file, s.offset, math.MaxInt32))
	if err != nil {
		return fmt.Errorf("read clouds' ledger: %w", err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	s.offset += int64(len(text))
	entries, err := server.ParseLedger(text)
	if err != nil {
		return err
	}
	for i := range entries {
		s.enter(&entries[i], w.storeID())
	}
	for _, id := range w.host.on() {
		s.was[id] = true
		if m := s.machines[id]; m != nil && m.State == wire.StatePending {
			m.State = wire.StateRunning
		}
	}
	for id, m := range s.machines {
		if m.State == wire.StateRunning && s.was[id] && !w.host.Alive(id) {
			m.State = wire.StateStopping
		}
	}
	return nil
}

// enter takes one line of the clouds' ledger.
func (s *seen) enter(e *wire.Entry, ours string) {
	m := s.machines[e.Machine]
	switch e.Kind {
	case wire.EntryStart:
		s.machines[e.Machine] = &invariant.Machine{
			Cloud: e.Cloud, Untouched: e.Tags[bridge.TagStore] != ours,
			Instance: wire.Instance{ID: e.Machine, Pool: *e.Pool, State: wire.StatePending, Tags: e.Tags, Token: e.Token, Rate: *e.Rate, Launched: e.At, Expires: e.Expires},
		}
		s.order = append(s.order, e.Machine)
	case wire.EntryExtend:
		m.Expires = e.Expires
	case wire.EntryNotice:
		m.NoticeAt, m.ReclaimAt = e.At, e.ReclaimAt
	case wire.EntryStop:
		m.State, m.Stopped, m.Ended = wire.StateTerminated, e.At, e.Why
		delete(s.was, e.Machine)
	}
}

// Sight is the whole world at this moment.
func (w *World) Sight(ctx context.Context) (invariant.Sight, error) {
	s := &w.seen
	ended := w.read(ctx)
	err := errors.Join(s.err, w.readClouds())
	s.err = nil
	out := invariant.Sight{
		At: time.Now().UTC(), Bridge: w.asBridge(), Balances: s.balances, Marks: s.marks, Audited: s.fresh, Faults: s.faults, OpenHolds: s.holds,
		News: s.news, Ledger: s.ledger, Calls: ended, Stored: s.newsID + s.seq, Log: s.log.take(), Said: s.said,
	}
	s.news, s.ledger, s.faults, s.said, s.fresh = nil, nil, nil, nil, false
	for _, id := range s.order {
		out.Machines = append(out.Machines, *s.machines[id])
	}
	for _, r := range s.rentals {
		out.Rentals = append(out.Rentals, r)
	}
	slices.SortFunc(out.Rentals, func(a, b bridge.Rental) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	out.Jobs, out.Nodes = w.Slurm.Truth()
	return out, err
}

// read reads the store and the calls that have ended, between two writes.
func (w *World) read(ctx context.Context) (ended []invariant.Call) {
	w.books.Lock()
	defer w.books.Unlock()
	if l := w.life; l != nil {
		w.look(ctx, l)
		if time.Since(w.seen.audited) >= w.setup.span(auditEvery) {
			w.audit(ctx)
		}
	}
	w.calls.mu.Lock()
	defer w.calls.mu.Unlock()
	ended, w.calls.ended = w.calls.ended, nil
	return ended
}

func (w *World) asBridge() invariant.Bridge {
	b := invariant.Bridge{Now: w.Now(), StoreID: w.storeID(), Epoch: w.seen.epoch}
	if l := w.life; l != nil && !l.isDead() {
		b.Life, b.Since, b.Cycles, b.Fell = l.n, l.since, int(l.loop.Health().Cycles), l.fell()
	}
	return b
}

// Check has one sight judged.
func (w *World) Check(ctx context.Context) {
	s, err := w.Sight(ctx)
	if err != nil {
		w.blame("I27", "the world cannot be seen: %v", err)
		return
	}
	for _, v := range w.checker.Step(s) {
		w.story.tell(v.At, "VIOLATION %s %s", v.Invariant, v.Text)
		w.found = append(w.found, v)
	}
}

// blame adds a violation that the world itself has found.
func (w *World) blame(id, format string, args ...any) {
	v := invariant.Violation{Invariant: id, At: time.Now().UTC(), Text: fmt.Sprintf(format, args...)}
	w.story.tell(v.At, "VIOLATION %s %s", v.Invariant, v.Text)
	w.found = append(w.found, v)
}

// Violations are all that were found.
func (w *World) Violations() []invariant.Violation { return slices.Clone(w.found) }

package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"spillway.sh/spillway/bridge/cloud/plugin/serve"
)

// Lender does what is due on the machines of loans, and writes down what came
// of it. T is all that its owner keeps.
type Lender[T any] struct {
	File   *serve.File[T]
	Loans  func(*T) []*Loan
	Runner Runner
	Now    func() time.Time
	// Known is a machine as the site describes it today; what it does not know
	// is asked as it was when it was lent. May be nil.
	Known func(Host) Host
	// After is the phase of a machine once nothing of ours is on it.
	After Phase
}

const (
	// atOnce is how many machines are spoken to together.
	atOnce = 32
	// roundMost is how long one round over all machines may take.
	roundMost = 35 * time.Second
	// pauseMost is the longest pause between two tries on a machine.
	pauseMost = time.Minute
)

// due says what is to be done on a machine at now.
func (m *Machine) due(l *Loan, now time.Time) Phase {
	switch {
	case m.Phase == Ending:
		return Ending
	case m.Phase != Booting && m.Phase != Running:
		return ""
	case !now.Before(l.Expires):
		return Ending
	case m.Phase == Booting:
		return Booting
	}
	return ""
}

// rests reports whether the next try on a machine is not due yet.
func (m *Machine) rests(now time.Time) bool {
	return m.Tries > 0 && now.Before(m.Tried.Add(min(2*time.Second<<min(m.Tries, 6), pauseMost)))
}

// Advance does all that is due on the loans that are picked. With hurry it does
// not wait for pauses, and waits for other processes that are at it; without, it
// leaves to them what they do. What does not work on a machine is written down
// there and is no error of Advance.
func (l *Lender[T]) Advance(ctx context.Context, hurry bool, pick func(*Loan) bool) error {
	v, err := l.File.Read()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, roundMost, fmt.Errorf("not done within %s", roundMost))
	defer cancel()
	now := l.Now()
	var all errgroup.Group
	all.SetLimit(atOnce)
	var mu sync.Mutex
	var errs []error
	for _, loan := range l.Loans(&v) {
		if !pick(loan) {
			continue
		}
		for i := range loan.Machines {
			m := &loan.Machines[i]
			if m.due(loan, now) == "" || m.rests(now) && !hurry {
				continue
			}
			all.Go(func() error {
				if err := l.work(ctx, hurry, loan.Token, m.ID); err != nil {
					mu.Lock()
					defer mu.Unlock()
					errs = append(errs, err)
				}
				return nil
			})
		}
	}
	_ = all.Wait() // each tells its own errors
	return errors.Join(errs...)
}

// work does what is due on one machine, which nobody else works on meanwhile.
func (l *Lender[T]) work(ctx context.Context, wait bool, token, id string) error {
	unlock, got, err := l.lock(ctx, wait, id)
	if err != nil || !got {
		return err
	}
	defer unlock()
	v, err := l.File.Read()
	if err != nil {
		return err
	}
	loan, m := l.find(&v, token, id)
	if m == nil {
		return nil
	}
	what := m.due(loan, l.Now())
	h := m.Host
	if l.Known != nil {
		h = l.Known(h)
	}
	switch what {
	case Booting:
		err = Start(ctx, l.Runner, &h, &Lease{ID: id, Expires: loan.Expires, UserData: loan.UserData})
	case Ending:
		err = Release(ctx, l.Runner, &h, id)
	default:
		return nil // another process has done it
	}
	return l.record(ctx, token, id, what, err)
}

// record writes down what came of work. What was done stays done when it cannot
// be written: it is done once more then, to the same end.
func (l *Lender[T]) record(ctx context.Context, token, id string, what Phase, failure error) error {
	return l.File.Change(context.WithoutCancel(ctx), func(v *T) error {
		loan, m := l.find(v, token, id)
		if m == nil {
			return nil
		}
		now := l.Now()
		if failure != nil {
			m.Said, m.Tried, m.Tries = failure.Error(), now, m.Tries+1
			if what == Ending {
				m.Phase = Ending
			}
			return nil
		}
		m.Said, m.Tries, m.Tried = "", 0, time.Time{}
		switch {
		case what == Ending:
			if m.Phase = l.After; m.Phase == Released {
				m.Stopped = now
			}
		case m.Phase == Booting: // it may be ending by now
			m.Phase = Running
		}
		if loan.All(Running, Ending, Cleaned, Released) {
			loan.UserData = "" // it holds a ticket
		}
		return nil
	})
}

func (l *Lender[T]) lock(ctx context.Context, wait bool, id string) (func(), bool, error) {
	name := "machine-" + strings.ReplaceAll(id, "/", "_")
	if !wait {
		return l.File.TryLock(name)
	}
	unlock, err := l.File.Lock(ctx, name)
	return unlock, err == nil, err
}

func (l *Lender[T]) find(v *T, token, id string) (*Loan, *Machine) {
	for _, loan := range l.Loans(v) {
		if loan.Token == token {
			return loan, loan.Machine(id)
		}
	}
	return nil, nil
}

// Left says which machines could not be given back yet, and why; nil: none.
func Left(loans []*Loan, of func(id string) bool) error {
	var errs []error
	for _, loan := range loans {
		for i := range loan.Machines {
			if m := &loan.Machines[i]; m.Phase == Ending && of(m.ID) {
				errs = append(errs, fmt.Errorf("%s is not given back, and stays ours until it is: %s", m.ID, m.Said))
			}
		}
	}
	return errors.Join(errs...)
}

// Extend moves the end of machines, first where it is kept and then on the
// machines themselves.
func (l *Lender[T]) Extend(ctx context.Context, id string, h Host, expires time.Time) error {
	if l.Known != nil {
		h = l.Known(h)
	}
	return Extend(ctx, l.Runner, &h, id, expires)
}

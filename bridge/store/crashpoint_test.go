package store_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"modernc.org/sqlite"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

// The child of these tests does one write and kills itself before a row of it
// is changed, or before it is committed, or after it returned.
const (
	doVariable    = "SPILLWAY_TEST_DO"
	pointVariable = "SPILLWAY_TEST_POINT" // number of the row; the commit counts as one
)

// scene is what the writes below begin with.
var scene = struct{ admitted, releasing, settled, asked, longer bridge.RentalID }{
	bridge.NewRentalID(1), bridge.NewRentalID(2), bridge.NewRentalID(3), bridge.NewRentalID(4), bridge.NewRentalID(5),
}

// limits allow what the writes below hold; the soft one only by an overage.
var limits = []bridge.Budget{budget("org", 1000, true), narrow(budget("org", 500, true), "north", ""), budget("org/team", 35, false)}

var late = noon.Add(time.Hour)

// writes are all steps of money, each from the scene.
var writes = map[string]func(ctx context.Context, s *store.Store, is func(bridge.RentalID) bridge.Rental) error{
	"reserve": func(ctx context.Context, s *store.Store, is func(bridge.RentalID) bridge.Rental) error {
		r := is(scene.settled)
		r.ID, r.Version, r.State, r.Cost, r.Hold = bridge.NewRentalID(9), 0, bridge.StateLaunching, bridge.Money{}, usd(5)
		_, err := s.Reserve(ctx, r, limits[:2], news(bridge.NewsReserved))
		return err
	},
	"approve above a soft limit": func(ctx context.Context, s *store.Store, is func(bridge.RentalID) bridge.Rental) error {
		r := is(scene.asked)
		d := yes(r, "boss")
		r.State = bridge.StateLaunching
		_, err := s.Approve(ctx, d, r, limits, news(bridge.NewsApproved))
		return err
	},
	"extend": func(ctx context.Context, s *store.Store, is func(bridge.RentalID) bridge.Rental) error {
		_, err := s.Extend(ctx, is(scene.admitted), usd(3), limits[:2], news(bridge.NewsExtended))
		return err
	},
	"extend by a question": func(ctx context.Context, s *store.Store, is func(bridge.RentalID) bridge.Rental) error {
		q := is(scene.longer)
		d := yes(q, "boss")
		q.State = bridge.StateClosed
		_, _, err := s.ApproveExtension(ctx, d, q, is(scene.admitted), limits, news(bridge.NewsApproved))
		return err
	},
	"post beyond the hold": func(ctx context.Context, s *store.Store, is func(bridge.RentalID) bridge.Rental) error {
		r := is(scene.admitted)
		r.Cost = usd(12)
		_, err := s.Post(ctx, r, news(bridge.NewsWarning))
		return err
	},
	"settle": func(ctx context.Context, s *store.Store, is func(bridge.RentalID) bridge.Rental) error {
		r := is(scene.releasing)
		r.State, r.Cost = bridge.StateSettled, usd(6)
		_, err := s.Settle(ctx, r, news(bridge.NewsSettled))
		return err
	},
	"correct": func(ctx context.Context, s *store.Store, _ func(bridge.RentalID) bridge.Rental) error {
		_, err := s.Correct(ctx, []bridge.Correction{
			{Key: "1", Rental: scene.settled, Kind: bridge.ByBill, Amount: usd(2), Used: noon, Who: "root"},
			{Key: "2", Rental: scene.settled, Kind: bridge.ByRefund, Amount: usd(-1), Used: noon, Who: "root"},
		}, news(bridge.NewsCorrected))
		return err
	},
	"tell once": func(ctx context.Context, s *store.Store, _ func(bridge.RentalID) bridge.Rental) error {
		_, err := s.TellOnce(ctx, bridge.Once{Name: "80", Silences: []string{"50"}, News: news(bridge.NewsAlert)}, bridge.Once{Name: "p", News: news(bridge.NewsPeriod)})
		return err
	},
	"add usage": func(ctx context.Context, s *store.Store, _ func(bridge.RentalID) bridge.Rental) error {
		return s.AddUsage(ctx, bridge.Usage{Hour: noon, Cluster: "c1", GPU: "a100", Seconds: 60}, bridge.Usage{Hour: noon, Cluster: "c1", GPU: "h100", Seconds: 60})
	},
	"save a bill": func(ctx context.Context, s *store.Store, _ func(bridge.RentalID) bridge.Rental) error {
		_, _, err := s.SaveBill(ctx, []bridge.BillLine{
			{Cloud: "north", Key: "1", From: noon, To: late, Amount: usd(1)}, {Cloud: "north", Key: "2", From: noon, To: late, Amount: usd(1)},
		})
		return err
	},
}

// rentalsOf reads rentals that are known to be there.
func rentalsOf(ctx context.Context, s *store.Store) func(bridge.RentalID) bridge.Rental {
	return func(id bridge.RentalID) bridge.Rental {
		r, err := s.Rental(ctx, id)
		if err != nil {
			panic(err) // the scene has it
		}
		return r
	}
}

// crashing is the child: it does a write and dies at a point of it.
func crashing(dir, what, at string) error {
	point, err := strconv.Atoi(at)
	if err != nil {
		return err
	}
	armed := false
	reached := func() {
		if armed {
			if point--; point < 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {} // it has no handler
			}
		}
	}
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, _ string) error {
		c := conn.(sqlite.HookRegisterer)
		c.RegisterPreUpdateHook(func(sqlite.SQLitePreUpdateData) { reached() })
		c.RegisterCommitHook(func() int32 { reached(); return 0 })
		return nil
	})
	ctx := context.Background()
	s, err := store.Open(ctx, dir, store.Options{Now: newHands(late).now})
	if err != nil {
		return err
	}
	armed = true
	if err := writes[what](ctx, s, rentalsOf(ctx, s)); err != nil {
		return err
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil { // done, and nobody hears of it
		return err
	}
	select {} // the signal is on its way
}

// newScene makes the directory that the writes begin with.
func newScene(t *testing.T) string {
	t.Helper()
	dir := memory(t)
	s, err := store.Open(t.Context(), dir, store.Options{Now: newHands(noon).now})
	if err != nil {
		t.Fatal(err)
	}
	is := must[bridge.Rental](t)
	for _, state := range []bridge.State{bridge.StateAdmitted, bridge.StateReleasing, bridge.StateSettled} {
		r := newRental(t, s, bridge.StateLaunching, 10)
		r.Pool.Cloud, r.Shape.GPUType = "north", "h100"
		r = is(s.Reserve(t.Context(), r, wide))
		for _, next := range states[2 : slices.Index(states, state)+1] {
			if r.State = next; next == bridge.StateSettled {
				r.Cost = usd(4)
				r = is(s.Settle(t.Context(), r))
			} else {
				r = is(s.Save(t.Context(), r))
			}
		}
	}
	asked := newRental(t, s, bridge.StateWaiting, 30)
	is(s.Propose(t.Context(), asked))
	longer := newRental(t, s, bridge.StateWaiting, 20)
	longer.Extends = scene.admitted
	is(s.Propose(t.Context(), longer))
	checked(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "spillway.db")
}

// account is all that a store says of money.
func account(t *testing.T, s *store.Store) string {
	t.Helper()
	ctx := t.Context()
	far := late.Add(time.Hour)
	report := checked(t, s)
	return fmt.Sprint(report.Head.Seq, report.Held, report.Posted, report.OpenHolds,
		must[[]bridge.Balance](t)(s.Balances(ctx, late, limits)), len(must[[]bridge.News](t)(s.News(ctx, store.NewsFilter{Limit: 100}))),
		must[[]bridge.Correction](t)(s.Corrections(ctx, noon, far)), must[[]bridge.Usage](t)(s.Usage(ctx, noon, far)),
		len(must[[]bridge.BillLine](t)(s.BillLines(ctx, "", noon, far))), len(must[[]bridge.Rental](t)(s.Recent(ctx, 100))),
		len(must[[]bridge.Rental](t)(s.RentalsBetween(ctx, noon, far))))
}

// Killed before any row of a write is changed, or before its commit, a write was
// not there at all, and can be made; killed after it, it is there whole.
func TestKilledAtEveryRowOfAWrite(t *testing.T) {
	t.Parallel()
	base := newScene(t)
	for name, do := range writes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := memory(t)
			path := filepath.Join(dir, "spillway.db")
			copyFile(t, base, path)
			s := open(t, dir, newHands(late))
			undone := account(t, s)
			if err := do(t.Context(), s, rentalsOf(t.Context(), s)); err != nil {
				t.Fatal(err)
			}
			done := account(t, s)
			if done == undone {
				t.Fatal("the write shows nowhere")
			}
			for point := 0; ; point++ {
				killed := crashAt(t, base, name, point, undone, done)
				if !killed && point < 3 {
					t.Errorf("it has only %d points", point)
				}
				if !killed || t.Failed() {
					t.Logf("killed at %d points", point)
					return
				}
			}
		})
	}
}

// crashAt kills a child at one point of a write and compares what is left; false
// if the write has fewer points.
func crashAt(t *testing.T, base, name string, point int, undone, done string) (killed bool) {
	t.Helper()
	dir := memory(t)
	copyFile(t, base, filepath.Join(dir, "spillway.db"))
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+dir, doVariable+"="+name, pointVariable+"="+strconv.Itoa(point))
	out, err := cmd.CombinedOutput()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err == nil || !ok || !status.Signaled() {
		t.Fatalf("the child was not killed: %v\n%s", err, out)
	}
	killed = status.Signal() == syscall.SIGKILL
	s, err := store.Open(t.Context(), dir, store.Options{Now: newHands(late).now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if killed {
		if got := account(t, s); got != undone {
			t.Errorf("killed at point %d:\n%s\nwant:\n%s", point, got, undone)
		}
		if err := writes[name](t.Context(), s, rentalsOf(t.Context(), s)); err != nil {
			t.Errorf("again after point %d: %v", point, err)
		}
	}
	if got := account(t, s); got != done {
		t.Errorf("after point %d and again:\n%s\nwant:\n%s", point, got, done)
	}
	return killed
}

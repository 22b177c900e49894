package store_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sim/soak"
	"spillway.sh/spillway/bridge/store"
)

// childVariable names the store that this test binary, started as a program,
// writes to until it is killed.
const (
	childVariable = "SPILLWAY_TEST_STORE"
	onceVariable  = "SPILLWAY_TEST_ONCE"
)

// child lets rentals live, one after the other, and says so after each commit.
func child(dir string) error {
	ctx := context.Background()
	s, err := store.Open(ctx, dir, store.Options{})
	if err != nil {
		return err
	}
	for {
		id, err := s.NextID(ctx)
		if err != nil {
			return err
		}
		r := bridge.Rental{ID: id, State: bridge.StateLaunching, Cluster: "c1", Account: "org/team/proj/ann", Requester: "ann", Hold: usd(10)}
		r, err = s.Reserve(ctx, r, wide, bridge.News{At: time.Now(), Kind: bridge.NewsReserved, Rental: id})
		for i := 0; err == nil; i++ {
			fmt.Println("stored", r.ID, r.Version, r.State)
			if os.Getenv(onceVariable) != "" {
				return s.Close()
			}
			if r.State == bridge.StateSettled {
				break
			}
			r, err = grow(ctx, s, r, i)
		}
		if err != nil {
			return err
		}
	}
}

// grow takes a rental one write further.
func grow(ctx context.Context, s *store.Store, r bridge.Rental, i int) (bridge.Rental, error) {
	switch {
	case r.State == bridge.StateReleasing:
		r.State, r.Cost = bridge.StateSettled, usd(float64(i))
		return s.Settle(ctx, r, bridge.News{At: time.Now(), Kind: bridge.NewsSettled, Rental: r.ID})
	case i%2 == 1:
		r.Cost = usd(float64(i))
		return s.Post(ctx, r)
	}
	r.State = map[bridge.State]bridge.State{
		bridge.StateLaunching: bridge.StateJoining, bridge.StateJoining: bridge.StateAdmitted,
		bridge.StateAdmitted: bridge.StateDraining, bridge.StateDraining: bridge.StateReleasing,
	}[r.State]
	return s.Save(ctx, r, bridge.News{At: time.Now(), Kind: bridge.NewsCreated, Rental: r.ID})
}

// said is what a child claimed to have stored.
type said struct {
	version int64
	state   bridge.State
}

// runAndKill starts a child, lets it write for a while and kills it.
func runAndKill(t *testing.T, dir string, after time.Duration, acknowledged map[bridge.RentalID]said) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var deadline *time.Timer
	for lines.Scan() {
		if deadline == nil { // the store is open and has written once
			deadline = time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
		var id bridge.RentalID
		var v said
		if n, _ := fmt.Sscanf(lines.Text(), "stored %s %d %s", &id, &v.version, &v.state); n == 3 { // a half line was not said
			acknowledged[id] = v
		}
	}
	if err := cmd.Wait(); err == nil || deadline == nil {
		t.Fatalf("the child ended by itself: %v", err)
	}
}

// Killed thirty times while it writes, a store has every row it said it had.
func TestKilledStoreHasWhatItAcknowledged(t *testing.T) {
	rounds := 30
	if soak.Long() {
		rounds = 500
	}
	dir := t.TempDir()
	acknowledged := map[bridge.RentalID]said{}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	for round := range rounds {
		runAndKill(t, dir, time.Duration(random.Int64N(int64(60*time.Millisecond))), acknowledged)
		s, err := store.Open(t.Context(), dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(2*round + 2); s.Epoch() != want {
			t.Errorf("epoch is %d, want %d", s.Epoch(), want)
		}
		for id, v := range acknowledged {
			r, err := s.Rental(t.Context(), id)
			if err != nil || r.Version < v.version || r.Version > v.version+1 || r.Version == v.version && r.State != v.state {
				t.Errorf("round %d: %s was said to be %d %s, is %d %s: %v", round, id, v.version, v.state, r.Version, r.State, err)
			}
			acknowledged[id] = said{r.Version, r.State}
		}
		checked(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d rentals were acknowledged", len(acknowledged))
}

// kill -9 cannot show that a row reached the disk: the kernel still has it. The
// order of system calls can. A create call may follow Reserve, so the WAL must
// be synchronised before Reserve returns.
func TestHoldIsOnDiskBeforeReserveReturns(t *testing.T) {
	dir := t.TempDir()
	trace := filepath.Join(t.TempDir(), "trace")
	cmd := exec.CommandContext(t.Context(), "strace", "-f", "-y", "-o", trace, "-e", "trace=write,pwrite64,fsync,fdatasync", os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+dir, onceVariable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("run under strace (a package of that name): %v\n%s", err, out)
	}
	calls, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	if err := syncedBeforeWord(string(calls)); err != nil {
		t.Error(err)
	}
	for name, bad := range map[string]string{
		"no write at all":  "1 write(1<pipe:[1]>, \"stored r-1 1 launching\", 22) = 22",
		"no sync at all":   "1 pwrite64(5</d/spillway.db-wal>, \"\", 24, 0) = 24\n1 write(1<pipe:[1]>, \"stored r-1\", 10) = 10",
		"sync comes late":  "1 pwrite64(5</d/spillway.db-wal>, \"\", 24, 0) = 24\n1 write(1<pipe:[1]>, \"stored r-1\", 10) = 10\n1 fdatasync(5</d/spillway.db-wal>) = 0",
		"sync came early":  "1 fdatasync(5</d/spillway.db-wal>) = 0\n1 pwrite64(5</d/spillway.db-wal>, \"\", 24, 0) = 24\n1 write(1<pipe:[1]>, \"stored r-1\", 10) = 10",
		"sync not awaited": "1 pwrite64(5</d/spillway.db-wal>, \"\", 24, 0) = 24\n2 fdatasync(5</d/spillway.db-wal> <unfinished ...>\n1 write(1<pipe:[1]>, \"stored r-1\", 10) = 10\n2 <... fdatasync resumed>) = 0",
	} {
		if syncedBeforeWord(bad) == nil {
			t.Errorf("%s: the trace was accepted", name)
		}
	}
}

// syncedBeforeWord reads a trace of system calls up to the word that a rental
// is stored: the WAL was written, and a sync of it ended after the last write.
func syncedBeforeWord(trace string) error {
	written, synced := false, false
	waiting := map[string]bool{} // threads inside a sync of the WAL
	for line := range strings.Lines(trace) {
		thread, call, _ := strings.Cut(strings.TrimSpace(line), " ")
		call = strings.TrimSpace(call)
		wal := strings.Contains(call, "spillway.db-wal>")
		isSync := strings.HasPrefix(call, "fdatasync(") || strings.HasPrefix(call, "fsync(")
		switch {
		case strings.HasPrefix(call, "write(1<") && strings.Contains(call, "stored"):
			if !written || !synced {
				return fmt.Errorf("stored was said after a write of the WAL: %t, and its sync: %t", written, synced)
			}
			return nil
		case strings.HasPrefix(call, "pwrite64(") && wal, strings.HasPrefix(call, "write(") && wal:
			written, synced = true, false
		case isSync && wal && strings.HasSuffix(call, "= 0"):
			synced = true
		case isSync && wal:
			waiting[thread] = true
		case strings.Contains(call, "sync resumed>") && waiting[thread]:
			delete(waiting, thread)
			synced = true
		}
	}
	return fmt.Errorf("stored was never said")
}

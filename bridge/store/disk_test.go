package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

// closed makes a store with some rentals and closes it.
func closed(t *testing.T, dir string) {
	t.Helper()
	s, err := store.Open(t.Context(), dir, store.Options{Now: newHands(noon).now, StoreID: "known"})
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range states {
		reach(t, s, state)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// hinted fails the test unless err has a kind and tells an operator what to do.
func hinted(t *testing.T, err, kind error) {
	t.Helper()
	var f *store.Fault
	if !errors.Is(err, kind) || !errors.As(err, &f) || f.Hint == "" || !strings.Contains(err.Error(), f.Hint) {
		t.Errorf("got %v, want %v with a hint", err, kind)
	}
}

func TestOneProcessHasTheStore(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, newHands(noon))
	_, err := store.Open(t.Context(), dir, store.Options{})
	hinted(t, err, store.ErrLocked)
	if pid := strconv.Itoa(os.Getpid()); err == nil || !strings.Contains(err.Error(), pid) {
		t.Errorf("%v does not name process %s", err, pid)
	}
	must[bridge.RentalID](t)(s.NextID(t.Context()))
}

func TestIdentityStaysAndEpochGrows(t *testing.T) {
	dir := t.TempDir()
	var ids []string
	for epoch := int64(1); epoch <= 3; epoch++ {
		s, err := store.Open(t.Context(), dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Epoch() != epoch {
			t.Errorf("epoch is %d, want %d", s.Epoch(), epoch)
		}
		ids = append(ids, s.StoreID())
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(ids[0]) < 20 || ids[0] != ids[1] || ids[1] != ids[2] {
		t.Errorf("store ids are %v", ids)
	}
	other := open(t, t.TempDir(), newHands(noon))
	if other.StoreID() == ids[0] {
		t.Error("two stores have one id")
	}
}

// A bridge that was stopped while another took over may not write any more.
func TestOnlyTheLatestEpochWrites(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, newHands(noon))
	r := reach(t, s, bridge.StateReleasing)
	q := reach(t, s, bridge.StateWaiting)
	tamper(t, dir, "update meta set epoch = epoch + 1")
	call := func(_ any, err error) error { return err }
	ctx := t.Context()
	r.State = bridge.StateSettled
	yes := yes(q, "boss")
	q.State = bridge.StateLaunching
	for name, err := range map[string]error{
		"id": call(s.NextID(ctx)), "propose": call(s.Propose(ctx, bridge.Rental{State: bridge.StateWaiting})),
		"reserve": call(s.Reserve(ctx, bridge.Rental{State: bridge.StateLaunching}, wide)), "save": call(s.Save(ctx, r)),
		"extend": call(s.Extend(ctx, r, usd(1), wide)), "post": call(s.Post(ctx, r)), "settle": call(s.Settle(ctx, r)),
		"approve": call(s.Approve(ctx, yes, q, wide)), "marks": s.SaveMarks(ctx, bridge.Marks{Frozen: true}),
		"tell": s.Tell(ctx, news(bridge.NewsFrozen)), "enrol": s.ClaimEnrolment(ctx, r.ID, "i-1", "10.0.0.1"),
	} {
		if !errors.Is(err, bridge.ErrEpoch) {
			t.Errorf("%s: got %v, want %v", name, err, bridge.ErrEpoch)
		}
	}
	if report := checked(t, s); report.OpenHolds != 1 {
		t.Errorf("%d open holds, want 1", report.OpenHolds)
	}
	if live, err := s.Live(ctx); !errors.Is(err, bridge.ErrEpoch) || live != nil {
		t.Errorf("it still sees %d rentals to act on, %v", len(live), err)
	}
	looking, err := store.OpenReadOnly(ctx, dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if live := must[[]bridge.Rental](t)(looking.Live(ctx)); len(live) == 0 {
		t.Error("who only reads sees nothing")
	}
	if err := looking.Close(); err != nil {
		t.Error(err)
	}
}

func TestNobodyElseReadsTheFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	s := open(t, dir, newHands(noon))
	reach(t, s, bridge.StateJoining)
	for _, name := range []string{"", "spillway.db", "spillway.db-wal", "spillway.lock"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%q has mode %s", name, info.Mode())
		}
	}
}

// mount puts a small file system of its own at a directory.
func mount(t *testing.T, size string) (dir string, remount func(flags uintptr)) {
	t.Helper()
	dir = t.TempDir()
	call := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, "mode=0700,size="+size); err != nil {
			t.Fatalf("mount tmpfs (the test needs root): %v", err)
		}
	}
	call(0)
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir, func(flags uintptr) { call(flags | syscall.MS_REMOUNT) }
}

func TestFullDiskStopsNewMoneyAndNothingElse(t *testing.T) {
	dir, _ := mount(t, "2m")
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, bytes.Repeat([]byte("x"), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, newHands(noon))
	var kept []bridge.Rental
	var full error
	for full == nil && len(kept) < 2000 {
		r := scripted(len(kept)+1, strings.Repeat("script ", 500))
		r, full = s.Reserve(t.Context(), r, wide, news(bridge.NewsReserved))
		if full == nil {
			kept = append(kept, r)
		}
	}
	hinted(t, full, store.ErrFull)
	if live := must[[]bridge.Rental](t)(s.Live(t.Context())); len(live) != len(kept) {
		t.Errorf("%d rentals are live, %d were acknowledged", len(live), len(kept))
	}
	if told := must[[]bridge.News](t)(s.News(t.Context(), store.NewsFilter{Limit: 5000})); len(told) != len(kept) {
		t.Errorf("%d news of %d rentals", len(told), len(kept))
	}
	checked(t, s)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	must[bridge.Rental](t)(s.Reserve(t.Context(), scripted(len(kept)+1, ""), wide))
	checked(t, s)
}

// scripted is the n-th rental, with a boot script.
func scripted(n int, script string) bridge.Rental {
	return bridge.Rental{
		ID: bridge.NewRentalID(int64(n)), State: bridge.StateLaunching, Cluster: "c1", Account: "org/team/proj/ann", Requester: "ann",
		Hold: usd(10), Launch: bridge.Launch{UserData: script},
	}
}

func TestReadOnlyFileSystem(t *testing.T) {
	dir, remount := mount(t, "4m")
	closed(t, dir)
	remount(syscall.MS_RDONLY)
	_, err := store.Open(t.Context(), dir, store.Options{})
	hinted(t, err, store.ErrReadOnly)
	s, err := store.OpenReadOnly(t.Context(), dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if all := must[[]bridge.Rental](t)(s.Recent(t.Context(), 100)); len(all) != len(states) {
		t.Errorf("%d rentals are read, want %d", len(all), len(states))
	}
	checked(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	remount(0)
	open(t, dir, newHands(noon))
}

func TestStoreOfAnotherAccount(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "private")
	closed(t, dir)
	done := make(chan [2]error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its lesser rights
		if err := syscall.Setfsuid(65534); err != nil {
			done <- [2]error{err, err}
			return
		}
		_, err := store.OpenReadOnly(t.Context(), dir, store.Options{})
		_, err2 := store.Open(t.Context(), dir, store.Options{})
		done <- [2]error{err, err2}
	}()
	for _, err := range <-done {
		hinted(t, err, store.ErrDenied)
	}
}

func TestReadingBesideTheBridge(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, newHands(noon))
	r := reach(t, s, bridge.StateAdmitted)
	other, err := store.OpenReadOnly(t.Context(), dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if other.StoreID() != s.StoreID() || other.Epoch() != s.Epoch() {
		t.Errorf("the reader sees %s at %d, the bridge is %s at %d", other.StoreID(), other.Epoch(), s.StoreID(), s.Epoch())
	}
	if got := must[bridge.Rental](t)(other.Rental(t.Context(), r.ID)); cmp.Diff(r, got) != "" {
		t.Errorf("the reader sees another rental:\n%s", cmp.Diff(r, got))
	}
	r.State = bridge.StateDraining
	must[bridge.Rental](t)(s.Save(t.Context(), r))
	if live := must[[]bridge.Rental](t)(other.Live(t.Context())); live[0].State != bridge.StateDraining {
		t.Errorf("the reader sees it %s", live[0].State)
	}
	_, err = other.NextID(t.Context())
	hinted(t, err, store.ErrReadOnly)
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	overwrite := func(at int64) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			f, err := os.OpenFile(filepath.Join(dir, "spillway.db"), os.O_RDWR, 0)
			if err == nil {
				_, err = f.WriteAt(bytes.Repeat([]byte("garbage!"), 512), at)
			}
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		spoil      func(t *testing.T, dir string)
		want, read error // of Open, and of OpenReadOnly
	}{
		"a header of garbage": {overwrite(0), store.ErrCorrupt, store.ErrCorrupt},
		"a schema from tomorrow": {func(t *testing.T, dir string) {
			tamper(t, dir, "insert into goose_db_version (version_id, is_applied) values (99, 1)")
		}, store.ErrNewer, store.ErrNewer},
		"a file without anything": {func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, "spillway.db"), 0); err != nil {
				t.Fatal(err)
			}
		}, nil, store.ErrNoStore},
		"no file": {func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "spillway.db")); err != nil {
				t.Fatal(err)
			}
		}, nil, store.ErrNoStore},
		"half a file": {func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, "spillway.db"), 9000); err != nil {
				t.Fatal(err)
			}
		}, store.ErrCorrupt, store.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			closed(t, dir)
			c.spoil(t, dir)
			s, err := store.OpenReadOnly(t.Context(), dir, store.Options{})
			hinted(t, err, c.read)
			if err == nil {
				_ = s.Close()
			}
			s, err = store.Open(t.Context(), dir, store.Options{})
			if c.want != nil {
				hinted(t, err, c.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s.StoreID() == "known" { // an empty file is a new store: other machines are not its own
				t.Error("a new store has the old one's id")
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOlderSchemaIsReadAfterItsUpgrade(t *testing.T) {
	dir := t.TempDir()
	closed(t, dir)
	tamper(t, dir, "delete from goose_db_version where version_id > 0")
	_, err := store.OpenReadOnly(t.Context(), dir, store.Options{})
	hinted(t, err, store.ErrOlder)
}

func TestDamagedPagesAreFound(t *testing.T) {
	dir := t.TempDir()
	closed(t, dir)
	path := filepath.Join(dir, "spillway.db")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[(pageOf(t, dir, "news")-1)*4096:], bytes.Repeat([]byte{0xff}, 4096))
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := store.OpenReadOnly(t.Context(), dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	hinted(t, s.Integrity(t.Context()), store.ErrCorrupt)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A torn end of the WAL loses the last commits, as a disk that lied about its
// sync does, but never a part of one.
func TestTornLogLosesWholeCommitsOnly(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, newHands(noon))
	for range 10 {
		reach(t, s, bridge.StateSettled)
	}
	whole := checked(t, s).Transactions
	db, err := os.ReadFile(filepath.Join(dir, "spillway.db"))
	if err != nil {
		t.Fatal(err)
	}
	wal, err := os.ReadFile(filepath.Join(dir, "spillway.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	lost := false
	for cut := range 40 {
		torn := bytes.Clone(wal)
		torn[len(torn)-1-cut*len(wal)/80] ^= 0xff
		next := t.TempDir()
		if err := errors.Join(os.WriteFile(filepath.Join(next, "spillway.db"), db, 0o600), os.WriteFile(filepath.Join(next, "spillway.db-wal"), torn, 0o600)); err != nil {
			t.Fatal(err)
		}
		again, err := store.Open(t.Context(), next, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		lost = checked(t, again).Transactions < whole || lost
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
	if !lost {
		t.Error("no cut reached a commit")
	}
}

func TestFileThatIsTakenAwayIsNotWrittenTo(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, newHands(noon))
			if err := replace(filepath.Join(dir, "spillway.db")); err != nil {
				t.Fatal(err)
			}
			_, err := s.NextID(t.Context())
			hinted(t, err, store.ErrReplaced)
		})
	}
}

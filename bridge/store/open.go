package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	_ "modernc.org/sqlite" // the driver named sqlite

	"spillway.sh/spillway/bridge"
)

const (
	fileName = "spillway.db"
	lockName = "spillway.lock"
)

// Options are what a store takes from its surroundings.
type Options struct {
	// Now gives the time of ledger rows and the period that budgets are checked
	// in; one that is earlier than the last ledger row is not believed. Nil: the
	// system's clock.
	Now func() time.Time
	// StoreID is used for a new store; empty: a random one.
	StoreID string
}

// Store is an open store. It is safe for use by several goroutines.
type Store struct {
	dir   string
	now   func() time.Time
	lock  *flock.Flock // nil: read-only
	file  fs.FileInfo  // of the database as it was opened
	db    *sql.DB      // the one writer; nil: read-only
	reads *sql.DB
	id    string
	epoch int64

	writes, looks statements // of db and of reads

	mu   sync.Mutex
	live map[bridge.RentalID]bridge.Rental // decoded rows, valid while the version is the row's
}

// Open locks a data directory, brings its schema up to date, takes the next
// epoch and returns the store. A directory that another process has locked gives
// ErrLocked with that process's id; all other failures are a *Fault too, where
// their kind is known.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, explain(err))
	}
	lock, err := acquire(dir)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, explain(err))
	}
	s := &Store{dir: dir, now: o.Now, lock: lock, live: map[bridge.RentalID]bridge.Rental{}}
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.start(ctx, o.StoreID); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", dir, explain(err)), s.Close())
	}
	return s, nil
}

func (s *Store) start(ctx context.Context, newID string) error {
	path := filepath.Join(s.dir, fileName)
	// Created by us so that nobody else may read it; the WAL takes its mode over.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	s.file, err = f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if s.db, err = connect(path, "_txlock=immediate&_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=foreign_keys(1)", 1); err != nil {
		return err
	}
	if err := migrate(ctx, s.db); err != nil {
		return err
	}
	if s.reads, err = connect(path, "_pragma=query_only(1)", 4); err != nil {
		return err
	}
	return s.begin(ctx, newID)
}

// begin gives a new store its identity and takes the next epoch.
func (s *Store) begin(ctx context.Context, newID string) error {
	if newID == "" {
		newID = strings.ToLower(rand.Text())
	}
	return s.db.QueryRowContext(ctx, `insert into meta (only, store_id, epoch) values (1, ?, 1)
		on conflict (only) do update set epoch = epoch + 1 returning store_id, epoch`, newID).Scan(&s.id, &s.epoch)
}

// OpenReadOnly opens a store for reading only, whether or not a bridge has it
// open. All writes give ErrReadOnly.
func OpenReadOnly(ctx context.Context, dir string, o Options) (*Store, error) {
	s := &Store{dir: dir, now: o.Now, live: map[bridge.RentalID]bridge.Rental{}}
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.startReading(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("read store %s: %w", dir, explain(err)), s.Close())
	}
	return s, nil
}

func (s *Store) startReading(ctx context.Context) error {
	path := filepath.Join(s.dir, fileName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fault(ErrNoStore, err)
	} else if err != nil {
		return err
	}
	query := "mode=ro&_pragma=query_only(1)"
	// On a read-only mount the WAL's index cannot be made. After a clean end
	// there is no WAL, and the file alone is whole.
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) && !writable(s.dir) {
		query += "&immutable=1"
	}
	var err error
	if s.reads, err = connect(path, query, 4); err != nil {
		return err
	}
	if err := sameSchema(ctx, s.reads); err != nil {
		return err
	}
	err = s.reads.QueryRowContext(ctx, `select store_id, epoch from meta`).Scan(&s.id, &s.epoch)
	if noRows(err) {
		return fault(ErrNoStore, err)
	}
	return err
}

func writable(dir string) bool {
	const mayWrite = 2 // W_OK
	return syscall.Access(dir, mayWrite) == nil
}

func connect(path, query string, most int) (*sql.DB, error) {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: "_pragma=busy_timeout(5000)&" + query}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return db, nil
}

// acquire locks the directory and leaves this process's id in the lock file.
func acquire(dir string) (*flock.Flock, error) {
	path := filepath.Join(dir, lockName)
	lock := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if !ok {
		who := "another process"
		if b, err := os.ReadFile(path); err == nil && len(strings.TrimSpace(string(b))) > 0 {
			who = "process " + strings.TrimSpace(string(b))
		}
		hint := who + " has it open; stop that one first, or point this one at a data directory of its own"
		return nil, errors.Join(&Fault{Kind: ErrLocked, Hint: hint}, lock.Close())
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// inPlace reports whether the file that people see is the one that is written:
// rows written to a file that was removed would be lost without a word.
func (s *Store) inPlace() error {
	now, err := os.Stat(filepath.Join(s.dir, fileName))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, s.file) {
		return fault(ErrReplaced, err)
	}
	return err
}

// Close ends all work on the store and gives up the lock.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.reads, s.db} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close store %s: %w", s.dir, explain(err))
	}
	return nil
}

// StoreID is the random identity made at first start; it is in every tag.
func (s *Store) StoreID() string { return s.id }

// Epoch is the number of this opening of the store.
func (s *Store) Epoch() int64 { return s.epoch }

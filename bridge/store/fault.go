package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"spillway.sh/spillway/bridge"
)

// What can be wrong with the place where a store lives. Each comes inside a
// *Fault, which adds a hint.
var (
	ErrFull     = errors.New("disk is full")
	ErrReadOnly = errors.New("store cannot be written")
	ErrDenied   = errors.New("no right to open the store")
	ErrCorrupt  = errors.New("store is damaged")
	ErrDisk     = errors.New("disk does not answer as it should")
	ErrNewer    = errors.New("store was written by a newer version")
	ErrOlder    = errors.New("store was written by an older version")
	ErrNoStore  = errors.New("there is no store here")
	ErrReplaced = errors.New("store was removed or replaced while in use")
	ErrLocked   = errors.New("store is in use")
)

// Errors of single calls.
var (
	ErrNoRental = errors.New("no such rental")
	ErrState    = errors.New("not a step this rental can take")
	ErrMoney    = errors.New("hold, cost, account and request key do not change this way")
	ErrOwn      = errors.New("a requester never decides")
	ErrReused   = errors.New("this key stands for something else already")
	ErrBill     = errors.New("a line of a bill makes no sense")
	ErrUsage    = errors.New("a figure of use makes no sense")
)

// Fault is an error of the store as a whole, with what an operator can do.
type Fault struct {
	Kind error // one of the errors above
	Hint string
	Err  error // of the database or the file system
}

// Error names the kind, the cause and the hint.
func (f *Fault) Error() string {
	s := f.Kind.Error()
	if f.Err != nil {
		s += ": " + f.Err.Error()
	}
	return s + " (" + f.Hint + ")"
}

// Unwrap returns the kind and the cause.
func (f *Fault) Unwrap() []error {
	if f.Err == nil {
		return []error{f.Kind}
	}
	return []error{f.Kind, f.Err}
}

var hints = map[error]string{
	ErrFull:     "nothing was written; free space on the disk of the data directory, the bridge goes on by itself",
	ErrReadOnly: "nothing was written; check whether the disk of the data directory is mounted read-only",
	ErrDenied:   "use the account that the bridge runs as, or root; a running bridge answers without",
	ErrCorrupt:  "nothing was written; stop the bridge, then: spillway adopt. It sets this store aside, and rebuilds the books of what runs from the clouds' lists",
	ErrDisk:     "nothing was written; look in the kernel's log for the disk of the data directory, which may be read-only now; the bridge goes on by itself",
	ErrNewer:    "install the version of spillway that wrote it, or a later one",
	ErrOlder:    "start the bridge once: spillway run",
	ErrReplaced: "nothing was written; put the file back or keep the new one, then restart the bridge",
	ErrNoStore:  "check the data directory, or start the bridge once: spillway run",
}

func fault(kind, err error) error { return &Fault{Kind: kind, Hint: hints[kind], Err: err} }

// OverBudget says which budget has no room.
type OverBudget struct {
	Balance bridge.Balance
	Need    bridge.Money
}

// Error names the budget, what is left and what was needed.
func (e *OverBudget) Error() string {
	left, err := e.Balance.Left()
	if err != nil {
		return fmt.Sprintf("%s: %s in %s", bridge.ErrOverBudget, e.Balance.Scope(), e.Balance.Period)
	}
	return fmt.Sprintf("%s: %s in %s has %s left, needed %s", bridge.ErrOverBudget, e.Balance.Scope(), e.Balance.Period, left.Floor(), e.Need)
}

// Unwrap returns bridge.ErrOverBudget.
func (e *OverBudget) Unwrap() error { return bridge.ErrOverBudget }

// explain gives errors of the database and the file system their kind.
func explain(err error) error {
	var f *Fault
	var se *sqlite.Error
	switch {
	case err == nil, errors.As(err, &f):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fault(ErrFull, err)
	case errors.Is(err, syscall.EROFS):
		return fault(ErrReadOnly, err)
	case errors.Is(err, fs.ErrPermission):
		return fault(ErrDenied, err)
	case errors.As(err, &se):
		return explainSQLite(se, err)
	}
	return err
}

func explainSQLite(se *sqlite.Error, err error) error {
	switch se.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return fault(ErrFull, err)
	case sqlite3.SQLITE_READONLY:
		return fault(ErrReadOnly, err)
	case sqlite3.SQLITE_PERM:
		return fault(ErrDenied, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fault(ErrCorrupt, err)
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		return fault(ErrDisk, err)
	}
	return err
}

func noRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }

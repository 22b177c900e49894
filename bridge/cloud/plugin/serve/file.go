package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// lockPause is the time between two tries to get a lock.
const lockPause = 20 * time.Millisecond

// File is a value that outlives every process: what was written is on the disk
// before Change returns, a file is whole or as it was, and one process at a time
// changes it.
type File[T any] struct{ dir, path string }

// NewFile keeps a value in a folder that belongs to its owner alone.
func NewFile[T any](dir string) (*File[T], error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of what must not be forgotten: %w", err)
	}
	return &File[T]{dir, filepath.Join(dir, "state.json")}, nil
}

// Dir is the folder.
func (f *File[T]) Dir() string { return f.dir }

// Read returns the value as it was written last.
func (f *File[T]) Read() (T, error) {
	var v T
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		return v, fmt.Errorf("read %s: %w", f.path, err)
	}
	return v, nil
}

// Change lets change work on the value and writes it. When change or the
// writing fails, the value stays what it was.
func (f *File[T]) Change(ctx context.Context, change func(*T) error) error {
	unlock, err := f.Lock(ctx, "state")
	if err != nil {
		return err
	}
	defer unlock()
	v, err := f.Read()
	if err != nil {
		return err
	}
	if err := change(&v); err != nil {
		return err
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = replace(f.path, text)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	return nil
}

// Lock waits for a lock of the folder. It ends with the process, however that
// ends.
func (f *File[T]) Lock(ctx context.Context, name string) (unlock func(), err error) {
	l := flock.New(filepath.Join(f.dir, name+".lock"))
	if ok, err := l.TryLockContext(ctx, lockPause); err != nil || !ok {
		return nil, fmt.Errorf("wait for another process at %s: %w", l.Path(), err)
	}
	return func() { _ = l.Unlock() }, nil
}

// TryLock is Lock that does not wait; got is false when another has it.
func (f *File[T]) TryLock(name string) (unlock func(), got bool, err error) {
	l := flock.New(filepath.Join(f.dir, name+".lock"))
	got, err = l.TryLock()
	if err != nil {
		return nil, false, fmt.Errorf("lock %s: %w", l.Path(), err)
	}
	return func() { _ = l.Unlock() }, got, nil
}

// replace writes a file beside its place, has the disk keep it, and puts it there.
func replace(path string, text []byte) error {
	tmp := path + ".new"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

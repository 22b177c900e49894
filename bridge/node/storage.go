package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"spillway.sh/spillway/bridge"
)

const (
	storageLimit = 30 * time.Second
	storageBlock = 64 << 10
	storageSize  = 8 << 20 // what is written and read to time it
)

// speed is what a place of storage did.
type speed struct {
	wait        time.Duration // for the first block to be stored
	write, read int64         // bytes a second
}

// lookAtStorage times a small write and read in each shared place. Where root
// may not write, the job's owner does.
func lookAtStorage(ctx context.Context, w *bridge.Wants) finding {
	f := finding{want: "writable"}
	if w.MinRate > 0 {
		f.want += fmt.Sprintf(", %d MB/s", w.MinRate/1e6)
	}
	if w.MaxWait > 0 {
		f.want += fmt.Sprintf(", first block in %s", w.MaxWait)
	}
	f.ok = true
	var got []string
	for _, place := range w.Storage {
		s, err := timeStorage(ctx, place, w.Owner)
		if err != nil {
			f.ok = false
			f.final = f.final || errors.Is(err, unix.EROFS) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
			got = append(got, place+": "+plainError(err))
			continue
		}
		slow := w.MinRate > 0 && min(s.write, s.read) < w.MinRate || w.MaxWait > 0 && s.wait > w.MaxWait
		f.ok = f.ok && !slow
		got = append(got, fmt.Sprintf("%s: first block in %s, %d MB/s written, %d MB/s read", place, s.wait.Round(100*time.Microsecond), s.write/1e6, s.read/1e6))
	}
	f.got = strings.Join(got, "; ")
	return f
}

func timeStorage(ctx context.Context, dir string, owner *bridge.Owner) (speed, error) {
	s, err := timeFile(ctx, dir)
	if errors.Is(err, os.ErrPermission) && owner != nil {
		return timeAs(ctx, dir, owner.UID, owner.GID)
	}
	return s, err
}

// timeAs does the timing with an account's rights on file systems. Only the
// thread has them, and it ends with the goroutine.
func timeAs(ctx context.Context, dir string, uid, gid int) (speed, error) {
	type result struct {
		speed speed
		err   error
	}
	out := make(chan result, 1)
	go func() {
		runtime.LockOSThread()
		if err := errors.Join(unix.Setfsgid(gid), unix.Setfsuid(uid)); err != nil {
			out <- result{err: err}
			return
		}
		s, err := timeFile(ctx, dir)
		out <- result{s, err}
	}()
	r := <-out
	return r.speed, r.err
}

func timeFile(ctx context.Context, dir string) (s speed, err error) {
	f, err := os.CreateTemp(dir, ".spillway-check-")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	block := make([]byte, storageBlock)
	for i := range block {
		block[i] = byte(i * 131) // Nothing that a file system could leave out.
	}
	began := time.Now()
	if _, err = f.Write(block); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return s, err
	}
	s.wait = time.Since(began)
	began = time.Now()
	for n := 0; n < storageSize && err == nil; n += storageBlock {
		if _, err = f.Write(block); err == nil {
			err = ctx.Err()
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return s, err
	}
	s.write = rate(storageSize, time.Since(began))
	// Read from the storage, not from what this machine remembers of it.
	if err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return s, err
	}
	began = time.Now()
	for off := int64(0); off < storageSize; off += storageBlock {
		if _, err = f.ReadAt(block, off); err != nil {
			return s, err
		}
	}
	s.read = rate(storageSize, time.Since(began))
	return s, nil
}

func rate(bytes int64, took time.Duration) int64 {
	return int64(float64(bytes) / max(took, time.Microsecond).Seconds())
}

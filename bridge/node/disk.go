package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"spillway.sh/spillway/bridge"
)

// diskLeast is free on every disk, whatever is wanted: daemons need to write.
const diskLeast = 256 // MiB

// lookAtDisks looks for room and writes a little where jobs and daemons write.
// The largest of them must have what is wanted.
func lookAtDisks(dirs []string, wantMiB int64) finding {
	f := finding{want: fmt.Sprintf("%d MiB free, and writable", max(wantMiB, diskLeast)), final: true}
	var most int64
	for _, dir := range dirs {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			continue
		}
		free, err := freeMiB(dir)
		if err == nil && free < diskLeast {
			err = fmt.Errorf("%d MiB free", free)
		}
		if err == nil {
			err = tryWrite(dir)
		}
		if err != nil {
			f.got = dir + ": " + plainError(err)
			return f
		}
		most = max(most, free)
	}
	f.got, f.ok = fmt.Sprintf("%d MiB free", most), most >= wantMiB
	return f
}

func freeMiB(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * s.Bsize >> 20, nil
}

// tryWrite writes a block, has it stored, reads it again and removes it.
func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".spillway-check-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // It is empty room by then.
	block := bytes.Repeat([]byte("spillway"), 512)
	back := make([]byte, len(block))
	_, err = f.Write(block)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		_, err = f.ReadAt(back, 0)
	}
	if err = errors.Join(err, f.Close()); err == nil && !bytes.Equal(block, back) {
		err = errors.New("what was written is not what is read")
	}
	return err
}

// plainError leaves out the temporary name in an error.
func plainError(err error) string {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Op + ": " + p.Err.Error()
	}
	return err.Error()
}

// lookAtMounts looks whether each place is there, lies on a file system that is
// not the machine's own root, and answers.
func lookAtMounts(ctx context.Context, mountinfo string, places []string) finding {
	f := finding{want: strings.Join(places, ", ")}
	var missing []string
	for _, place := range places {
		if ctx.Err() != nil {
			break
		}
		if _, err := os.ReadDir(place); err != nil { // Reading mounts what is mounted when it is needed.
			missing = append(missing, place+": "+plainError(err))
		}
	}
	if len(missing) == 0 {
		text, err := os.ReadFile(mountinfo)
		if err != nil {
			f.got = err.Error()
			return f
		}
		for _, place := range places {
			if mountOf(string(text), place) == "/" {
				missing = append(missing, place+": not mounted")
			}
		}
	}
	if len(missing) > 0 {
		f.got = strings.Join(missing, "; ")
		return f
	}
	return fine("%d mounted", len(places))
}

// mountOf finds the mount point that a path lies below.
func mountOf(mountinfo, path string) string {
	best := "/"
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		at := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`).Replace(fields[4])
		if len(at) > len(best) && (at == path || strings.HasPrefix(filepath.Clean(path), at+"/")) {
			best = at
		}
	}
	return best
}

// lookAtOwner asks the machine's directory for the account of the job's owner.
func lookAtOwner(ctx context.Context, o *bridge.Owner) finding {
	f := finding{want: fmt.Sprintf("%s is uid %d, gid %d", o.Name, o.UID, o.GID)}
	out, err := output(ctx, "getent", "passwd", o.Name)
	if err != nil {
		f.got = o.Name + " is unknown here"
		return f
	}
	parts := strings.Split(strings.TrimSpace(out), ":")
	if len(parts) < 4 {
		f.got = fmt.Sprintf("%.80q", out)
		return f
	}
	f.got = fmt.Sprintf("uid %s, gid %s", parts[2], parts[3])
	f.ok = parts[2] == fmt.Sprint(o.UID) && parts[3] == fmt.Sprint(o.GID)
	f.final = !f.ok
	return f
}

package checkpoint

import (
	"io/fs"
	"slices"
	"syscall"
)

// Owner is whom a job runs as. Rights by access control lists are not seen.
type Owner struct {
	UID  uint32
	GIDs []uint32
}

// may reports whether the owner could use something: bits are those of one
// class, 4 to read and 1 to go through a folder.
func (o *Owner) may(info fs.FileInfo, bits fs.FileMode) bool {
	if o.UID == 0 {
		return true
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	mode := info.Mode().Perm()
	switch {
	case st.Uid == o.UID:
		return mode>>6&bits == bits
	case slices.Contains(o.GIDs, st.Gid):
		return mode>>3&bits == bits
	}
	return mode&bits == bits
}

package checkpoint

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// HostOwners asks the host's name service who a Unix account is: files, LDAP or
// whatever the site uses. Answers are kept for ten minutes.
func HostOwners(now func() time.Time) func(ctx context.Context, user string) (Owner, error) {
	h := &owners{known: map[string]known{}, now: now}
	return h.of
}

const ownersFor = 10 * time.Minute

type owners struct {
	mu    sync.Mutex
	known map[string]known
	now   func() time.Time
}

type known struct {
	Owner
	at time.Time
}

func (h *owners) of(ctx context.Context, user string) (Owner, error) {
	h.mu.Lock()
	got, ok := h.known[user]
	h.mu.Unlock()
	if ok && h.now().Sub(got.at) < ownersFor {
		return got.Owner, nil
	}
	uid, err := ids(ctx, "-u", user)
	if err != nil {
		return Owner{}, err
	}
	gids, err := ids(ctx, "-G", user)
	if err != nil {
		return Owner{}, err
	}
	got = known{Owner{UID: uid[0], GIDs: gids}, h.now()}
	h.mu.Lock()
	h.known[user] = got
	h.mu.Unlock()
	return got.Owner, nil
}

// ids asks id(1): a binary without cgo sees the files of the host alone.
func ids(ctx context.Context, what, user string) ([]uint32, error) {
	out, err := exec.CommandContext(ctx, "id", what, "--", user).Output()
	if err != nil {
		return nil, fmt.Errorf("look up account %q: %w", user, err)
	}
	var list []uint32
	for w := range strings.FieldsSeq(string(out)) {
		n, err := strconv.ParseUint(w, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("look up account %q: %w", user, err)
		}
		list = append(list, uint32(n))
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("look up account %q: no answer", user)
	}
	return list, nil
}

package socket

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Accounts turns a uid into the Unix account and its groups. A uid without an
// account is an error: rights hang on names.
type Accounts func(ctx context.Context, uid int) (name string, groups []string, err error)

// HostAccounts asks the host's name service: files, LDAP or whatever the site
// uses. Answers are kept for a minute. It is safe for use by several goroutines.
func HostAccounts(now func() time.Time) Accounts {
	h := &host{known: map[int]account{}, now: now}
	return h.of
}

type host struct {
	mu    sync.Mutex
	known map[int]account
	now   func() time.Time
}

type account struct {
	name   string
	groups []string
	at     time.Time
}

const (
	accountsFor   = time.Minute
	accountsPause = 5 * time.Second // of one look-up
)

func (h *host) of(ctx context.Context, uid int) (name string, groups []string, err error) {
	h.mu.Lock()
	got, ok := h.known[uid]
	h.mu.Unlock()
	if ok && h.now().Sub(got.at) < accountsFor {
		return got.name, got.groups, nil
	}
	// A binary without cgo reads /etc/passwd only; these two ask the host.
	ctx, cancel := context.WithTimeout(ctx, accountsPause)
	defer cancel()
	line, err := exec.CommandContext(ctx, "getent", "passwd", strconv.Itoa(uid)).Output()
	if err != nil {
		return "", nil, fmt.Errorf("look up uid %d: %w", uid, err)
	}
	name, _, _ = strings.Cut(string(line), ":")
	if name == "" {
		return "", nil, fmt.Errorf("look up uid %d: no name", uid)
	}
	out, err := exec.CommandContext(ctx, "id", "-Gn", "--", name).Output()
	if err != nil {
		return "", nil, fmt.Errorf("look up groups of %s: %w", name, err)
	}
	got = account{name, strings.Fields(string(out)), h.now()}
	h.mu.Lock()
	h.known[uid] = got
	h.mu.Unlock()
	return got.name, got.groups, nil
}

// KnownAccount reports whether the host knows an account of that name. An error
// says that the host could not be asked.
func KnownAccount(ctx context.Context, name string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, accountsPause)
	defer cancel()
	err := exec.CommandContext(ctx, "getent", "passwd", "--", name).Run()
	const notFound = 2 // of getent's manual: a key that is in no source
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && failed.ExitCode() == notFound {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up account %s: %w", name, err)
	}
	return true, nil
}

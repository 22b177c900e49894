package host

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
)

//go:embed owned.sh
var owned string

// Host is a machine and the way to it.
type Host struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Port    int    `json:"port"`
	User    string `json:"user"`     // root, or one who may sudo without a password
	KeyFile string `json:"key_file"` // of our key
	HostKey string `json:"host_key"` // of its own: "ssh-ed25519 AAAA…"
}

// Lease is what a machine is lent for.
type Lease struct {
	ID       string // the machine's id as the cloud lists it
	Expires  time.Time
	UserData string
}

// Refused is a machine's own word that it cannot be lent, before anything was
// changed on it.
type Refused struct{ Code, Text string }

// Error is its text.
func (r *Refused) Error() string { return r.Text }

// Runner runs a script as root on a machine and returns what it printed.
type Runner interface {
	Run(ctx context.Context, h *Host, script string) (string, error)
}

// Look asks whether a machine can be lent. It changes nothing.
func Look(ctx context.Context, r Runner, h *Host, id string) error {
	return do(ctx, r, h, "look", id, "looked", "")
}

// Start has a machine run the boot script, once however often it is asked.
func Start(ctx context.Context, r Runner, h *Host, l *Lease) error {
	return do(ctx, r, h, "start", l.ID, "started",
		assign("expires", l.Expires.UTC().Format(time.RFC3339))+
			assign("boot", base64.StdEncoding.EncodeToString([]byte(l.UserData)))+
			assign("self", base64.StdEncoding.EncodeToString([]byte(atItsEnd(l.ID)))))
}

// Extend tells a machine's agent its new end, for while the bridge is away.
func Extend(ctx context.Context, r Runner, h *Host, id string, expires time.Time) error {
	return do(ctx, r, h, "extend", id, "extended", assign("expires", expires.UTC().Format(time.RFC3339)))
}

// Release ends all that was started for id and puts back what was there. Only a
// nil error is certain: nothing of id is left. A machine that is not lent to id
// has nothing of it.
func Release(ctx context.Context, r Runner, h *Host, id string) error {
	return do(ctx, r, h, "release", id, "released", "")
}

// atItsEnd is the program that gives the machine back without us. It leaves
// the group of the process that ends with it.
func atItsEnd(id string) string {
	return owned + assign("id", id) + `
if [ "${1:-}" != now ]; then
	if under_systemd; then
		exec systemd-run --collect --unit=spillway-release "$0" now
	fi
	setsid "$0" now </dev/null >/dev/null 2>&1 &
	exit 0
fi
release
`
}

func assign(name, value string) string {
	return name + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'\n"
}

// do runs one function of the script. The whole of it is read before a word of
// it is done: a connection that breaks does half of nothing.
func do(ctx context.Context, r Runner, h *Host, what, id, done, values string) error {
	out, err := r.Run(ctx, h, owned+"main() {\n"+assign("id", id)+values+what+"\ndone_with "+done+"\n}\nmain\nexit\n")
	last := ""
	for line := range strings.SplitSeq(out, "\n") {
		if strings.HasPrefix(line, "spillway-") {
			last = line
		}
	}
	if text, ok := strings.CutPrefix(last, "spillway-refused "); ok {
		code, text, _ := strings.Cut(text, ": ")
		return &Refused{code, fmt.Sprintf("machine %s: %s", h.Name, text)}
	}
	if text, ok := strings.CutPrefix(last, "spillway-failed "); ok {
		return fmt.Errorf("%s machine %s: %s", what, h.Name, text)
	}
	if last == "spillway-owned "+done+" "+id {
		return nil
	}
	return fmt.Errorf("%s machine %s at %s: %w", what, h.Name, h.Address, errors.Join(err, said(out)))
}

// said is what a machine printed in place of an answer.
func said(out string) error {
	text := bytes.TrimSpace([]byte(out))
	if len(text) == 0 {
		return nil
	}
	return fmt.Errorf("it said %.200q", text)
}

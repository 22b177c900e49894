package slurm

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"spillway.sh/spillway/bridge"
)

//go:embed boot.sh
var bootScript string

var agentSum = regexp.MustCompile(`^[0-9a-f]{64}$`)

// UserData is the boot script of a rental's machines. It fetches the agent that
// b.Agent pins from the enrolment service, over TLS pinned to b.CA, and runs it;
// the agent does the rest, see Member. At b.Expires the script switches the
// machine off, whatever became of the agent.
func (c *Cluster) UserData(_ context.Context, _ *bridge.Rental, b bridge.Boot) (string, error) {
	ca := strings.TrimSpace(b.CA)
	switch {
	case !strings.HasPrefix(b.URL, "https://"):
		return "", fmt.Errorf("write boot script: enrolment address %q is not https", b.URL)
	case !strings.HasPrefix(ca, "-----BEGIN CERTIFICATE-----") || slices.Contains(strings.Split(ca, "\n"), "CA"):
		return "", errors.New("write boot script: the enrolment's CA is not a PEM certificate")
	case b.Ticket == "" || strings.ContainsAny(b.Ticket, "\"\\\n"):
		return "", errors.New("write boot script: the ticket is empty or holds quotes")
	case !agentSum.MatchString(b.Agent) || b.Arch == "":
		return "", errors.New("write boot script: the machines' agent is not known")
	case b.Expires.IsZero():
		return "", errors.New("write boot script: the machines would have no end")
	}
	return strings.NewReplacer(
		"@URL@", shellQuote(strings.TrimSuffix(b.URL, "/v1/enrol")),
		"@TICKET@", shellQuote(b.Ticket),
		"@SUM@", b.Agent,
		"@ARCH@", shellQuote(b.Arch),
		"@EXPIRES@", strconv.FormatInt(b.Expires.Unix(), 10),
		"@CA@", ca,
	).Replace(bootScript), nil
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// ownerOf asks the controller for the account of the job that a rental was made
// for, NAME:UID:GID. Empty: it was made for none, or the job is gone.
func (c *Cluster) ownerOf(ctx context.Context, r *bridge.Rental) string {
	for _, job := range r.Jobs {
		out, err := c.run(ctx, "squeue", "-h", "-a", "-j", string(job.Base()), "-O", "UserName:64,UserID:12,GroupID:12")
		if err != nil {
			continue // Jobs end; the machine is as good without a look at their owner.
		}
		line, _, _ := strings.Cut(string(out), "\n")
		if f := strings.Fields(line); len(f) == 3 && accountNumber(f[1]) && accountNumber(f[2]) {
			return strings.Join(f, ":")
		}
	}
	return ""
}

func accountNumber(s string) bool {
	n, err := strconv.ParseUint(s, 10, 32)
	return err == nil && n > 0
}

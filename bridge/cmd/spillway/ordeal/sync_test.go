package ordeal

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bot/slackd"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// kill -9 loses nothing that the kernel has, so it cannot show that a sync is
// missing; the order of the system calls can. An intent is on the disk before
// the first byte of its create call, for a job's rental and for a person's, and
// what Slack delivers before it is acknowledged.
func TestT14b_OnTheDiskBeforeItIsSent(t *testing.T) {
	r, address := newTrialWithSlack(t, "order")
	trace := r.own("trace")
	r.startTraced(trace)
	r.submit(1)
	r.until(time.Minute, "it runs on a rented machine", func() bool { return r.runs(r.jobs[0]) })
	if out := r.command("rent", "8xa100", "for", "5m", "on-demand", "project", "vision", "--yes"); strings.Contains(out, "exit status") {
		t.Fatalf("a person cannot rent: %s", out)
	}
	var envelope string
	mark := fmt.Sprintf("r-mark%d", time.Now().UnixNano())
	r.until(30*time.Second, "Slack delivers a command", func() bool {
		token, err := os.ReadFile(r.own("state", "slack", "tokens", "control"))
		must(t, err)
		c := slackd.Client{Base: "http://" + address, Token: strings.TrimSpace(string(token))}
		out, err := c.Command(t.Context(), "U0LEA0001", "C0BURST01", "/release "+mark)
		envelope = out.Delivery
		return err == nil && out.Outcome == "acked"
	})
	r.until(30*time.Second, "two machines", func() bool { return r.judge().Machines == 2 })
	r.command("release", "--all", "--now")
	r.over(2)
	r.signal(15)
	_ = r.daemon.Wait() // what it wrote is judged
	r.until(10*time.Second, "the tracer has written it all", func() bool {
		b, err := os.ReadFile(trace)
		return err == nil && bytes.HasSuffix(b, []byte(" +++\n"))
	})
	calls := readFile(t, trace)

	entries, err := server.ReadLedger(r.Path("cloud", "ledger.jsonl"))
	must(t, err)
	for i := range entries {
		if e := &entries[i]; e.Kind == wire.EntryStart && e.Tags[bridge.TagCluster] == r.name {
			if err := durable(calls, e.Token, create(e.Token)); err != nil {
				t.Errorf("intent of %s: %v", e.Tags[bridge.TagRental], err)
			}
		}
	}
	if err := durable(calls, mark, ack(envelope)); err != nil {
		t.Errorf("what Slack delivered: %v", err)
	}
}

// newTrialWithSlack prepares a daemon with a local Slack at an address.
func newTrialWithSlack(t *testing.T, name string) (r *trial, address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address = l.Addr().String()
	must(t, l.Close())
	return newTrial(t, name, "enrol:", "slack: {local: "+address+", channel: C0BURST01, users: {T0HPC0001/U0LEA0001: root}}\nenrol:"), address
}

// startTraced starts the daemon with all that it reads, writes, syncs and sends
// written down. The tracer is a grandchild, so that the daemon stays our child.
func (r *trial) startTraced(file string) {
	r.t.Helper()
	var err error
	r.daemon, err = r.Run(r.log("daemon"), "strace", "-D", "-f", "--seccomp-bpf", "-yy", "-ttt", "-s", "4500", "-e", "signal=none",
		"-e", "trace=fdatasync,fsync,pwrite64,write,sendto", "-o", file, r.Exe, "run", "--config", r.config("daemon"))
	must(r.t, err)
	must(r.t, r.Until(r.t.Context(), "the traced daemon answers", r.daemon, func() bool { _, err := os.Stat(r.socket("daemon")); return err == nil }))
}

package slurm_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/sandbox"
	"spillway.sh/spillway/slurm"
	"spillway.sh/spillway/slurm/slurmtest"
)

func TestABootScriptThatCouldNotWorkIsNotWritten(t *testing.T) {
	good := bridge.Boot{
		URL: "https://10.0.0.1:7443/v1/enrol", CA: "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n", Ticket: "t",
		Agent: strings.Repeat("0", 64), Arch: "x86_64", Expires: time.Unix(1, 0),
	}
	c := slurm.New(slurm.Options{})
	if _, err := c.UserData(t.Context(), nil, good); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*bridge.Boot){
		"plain http":                     func(b *bridge.Boot) { b.URL = "http://10.0.0.1" },
		"no authority":                   func(b *bridge.Boot) { b.CA = "" },
		"an end of the here":             func(b *bridge.Boot) { b.CA += "\nCA\nrm -rf /\n" },
		"no ticket":                      func(b *bridge.Boot) { b.Ticket = "" },
		"a ticket with a quote":          func(b *bridge.Boot) { b.Ticket = `a"b` },
		"no agent":                       func(b *bridge.Boot) { b.Agent = "" },
		"an agent's sum with more in it": func(b *bridge.Boot) { b.Agent = b.Agent[:60] + "; rm" },
		"no end":                         func(b *bridge.Boot) { b.Expires = time.Time{} },
	} {
		b := good
		spoil(&b)
		if text, err := c.UserData(t.Context(), nil, b); err == nil {
			t.Errorf("%s: %.200s", name, text)
		}
	}
}

// scriptLog is what a machine's boot script and agent wrote.
func scriptLog(m *sandbox.Machine) string {
	text, err := os.ReadFile(m.Path("/var/log/spillway-boot.log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// within polls for a condition of a machine, at most so long.
func within(t *testing.T, d time.Duration, m *sandbox.Machine, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	eventually(ctx, t, what, func() (bool, string) { return ok(), "the machine's log:\n" + scriptLog(m) })
}

// pidOf is the id, inside a machine, of the program of a name; empty: none.
func pidOf(t *testing.T, m *sandbox.Machine, pattern string) string {
	t.Helper()
	out, err := m.Output(t.Context(), sandbox.Command{Args: []string{"sh", "-c", "pgrep -o -f '" + pattern + "' || true"}, Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// TestTheAgentOnARealNode kills what runs on a machine, one after the other, and
// takes its notice, under a job that must not notice.
func TestTheAgentOnARealNode(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		c, r := s.adapter(sandbox.Account{}), rental(1)
		s.block(t)
		job := s.submit(t, sleeper, "--gres=gpu:8", "--mem=1000", "--time=10")
		r.Jobs = []bridge.JobID{job}
		m := s.rent(t, r)[nodesOf(r)[0]]
		node := nodesOf(r)[0]
		within(t, 20*time.Second, m, "a report of health", func() bool { return s.gate.heard(node).Health == bridge.HealthFit })
		if first := s.gate.heard(node); first.Busy || len(first.Checks) < 4 {
			t.Errorf("before the job: %+v", first)
		}
		must(t, c.Admit(t.Context(), r, nodesOf(r)))
		must(t, c.Route(t.Context(), r, job))
		s.wait(t, job, "RUNNING")
		within(t, 20*time.Second, m, "the job to be reported", func() bool { return s.gate.heard(node).Busy })

		slurmd := pidOf(t, m, "^slurmd ")
		s.in(t, m, "kill", "-9", pidOf(t, m, "^[^ ]*spillway node "))
		within(t, 20*time.Second, m, "the agent to be started again", func() bool {
			return strings.Contains(scriptLog(m), "slurmd runs already")
		})
		if again := pidOf(t, m, "^slurmd "); again != slurmd {
			t.Errorf("a new agent started slurmd anew: %s, then %s", slurmd, again)
		}
		s.in(t, m, "kill", "-9", slurmd)
		within(t, 30*time.Second, m, "slurmd to be started again", func() bool {
			again := pidOf(t, m, "^slurmd ")
			return again != "" && again != slurmd
		})

		at := time.Now().Add(2 * time.Minute).UTC().Truncate(time.Second)
		s.gate.metadata[r.Machines[0].ID].Interrupt("terminate", at)
		within(t, 20*time.Second, m, "the notice to be reported", func() bool {
			n := s.gate.heard(node).Notice
			return n != nil && n.At.Equal(at) && n.Source == "spot/instance-action"
		})
		if got := s.wait(t, job, "RUNNING"); got.Fields["Restarts"] != "0" {
			t.Errorf("the job was restarted %s times", got.Fields["Restarts"])
		}
		s.must(t, sandbox.Account{}, "scancel", string(job))
		within(t, 30*time.Second, m, "the job's end to be reported", func() bool { return !s.gate.heard(node).Busy })
		must(t, c.Dismiss(t.Context(), r, nodesOf(r)))
		s.gate.mu.Lock()
		s.gate.leases["lease-"+node] = "" // The rental has ended.
		s.gate.mu.Unlock()
		within(t, 20*time.Second, m, "the machine to be off", func() bool { return !m.Alive() })
	})
}

// in runs a program in a machine.
func (s *site) in(t *testing.T, m *sandbox.Machine, args ...string) {
	t.Helper()
	if _, err := m.Output(t.Context(), sandbox.Command{Args: args, Dir: "/"}); err != nil {
		t.Fatal(err)
	}
}

// one is a machine of a rental of its own that boots with a changed script.
func (s *site) one(t *testing.T, boot func(*bridge.Boot), change ...func(*sandbox.Spec)) (*bridge.Rental, *sandbox.Machine) {
	t.Helper()
	r := rental(1)
	s.grant(t, r, &r.Machines[0])
	return r, s.boot(t, r.Machines[0].ID, s.userData(t, r, boot), change...)
}

// spoilt is a machine that is told something wrong when it enrols.
func (s *site) spoilt(t *testing.T, field, value string) (string, *sandbox.Machine) {
	t.Helper()
	r := rental(1)
	s.grant(t, r, &r.Machines[0])
	s.gate.mu.Lock()
	s.gate.answers[r.Machines[0].ID][field] = value
	s.gate.mu.Unlock()
	return nodesOf(r)[0], s.boot(t, r.Machines[0].ID, s.userData(t, r))
}

// failedStage is what a report says of a stage that failed.
func failedStage(r bridge.Report, name string) (string, bool) {
	i := slices.IndexFunc(r.Stages, func(s bridge.Stage) bool { return s.Name == name && !s.OK })
	if i < 0 {
		return "", false
	}
	return r.Stages[i].Text, true
}

// joinsAndLeaves waits until a fit machine is a node, and deletes the node.
func (s *site) joinsAndLeaves(t *testing.T, r *bridge.Rental) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	if _, err := s.WaitNode(ctx, nodesOf(r)[0], "IDLE", "DYNAMIC_NORM"); err != nil {
		t.Fatal(err)
	}
	must(t, s.adapter(sandbox.Account{}).Dismiss(ctx, r, nodesOf(r)))
}

func asItIs(*bridge.Boot) {}

func TestBootFaults(t *testing.T) {
	s := siteOf(t, slurmtest.Versions()[0])
	t.Cleanup(func() { s.noNodeIsLeft(t) })
	faults := func() string { s.gate.mu.Lock(); defer s.gate.mu.Unlock(); return strings.Join(s.gate.faults, "\n") }
	t.Run("S_F47 fewer GPUs than paid for", func(t *testing.T) {
		r, m := s.one(t, asItIs, func(spec *sandbox.Spec) { spec.GPUs = 3 })
		node := nodesOf(r)[0]
		within(t, 30*time.Second, m, "the gate to refuse", func() bool { return s.gate.heard(node).Health == bridge.HealthUnfit })
		if c := s.gate.heard(node).Checks[0]; c.Name != "gpus" || c.Got != "3, by their device nodes" {
			t.Errorf("%+v", c)
		}
		if pid := pidOf(t, m, "^slurmd "); pid != "" {
			t.Error("slurmd was started on a machine that is not fit")
		}
	})
	t.Run("S_F38 another cluster's key", func(t *testing.T) {
		node, m := s.spoilt(t, "munge_key", "bm90IHRoZSBjbHVzdGVyJ3Mga2V5LCBub3QgYXQgYWxsLCBub3QgZXZlbiBuZWFyIGl0Cg==")
		within(t, time.Minute, m, "slurmd's own words", func() bool {
			text, failed := failedStage(s.gate.heard(node), "slurmd")
			return failed && strings.Contains(text, "slurmd ended with exit status 1: ")
		})
	})
	t.Run("S_F41 no way to the controller yet", func(t *testing.T) {
		node, m := s.spoilt(t, "controllers", s.Network().Gateway.String()+":9")
		within(t, time.Minute, m, "the reason", func() bool {
			text, failed := failedStage(s.gate.heard(node), "prepare")
			return failed && strings.Contains(text, "reach the cluster: dial tcp "+s.Network().Gateway.String()+":9")
		})
		if pid := pidOf(t, m, "^slurmd "); pid != "" || s.gate.heard(node).Health != bridge.HealthChecking {
			t.Errorf("%s with slurmd %q; want neither until the controller answers", s.gate.heard(node).Health, pid)
		}
	})
	t.Run("a machine of another kind", func(t *testing.T) {
		_, m := s.one(t, func(b *bridge.Boot) { b.Arch = "vax" })
		within(t, 30*time.Second, m, "the fault to be told", func() bool {
			return strings.Contains(faults(), "the agent is for vax, this machine is "+machineArch(t))
		})
	})
	t.Run("an agent that does not run here", func(t *testing.T) {
		broken := "#!/no/such/libc\n"
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(broken)))
		s.gate.mu.Lock()
		s.gate.others = map[string]string{sum: broken}
		s.gate.mu.Unlock()
		_, m := s.one(t, func(b *bridge.Boot) { b.Agent = sum })
		within(t, 30*time.Second, m, "the fault to be told", func() bool { return strings.Contains(faults(), "the agent cannot run here: ") })
	})
	t.Run("an agent that is not the pinned one", func(t *testing.T) {
		sum := strings.Repeat("a", 64)
		s.gate.mu.Lock()
		s.gate.others = map[string]string{sum: "#!/bin/sh\ntouch /root/owned\n"}
		s.gate.mu.Unlock()
		_, m := s.one(t, func(b *bridge.Boot) { b.Agent = sum })
		within(t, 30*time.Second, m, "it to be refused", func() bool { return strings.Contains(scriptLog(m), "what came is not the agent") })
		if _, err := os.Stat(m.Path("/root/owned")); err == nil {
			t.Error("a program that is not the agent was run")
		}
	})
	t.Run("an image that brings the agent", func(t *testing.T) {
		before := s.gate.handed()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		r, m := s.one(t, asItIs, func(spec *sandbox.Spec) {
			spec.Binds = append(spec.Binds, sandbox.Bind{From: self, To: "/usr/local/bin/spillway", ReadOnly: true})
		})
		within(t, 30*time.Second, m, "it to be fit", func() bool { return s.gate.heard(nodesOf(r)[0]).Health == bridge.HealthFit })
		if s.gate.handed() != before {
			t.Error("it was fetched all the same")
		}
		s.joinsAndLeaves(t, r)
	})
	t.Run("an agent that hangs does not keep the machine", func(t *testing.T) {
		r, m := s.one(t, asItIs)
		s.joinsAndLeaves(t, r)
		s.in(t, m, "pkill", "-STOP", "-f", "^[^ ]*spillway node ")
		s.in(t, m, "sh", "-c", "echo 1 >/var/lib/spillway/enrol/end")
		within(t, 30*time.Second, m, "the machine to be off", func() bool { return !m.Alive() })
	})
}

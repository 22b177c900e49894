package demo

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/policies"
)

func TestRecordOfAJob(t *testing.T) {
	tests := map[string]struct {
		log         string
		wantResumed bool
		wantLost    time.Duration
		wantLast    int
		wantDone    bool
	}{
		"straight through":            {log: "1000000 start 0 0\n1500000 step 1\n2000000 step 2\n2100000 done 2\n", wantLast: 2, wantDone: true},
		"goes on from its checkpoint": {log: "1000000 start 0 0\n1 step 1\n1 step 2\n1 save 2\n9 start 1 2\n9 step 3\n9 done 3\n", wantResumed: true, wantLast: 3, wantDone: true},
		"loses what was not saved":    {log: "1 start 0 0\n1 step 1\n1 save 1\n1 step 2\n1 step 3\n9 start 1 1\n9 step 2\n", wantResumed: true, wantLost: 2 * stepLength, wantLast: 2},
		"starts from zero":            {log: "1 start 0 0\n1 step 1\n1 step 2\n9 start 1 0\n9 step 1\n", wantLost: 2 * stepLength, wantLast: 1},
		"not started":                 {log: ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "j.log"), []byte(tt.log), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := readRecord(dir, "j")
			if err != nil {
				t.Fatal(err)
			}
			got := []any{r.resumed(), r.Lost, r.LastStep, r.Done}
			if diff := cmp.Diff([]any{tt.wantResumed, tt.wantLost, tt.wantLast, tt.wantDone}, got); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecordRefusesGarbage(t *testing.T) {
	dir := t.TempDir()
	for _, log := range []string{"start\n", "soon start 0 0\n"} {
		if err := os.WriteFile(filepath.Join(dir, "j.log"), []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readRecord(dir, "j"); err == nil {
			t.Errorf("log %q was read", log)
		}
	}
}

// Each figure of the summary that may go wrong is named when it does.
func TestSummaryNamesEveryFault(t *testing.T) {
	usd := func(micro int64) bridge.Money { return bridge.Money{Micro: micro, Currency: "USD"} }
	good := Summary{JobsTotal: 8, JobsCompleted: 8, MachinesRented: 8, Reclaims: 1, Resumed: 1, Approvals: 1, CostMicro: 7, Currency: "USD", LedgerBalanced: true, billed: usd(7)}
	if f := good.faults(); len(f) > 0 {
		t.Fatalf("a good end has faults: %v", f)
	}
	for name, spoil := range map[string]func(*Summary){
		"a job is missing":     func(s *Summary) { s.JobsCompleted = 7 },
		"a machine is left":    func(s *Summary) { s.MachinesLeft = 1 },
		"nothing was rented":   func(s *Summary) { s.MachinesRented = 0 },
		"nothing was taken":    func(s *Summary) { s.Reclaims = 0 },
		"nothing resumed":      func(s *Summary) { s.Resumed = 0 },
		"nobody was asked":     func(s *Summary) { s.Approvals = 0 },
		"money is still held":  func(s *Summary) { s.HeldMicro = 1 },
		"books do not balance": func(s *Summary) { s.LedgerBalanced = false },
		"the bill differs":     func(s *Summary) { s.billed = usd(8) },
	} {
		s := good
		spoil(&s)
		if f := s.faults(); len(f) != 1 {
			t.Errorf("%s: faults are %v, want one", name, f)
		}
	}
}

// What the figures take for granted is what the demo's own files say.
func TestFilesOfTheDemo(t *testing.T) {
	text, err := files.ReadFile("policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f, err := policies.Parse("policy.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	d := bridge.Demand{Job: "1", Name: "train-1", User: "alice", Nodes: 1, Count: 1, Restartable: true, Shape: bridge.Shape{GPUs: 8}}
	terms := f.Policy().Terms(&d, &bridge.Facts{})
	if terms.Wait != allowedAfter || !terms.Burst || terms.Signal != "USR1" {
		t.Errorf("terms of a trainer: wait %s, burst %t, signal %q", terms.Wait, terms.Burst, terms.Signal)
	}
	world, err := files.ReadFile("world.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.ParseWorld(world); err != nil {
		t.Error(err)
	}
}

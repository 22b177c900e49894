package policies

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict/stricttest"
)

// TestTerms reads archives of a policy (or the name of a shipped one in the
// comment), facts of a cluster and jobs, and compares the terms of each job.
func TestTerms(t *testing.T) {
	files, err := filepath.Glob("testdata/terms/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives (%v)", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			policy := policyOf(t, archive).Policy()
			var f bridge.Facts
			if err := json.Unmarshal(stricttest.Section(t, archive, "facts.json"), &f); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			for line := range strings.Lines(string(stricttest.Section(t, archive, "jobs.json"))) {
				d := bridge.Demand{Cluster: f.Cluster, Nodes: 1, Count: 1}
				if err := json.Unmarshal([]byte(line), &d); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				fmt.Fprintf(&out, "%s: %s\n", d.Job, describe(policy.Terms(&d, &f)))
			}
			stricttest.Compare(t, path, archive, "want", out.String())
		})
	}
}

// policyOf reads the archive's own policy, or the shipped one it names.
func policyOf(t *testing.T, archive *txtar.Archive) *File {
	t.Helper()
	name := strings.TrimSpace(string(archive.Comment))
	data := []byte(nil)
	if name == "" {
		name, data = "policy.yaml", stricttest.Section(t, archive, "policy.yaml")
	} else {
		var err error
		if data, err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	file, err := Parse(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// describe prints terms on one line; what is not set is left out.
func describe(t *bridge.Terms) string {
	var b strings.Builder
	fmt.Fprintf(&b, "burst=%t", t.Burst)
	add := func(name string, set bool, v any) {
		if set {
			fmt.Fprintf(&b, " %s=%v", name, v)
		}
	}
	add("why", t.Why != "", t.Why)
	add("rule", t.Rule != "", t.Rule)
	add("class", t.Class != "", t.Class)
	add("account", t.Account != "", t.Account)
	if !t.Burst {
		add("comment", t.Comment, true)
		return b.String()
	}
	add("wait", true, t.Wait)
	add("markets", true, t.Markets)
	add("clouds", len(t.Clouds) > 0, t.Clouds)
	add("regions", len(t.Regions) > 0, t.Regions)
	add("attributes", len(t.Attributes) > 0, t.Attributes)
	add("network", t.Network != "", t.Network)
	add("data_gib", t.DataGiB > 0, t.DataGiB)
	add("checkpoint_gib", t.CheckpointGiB > 0, t.CheckpointGiB)
	add("max_rate", t.MaxRate.Micro > 0, bridge.Money(t.MaxRate).String()+"/h")
	add("max_cost", !t.MaxCost.IsZero(), t.MaxCost)
	add("most", true, t.Most)
	add("least", true, t.Least)
	add("idle", true, t.Idle)
	add("life", true, t.Life)
	add("reclaims", t.Reclaims > 0, t.Reclaims)
	add("ask", t.Ask, true)
	add("ask_above", !t.AskAbove.IsZero(), t.AskAbove)
	add("ask_for", t.Ask || !t.AskAbove.IsZero(), t.AskFor)
	add("share", t.Share, true)
	add("signal", t.Signal != "", fmt.Sprintf("%s/%s/%s", t.Signal, t.SignalTo, t.SignalWindow))
	add("comment", t.Comment, true)
	if c := t.Checkpoint; c != nil {
		add("checkpoint", true, c.Path)
		add("named", c.Name != c.Path, c.Name)
		add("framework", c.Framework != "", c.Framework)
		add("roots", len(c.Roots) > 0, c.Roots)
		add("max_age", c.MaxAge > 0, c.MaxAge)
		add("required", c.Required, true)
		add("atomic", c.Atomic, true)
	}
	add("progress", t.Progress, true)
	add("work", t.Work > 0, t.Work)
	return b.String()
}

// TestShipped holds that the shipped files load and say what their comments do.
func TestShipped(t *testing.T) {
	def, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	if def.Mode() != Observe || len(def.Budgets()) != 0 {
		t.Errorf("the default may buy: mode %s, %d budgets", def.Mode(), len(def.Budgets()))
	}
	examples, err := filepath.Glob("examples/*.yaml")
	if err != nil || len(examples) < 3 {
		t.Fatalf("want three examples, have %v (%v)", examples, err)
	}
	for _, path := range examples {
		f, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if f.Mode() != Burst || len(f.Budgets()) == 0 {
			t.Errorf("%s shows no bursting inside a budget", path)
		}
	}
}

func TestApprovers(t *testing.T) {
	f, err := Load("examples/university.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		spent bridge.Scope
		want  []string
	}{
		"of a department and of the whole": {bridge.Scope{Account: "uni/computer-science/cs-vision/ana"}, []string{"@deans", "carol", "@cs-heads"}},
		"of the whole alone":               {bridge.Scope{Account: "uni/guests/group-1"}, []string{"@deans"}},
		"of another organisation":          {bridge.Scope{Account: "bali/guests"}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, f.Approvers(c.spent)); diff != "" {
				t.Errorf("approvers (-want +got):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(Roles{Admins: []string{"root", "@hpc-staff"}}, f.Roles()); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
}

func TestBudgetsAndClouds(t *testing.T) {
	f, err := Load("examples/company-gpu.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range f.Budgets() {
		got = append(got, fmt.Sprintf("%s %s %s hard=%t %s", b.Account, b.Every, b.Limit, b.Hard, b.Zone))
	}
	want := []string{
		"acme month 60000.00 USD hard=true UTC",
		"acme/models month 40000.00 USD hard=false UTC",
		"acme/research month 15000.00 USD hard=false UTC",
		"acme/research/interns day 50.00 USD hard=true UTC",
		"acme/research/interns/intern-ana day 20.00 USD hard=true UTC",
	}
	if diff := cmp.Diff([]string{"east", "north"}, f.Clouds()); diff != "" {
		t.Errorf("clouds (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("budgets (-want +got):\n%s", diff)
	}
}

// TestMissingFile names the file and keeps the cause.
func TestMissingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	_, err := Load(path)
	if err == nil || !strings.Contains(err.Error(), path) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("want the path and that it does not exist, have %v", err)
	}
}

// TestObjectStorageIsAskedFor holds that a path in a bucket is a fault, at its
// own place, where no access to object storage is configured.
func TestObjectStorageIsAskedFor(t *testing.T) {
	for path, want := range map[string]string{
		"/scratch/%u":   "",
		"s3://ckpt/%u/": "policy.yaml:10:24: rules[0].checkpoint.path: \"s3://ckpt/%u/\": is in object storage, and the configuration has no storage section; for example: storage: {access_key_file: s3.key}",
	} {
		f, err := Parse("policy.yaml", []byte(`version: 1
organisation: lab
currency: USD
mode: observe
accounts:
  - {account: "*", to: all/all}
rules:
  - name: everyone
    class: P2
    checkpoint: {path: "`+path+`"}
`))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := f.NeedsStorage(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: have %q, want %q", path, got, want)
		}
	}
}

package policies

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"pgregory.net/rapid"

	"spillway.sh/spillway/bridge"
)

// whens are conditions of every make: of one fact, of several, of the cluster,
// of both, negated, nested, failing.
var whens = []string{
	`job.user == "ana"`,
	`job.gpus > 0 && job.restartable`,
	`job.qos == "long" || job.gpus > 2`,
	`!(job.nodes > 1) && cluster.utilisation > 0.8`,
	`cluster.oldest_wait > duration("15m") && cluster.pending > 10`,
	`job.nodes * 10 > cluster.pending`,
	`job.cpus > job.gpus * 8 && job.memory < 4096`,
	`100 / job.gpus > 30`,
	`job.user == "bo" || 100 / job.gpus > 30`,
	`10 / cluster.pending > 1 && job.qos != "long"`,
	`job.time_limit <= duration("1h") && !(job.restarts >= 2 || job.gpu_type == "a100")`,
	`job.account in ["hep", "cs"] && job.partition.contains("gpu")`,
	`[1, 2].exists(n, n == job.nodes) ? job.name.startsWith("t") : job.comment == ""`,
	`cluster.pending > 5 || job.cluster == "b"`,
	`true && job.user != ""`,
}

func policyWith(t interface{ Fatal(...any) }, conditions []string) *File {
	var b strings.Builder
	b.WriteString("version: 1\norganisation: lab\ncurrency: USD\nmode: burst\nzone: UTC\n" +
		"accounts: [{account: \"*\", to: \"t/{account}\"}]\nbudgets: [{account: lab, every: day, limit: 9 USD}]\n" +
		"opt_out: {qos: [debug], partitions: [login], users: [root], accounts: [\"x*\"]}\nrules:\n")
	for i, c := range conditions {
		fmt.Fprintf(&b, "  - {name: r%d, class: P2, when: '%s'}\n", i, c)
	}
	f, err := Parse("generated.yaml", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// judgeSlowly is the meaning of a file told without cutting, columns or
// memory: the conditions in their order, each evaluated whole.
func judgeSlowly(_ *rapid.T, whole []cel.Program, d *bridge.Demand, f *bridge.Facts) (rule string, why bridge.Reason) {
	if d.QOS == "debug" || d.User == "root" || strings.HasPrefix(d.Account, "x") || strings.Contains(","+d.Partition+",", ",login,") || strings.Contains(d.Comment, wordStay) {
		return optOutRule, bridge.ReasonOptOut
	}
	limit := d.TimeLimit
	if limit == 0 {
		limit = unlimited
	}
	vars := map[string]any{
		"job.user": d.User, "job.account": d.Account, "job.partition": d.Partition, "job.qos": d.QOS, "job.name": d.Name,
		"job.comment": d.Comment, "job.cluster": d.Cluster, "job.gpu_type": d.Shape.GPUType, "job.gpus": d.Shape.GPUs,
		"job.nodes": d.Nodes, "job.cpus": d.Shape.CPUs, "job.memory": d.Shape.MemoryMiB, "job.time_limit": limit,
		"job.restartable": d.Restartable, "job.restarts": d.Restarts, "cluster.pending": f.Pending,
		"cluster.oldest_wait": f.OldestWait, "cluster.utilisation": float64(f.UtilisationPM) / 1000,
	}
	for i, p := range whole {
		switch v, _, err := p.Eval(vars); {
		case err != nil:
			return fmt.Sprintf("r%d", i), bridge.ReasonRuleFailed
		case v == types.True && d.Account == "":
			return fmt.Sprintf("r%d", i), bridge.ReasonNoAccount
		case v == types.True:
			return fmt.Sprintf("r%d", i), ""
		}
	}
	return "", bridge.ReasonNoRule
}

func drawDemand(t *rapid.T) *bridge.Demand {
	of := func(label string, words ...string) string { return rapid.SampledFrom(words).Draw(t, label) }
	return &bridge.Demand{
		Cluster: of("cluster", "a", "b"), User: of("user", "ana", "bo", "root", ""), Account: of("account", "hep", "cs", "xray", ""),
		Partition: of("partition", "gpu", "cpu", "gpu,login", "long"), QOS: of("qos", "long", "debug", ""), Name: of("name", "train", "x"),
		Comment: of("comment", "", "spillway:checkpoint", "a,spillway:no"),
		Shape: bridge.Shape{
			CPUs: rapid.IntRange(0, 20).Draw(t, "cpus"), GPUs: rapid.IntRange(0, 4).Draw(t, "gpus"),
			MemoryMiB: int64(rapid.IntRange(0, 2).Draw(t, "memory") * 4000), GPUType: of("gpu_type", "", "a100"),
		},
		Nodes: rapid.IntRange(1, 3).Draw(t, "nodes"), Restarts: rapid.IntRange(0, 3).Draw(t, "restarts"),
		TimeLimit: time.Duration(rapid.IntRange(0, 2).Draw(t, "limit")) * time.Hour, Restartable: rapid.Bool().Draw(t, "restartable"),
	}
}

func drawFacts(t *rapid.T) *bridge.Facts {
	return &bridge.Facts{
		Cluster: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "facts of"), Pending: rapid.IntRange(0, 25).Draw(t, "pending"),
		OldestWait: time.Duration(rapid.IntRange(0, 30).Draw(t, "oldest")) * time.Minute, UtilisationPM: rapid.IntRange(0, 1000).Draw(t, "utilisation"),
	}
}

// TestTermsAreTheFilesMeaning holds the fast judge against the slow one over
// any conditions, jobs and figures, each asked twice in a changing world.
func TestTermsAreTheFilesMeaning(t *testing.T) {
	env := newCompiler().env
	rapid.Check(t, func(t *rapid.T) {
		conditions := rapid.SliceOfNDistinct(rapid.SampledFrom(whens), 1, 5, rapid.ID[string]).Draw(t, "conditions")
		var whole []cel.Program
		for _, c := range conditions {
			checked, issues := env.Compile(c)
			if issues.Err() != nil {
				t.Fatal(issues.Err())
			}
			p, err := env.Program(checked)
			if err != nil {
				t.Fatal(err)
			}
			whole = append(whole, p)
		}
		policy := policyWith(t, conditions).Policy()
		for range 30 {
			d, f := drawDemand(t), drawFacts(t)
			rule, why := judgeSlowly(t, whole, d, f)
			first, again := policy.Terms(d, f), policy.Terms(d, f)
			if first != again {
				t.Fatal("asked twice, two pointers")
			}
			if first.Rule != rule || first.Why != why || first.Burst != (why == "") {
				t.Fatalf("job %+v, figures %+v: have rule %q why %q, want %q %q", d, f, first.Rule, first.Why, rule, why)
			}
		}
	})
}

// TestSameTerms holds that figures called the same give the same pointers.
func TestSameTerms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		conditions := rapid.SliceOfNDistinct(rapid.SampledFrom(whens), 1, 4, rapid.ID[string]).Draw(t, "conditions")
		policy := policyWith(t, conditions).Policy().(bridge.SteadyPolicy)
		a, b := drawFacts(t), drawFacts(t)
		b.Cluster = a.Cluster
		if !policy.SameTerms(a, b) {
			return
		}
		for range 20 {
			d := drawDemand(t)
			if x, y := policy.Terms(d, a), policy.Terms(d, b); x != y {
				t.Fatalf("job %+v: %+v under %+v, %+v under %+v", d, x, a, y, b)
			}
		}
	})
}

// TestSteady holds that a second more of waiting is no difference to a shipped
// example, so that the bridge need not judge its whole queue again.
func TestSteady(t *testing.T) {
	f, err := Load("examples/university.yaml")
	if err != nil {
		t.Fatal(err)
	}
	policy := f.Policy().(bridge.SteadyPolicy)
	at := func(wait time.Duration) *bridge.Facts {
		return &bridge.Facts{Cluster: "main", Pending: 100, OldestWait: wait, UtilisationPM: 950}
	}
	if !policy.SameTerms(at(time.Hour), at(time.Hour+time.Second)) {
		t.Error("a second made a difference")
	}
	if policy.SameTerms(at(time.Minute), at(time.Hour)) {
		t.Error("an hour made none")
	}
}

// TestSharedPointers holds that jobs the file cannot tell apart share terms,
// and that clusters and goroutines do not disturb each other.
func TestSharedPointers(t *testing.T) {
	f, err := Load("examples/university.yaml")
	if err != nil {
		t.Fatal(err)
	}
	policy := f.Policy()
	demands := manyDemands(2000)
	want := make([]map[string]*bridge.Terms, len(demands))
	figures := map[string]*bridge.Facts{"quiet": {Cluster: "quiet"}, "full": {Cluster: "full", Pending: 9999, OldestWait: 9 * time.Hour, UtilisationPM: 999}}
	distinct := map[*bridge.Terms]bool{}
	for i := range demands {
		want[i] = map[string]*bridge.Terms{}
		for name, c := range figures {
			want[i][name] = policy.Terms(&demands[i], c)
			distinct[want[i][name]] = true
		}
	}
	if most := 40 * (len(f.rules) + 1) * 2; len(distinct) > most {
		t.Errorf("%d different terms for 40 accounts, want at most %d", len(distinct), most)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range demands {
				for name, c := range figures {
					if got := policy.Terms(&demands[i], c); got != want[i][name] {
						t.Errorf("job %d on %s: other terms than before", i, name)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestMemoryIsBounded asks about more names than are remembered.
func TestMemoryIsBounded(t *testing.T) {
	e := policyWith(t, []string{`job.name.startsWith("t")`, `job.name + job.user == "x"`}).Policy().(*engine)
	e.most = 100
	d := bridge.Demand{Cluster: "a", Nodes: 1, Count: 1}
	for i := range 10 * e.most {
		d.Name, d.Account = fmt.Sprintf("t%d", i), fmt.Sprintf("a%d", i)
		if got := e.Terms(&d, nil); got.Rule != "r0" {
			t.Fatalf("job %s: rule %q", d.Name, got.Rule)
		}
	}
	for name, n := range map[string]int{"values": len(e.columns[0].texts), "tuples": len(e.several), "payers": len(e.payers), "terms": len(e.shared)} {
		if n > e.most {
			t.Errorf("%d %s are remembered", n, name)
		}
	}
}

// TestCostLimit holds that a condition cannot be made to run long by a job.
func TestCostLimit(t *testing.T) {
	policy := policyWith(t, []string{`job.comment.matches("(a+)+b") && job.comment.matches("(a*)*c")`, `true`}).Policy()
	d := &bridge.Demand{Account: "hep", Comment: strings.Repeat("a", 1<<20)}
	if got := policy.Terms(d, nil); got.Burst || got.Why != bridge.ReasonRuleFailed {
		t.Errorf("a comment of a megabyte: burst %t, why %s", got.Burst, got.Why)
	}
}

// TestManyConditions fills all groups of leaves, and then one more.
func TestManyConditions(t *testing.T) {
	conditions := make([]string, maxLeaves)
	for i := range conditions {
		conditions[i] = fmt.Sprintf("job.nodes == %d", i+1)
	}
	policy := policyWith(t, conditions).Policy()
	for _, nodes := range []int{1, 64, 65, maxLeaves} {
		d := &bridge.Demand{Account: "hep", Nodes: nodes}
		if got, want := policy.Terms(d, nil).Rule, fmt.Sprintf("r%d", nodes-1); got != want {
			t.Errorf("%d nodes: rule %s, want %s", nodes, got, want)
		}
	}
	var refused refusal
	policyWith(&refused, append(conditions, "job.nodes == 0"))
	if !strings.Contains(string(refused), "more than 256 different conditions") {
		t.Errorf("one condition too many: %q", refused)
	}
}

// refusal takes the place of a test that is meant to fail.
type refusal string

func (r *refusal) Fatal(args ...any) { *r = refusal(fmt.Sprint(args...)) }

package policies

import (
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"spillway.sh/spillway/bridge"
)

// unlimited is job.time_limit of a job that has none, so that a condition such
// as job.time_limit <= duration("2h") never takes an endless job for a short one.
const unlimited = 100 * 365 * 24 * time.Hour

// fact is one name that conditions know. A job's fact is text or a number; a
// flag is 0 or 1, a duration nanoseconds.
type fact struct {
	name   string
	kind   *cel.Type
	text   func(*bridge.Demand) string
	number func(*bridge.Demand) int64
	figure func(*bridge.Facts) int64 // of the cluster; a share is in thousandths
}

// facts are in the order they are told to people; texts come first.
var facts = [...]fact{
	{name: "job.user", kind: cel.StringType, text: func(d *bridge.Demand) string { return d.User }},
	{name: "job.account", kind: cel.StringType, text: func(d *bridge.Demand) string { return d.Account }},
	{name: "job.partition", kind: cel.StringType, text: func(d *bridge.Demand) string { return d.Partition }},
	{name: "job.qos", kind: cel.StringType, text: func(d *bridge.Demand) string { return d.QOS }},
	{name: "job.name", kind: cel.StringType, text: func(d *bridge.Demand) string { return d.Name }},
	{name: "job.comment", kind: cel.StringType, text: func(d *bridge.Demand) string { return d.Comment }},
	{name: "job.cluster", kind: cel.StringType, text: func(d *bridge.Demand) string { return d.Cluster }},
	{name: "job.gpu_type", kind: cel.StringType, text: func(d *bridge.Demand) string { return d.Shape.GPUType }},
	{name: "job.gpus", kind: cel.IntType, number: func(d *bridge.Demand) int64 { return int64(d.Shape.GPUs) }},
	{name: "job.nodes", kind: cel.IntType, number: func(d *bridge.Demand) int64 { return int64(d.Nodes) }},
	{name: "job.cpus", kind: cel.IntType, number: func(d *bridge.Demand) int64 { return int64(d.Shape.CPUs) }},
	{name: "job.memory", kind: cel.IntType, number: func(d *bridge.Demand) int64 { return d.Shape.MemoryMiB }},
	{name: "job.time_limit", kind: cel.DurationType, number: limitOf},
	{name: "job.restartable", kind: cel.BoolType, number: func(d *bridge.Demand) int64 { return asNumber(d.Restartable) }},
	{name: "job.restarts", kind: cel.IntType, number: func(d *bridge.Demand) int64 { return int64(d.Restarts) }},
	{name: "cluster.pending", kind: cel.IntType, figure: func(f *bridge.Facts) int64 { return int64(f.Pending) }},
	{name: "cluster.oldest_wait", kind: cel.DurationType, figure: func(f *bridge.Facts) int64 { return int64(f.OldestWait) }},
	{name: "cluster.utilisation", kind: cel.DoubleType, figure: func(f *bridge.Facts) int64 { return int64(f.UtilisationPM) }},
}

// The first facts are texts, the next numbers of the job.
const (
	texts   = 8
	numbers = 7
)

// The facts that lists of the file look at without a condition.
const (
	factUser = iota
	factAccount
	factPartition
	factQOS
	factName
	factComment
	factCluster
)

func limitOf(d *bridge.Demand) int64 {
	if d.TimeLimit <= 0 {
		return int64(unlimited)
	}
	return int64(d.TimeLimit)
}

func asNumber(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// uses is the set of facts an expression looks at, by index.
type uses uint32

// jobFacts is the set of a job's own facts.
const jobFacts uses = 1<<(texts+numbers) - 1

var factByName = func() map[string]int {
	m := make(map[string]int, len(facts))
	for i := range facts {
		m[facts[i].name] = i
	}
	return m
}()

// useOf is the set of one fact, or of none: expressions have variables of
// their own too.
func useOf(name string) uses {
	if i, ok := factByName[name]; ok {
		return 1 << i
	}
	return 0
}

func factsOf(of string) []string {
	var out []string
	for _, f := range facts {
		if name, ok := strings.CutPrefix(f.name, of+"."); ok {
			out = append(out, name)
		}
	}
	return out
}

// activation shows one demand and its cluster's figures to CEL.
type activation struct {
	d *bridge.Demand
	f *bridge.Facts
}

// ResolveName returns the value of a fact.
func (a *activation) ResolveName(name string) (any, bool) {
	i, ok := factByName[name]
	if !ok {
		return nil, false
	}
	return facts[i].value(a.d, a.f), true
}

// Parent is nil: there is no outer scope.
func (a *activation) Parent() cel.Activation { return nil }

func (f *fact) value(d *bridge.Demand, c *bridge.Facts) ref.Val {
	var n int64
	switch {
	case f.text != nil:
		return types.String(f.text(d))
	case f.figure != nil:
		n = f.figure(c)
	default:
		n = f.number(d)
	}
	switch f.kind {
	case cel.BoolType:
		return types.Bool(n == 1)
	case cel.DurationType:
		return types.Duration{Duration: time.Duration(n)}
	case cel.DoubleType:
		return types.Double(float64(n) / 1000)
	}
	return types.Int(n)
}

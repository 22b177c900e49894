package policies

import (
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"spillway.sh/spillway/bridge"
)

// unlimited is job.time_limit of a job that has none, so that a condition such
// as job.time_limit <= duration("2h") never takes an endless job for a short one.
const unlimited = 100 * 365 * 24 * time.Hour

// uses is the set of facts an expression looks at.
type uses uint32

// fact is one name that conditions know.
type fact struct {
	name string
	kind *cel.Type
	bit  uses
	of   func(*bridge.Demand, *bridge.Facts) any
}

// The facts, in the order they are told to people.
const (
	useUser uses = 1 << iota
	useAccount
	usePartition
	useQOS
	useName
	useComment
	useCluster
	useNodes
	useCPUs
	useMemory
	useGPUs
	useGPUType
	useLimit
	useRestartable
	useRestarts
	usePending
	useOldest
	useUtilisation

	clusterFacts = usePending | useOldest | useUtilisation
)

var facts = []fact{
	{"job.user", cel.StringType, useUser, func(d *bridge.Demand, _ *bridge.Facts) any { return d.User }},
	{"job.account", cel.StringType, useAccount, func(d *bridge.Demand, _ *bridge.Facts) any { return d.Account }},
	{"job.partition", cel.StringType, usePartition, func(d *bridge.Demand, _ *bridge.Facts) any { return d.Partition }},
	{"job.qos", cel.StringType, useQOS, func(d *bridge.Demand, _ *bridge.Facts) any { return d.QOS }},
	{"job.name", cel.StringType, useName, func(d *bridge.Demand, _ *bridge.Facts) any { return d.Name }},
	{"job.comment", cel.StringType, useComment, func(d *bridge.Demand, _ *bridge.Facts) any { return d.Comment }},
	{"job.cluster", cel.StringType, useCluster, func(d *bridge.Demand, _ *bridge.Facts) any { return d.Cluster }},
	{"job.nodes", cel.IntType, useNodes, func(d *bridge.Demand, _ *bridge.Facts) any { return d.Nodes }},
	{"job.cpus", cel.IntType, useCPUs, func(d *bridge.Demand, _ *bridge.Facts) any { return d.Shape.CPUs }},
	{"job.memory", cel.IntType, useMemory, func(d *bridge.Demand, _ *bridge.Facts) any { return d.Shape.MemoryMiB }},
	{"job.gpus", cel.IntType, useGPUs, func(d *bridge.Demand, _ *bridge.Facts) any { return d.Shape.GPUs }},
	{"job.gpu_type", cel.StringType, useGPUType, func(d *bridge.Demand, _ *bridge.Facts) any { return d.Shape.GPUType }},
	{"job.time_limit", cel.DurationType, useLimit, func(d *bridge.Demand, _ *bridge.Facts) any { return limit(d) }},
	{"job.restartable", cel.BoolType, useRestartable, func(d *bridge.Demand, _ *bridge.Facts) any { return d.Restartable }},
	{"job.restarts", cel.IntType, useRestarts, func(d *bridge.Demand, _ *bridge.Facts) any { return d.Restarts }},
	{"cluster.pending", cel.IntType, usePending, func(_ *bridge.Demand, f *bridge.Facts) any { return f.Pending }},
	{"cluster.oldest_wait", cel.DurationType, useOldest, func(_ *bridge.Demand, f *bridge.Facts) any { return f.OldestWait }},
	{"cluster.utilisation", cel.DoubleType, useUtilisation, func(_ *bridge.Demand, f *bridge.Facts) any {
		return float64(f.UtilisationPM) / 1000
	}},
}

var factByName = func() map[string]*fact {
	m := make(map[string]*fact, len(facts))
	for i := range facts {
		m[facts[i].name] = &facts[i]
	}
	return m
}()

func limit(d *bridge.Demand) time.Duration {
	if d.TimeLimit <= 0 {
		return unlimited
	}
	return d.TimeLimit
}

// with adds the fact of a name; other names are variables of CEL's own.
func (u uses) with(name string) uses {
	if f, ok := factByName[name]; ok {
		return u | f.bit
	}
	return u
}

func (u uses) has(o uses) bool { return u&o != 0 }

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
	f, ok := factByName[name]
	if !ok {
		return nil, false
	}
	return types.DefaultTypeAdapter.NativeToValue(f.of(a.d, a.f)), true
}

// Parent is nil: there is no outer scope.
func (a *activation) Parent() cel.Activation { return nil }

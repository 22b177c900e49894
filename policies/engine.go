package policies

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"spillway.sh/spillway/bridge"
)

// The bounds of what is remembered. Past them the memory is emptied, which
// costs time and changes no answer.
const (
	maxRemembered = 1 << 17
	maxShared     = 1 << 16
	maxClusters   = 64
	maxBits       = 64
)

// engine judges demands by a file. Every answer follows from the attributes in
// the key, so answers are remembered by it.
type engine struct {
	file   *File
	uses   uses
	people bool   // some budget is of one user
	common []atom // conditions about the cluster alone, by bit
	mixed  bool   // some condition compares a job with the cluster's figures

	last  atomic.Pointer[view]
	mu    sync.Mutex
	views map[string]*view

	memory memory // shared by all views unless mixed
	shared shared
}

// view is the engine at one set of a cluster's figures.
type view struct {
	facts  bridge.Facts
	held   uint64 // cluster-only conditions that hold, by bit
	failed uint64 // those that could not be evaluated
	memory *memory
}

// memory maps what a file can tell of a demand to its terms.
type memory struct {
	mu sync.RWMutex
	m  map[key]*bridge.Terms
}

// key is all that a file can tell of a demand; what it does not look at is zero.
type key struct {
	user, account, partition, qos, name, comment, cluster, gpuType string
	nodes, cpus, gpus, restarts                                    int
	memoryMiB                                                      int64
	limit                                                          time.Duration
	restartable, stays, asks                                       bool
	held, failed                                                   uint64
}

// Policy returns the judge of this file. It is safe for concurrent use.
func (f *File) Policy() bridge.Policy {
	e := &engine{file: f, views: map[string]*view{}}
	e.uses = f.looksAt()
	for i := range f.rules {
		r := &f.rules[i]
		r.when.atoms = slices.Clone(r.when.atoms)
		for k := range r.when.atoms {
			e.place(&r.when.atoms[k])
		}
	}
	for _, b := range f.budgets {
		e.people = e.people || len(b.Account.Ancestors()) == 4
	}
	if e.people {
		e.uses |= useUser
	}
	return e
}

// looksAt is the set of attributes that lists and mappings refer to. Comments
// are looked at only for words, which the key holds as flags.
func (f *File) looksAt() uses {
	u := useAccount
	for _, m := range f.accounts {
		if m.user != "" {
			u |= useUser
		}
		if m.cluster != "" {
			u |= useCluster
		}
	}
	if len(f.optOut.partitions) > 0 {
		u |= usePartition
	}
	if len(f.optOut.qos) > 0 {
		u |= useQOS
	}
	if len(f.optOut.users) > 0 {
		u |= useUser
	}
	return u
}

// place gives a condition about the cluster alone a bit of its own, so that
// figures that change with each cycle leave the memory valid.
func (e *engine) place(a *atom) {
	a.bit = -1
	if a.uses&^clusterFacts == 0 && len(e.common) < maxBits {
		a.bit = len(e.common)
		e.common = append(e.common, *a)
		return
	}
	e.uses |= a.uses &^ clusterFacts
	e.mixed = e.mixed || a.uses.has(clusterFacts)
}

// Terms returns what the file allows for a demand; see bridge.Policy.
func (e *engine) Terms(d *bridge.Demand, f *bridge.Facts) *bridge.Terms {
	v := e.at(f)
	k := e.key(d, v)
	v.memory.mu.RLock()
	t, ok := v.memory.m[k]
	v.memory.mu.RUnlock()
	if ok {
		return t
	}
	t = e.judge(d, v)
	v.memory.mu.Lock()
	defer v.memory.mu.Unlock()
	if v.memory.m == nil || len(v.memory.m) >= maxRemembered {
		v.memory.m = make(map[key]*bridge.Terms)
	}
	v.memory.m[k] = t
	return t
}

// at returns the view of a cluster's figures.
func (e *engine) at(f *bridge.Facts) *view {
	if f == nil {
		f = &bridge.Facts{}
	}
	if v := e.last.Load(); v != nil && v.facts == *f {
		return v
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	v := e.views[f.Cluster]
	if v == nil || v.facts != *f {
		if len(e.views) >= maxClusters {
			clear(e.views)
		}
		v = e.look(f)
		e.views[f.Cluster] = v
	}
	e.last.Store(v)
	return v
}

// look evaluates the conditions about the cluster alone.
func (e *engine) look(f *bridge.Facts) *view {
	v := &view{facts: *f, memory: &e.memory}
	if e.mixed {
		v.memory = &memory{}
	}
	for i := range e.common {
		switch ok, err := e.common[i].holds(&bridge.Demand{}, f); {
		case err != nil:
			v.failed |= 1 << i
		case ok:
			v.held |= 1 << i
		}
	}
	return v
}

func (e *engine) key(d *bridge.Demand, v *view) key {
	o, u := &e.file.optOut, e.uses
	k := key{
		account: d.Account, held: v.held, failed: v.failed,
		stays: says(d.Comment, o.words...), asks: says(d.Comment, wordCheckpoint),
	}
	if u.has(useUser | usePartition | useQOS | useName | useComment | useCluster | useGPUType) {
		k.user, k.partition, k.qos = pick(u, useUser, d.User), pick(u, usePartition, d.Partition), pick(u, useQOS, d.QOS)
		k.name, k.comment = pick(u, useName, d.Name), pick(u, useComment, d.Comment)
		k.cluster, k.gpuType = pick(u, useCluster, d.Cluster), pick(u, useGPUType, d.Shape.GPUType)
	}
	k.nodes, k.cpus, k.gpus = pick(u, useNodes, d.Nodes), pick(u, useCPUs, d.Shape.CPUs), pick(u, useGPUs, d.Shape.GPUs)
	k.restarts, k.memoryMiB = pick(u, useRestarts, d.Restarts), pick(u, useMemory, d.Shape.MemoryMiB)
	k.limit = pick(u, useLimit, limit(d))
	k.restartable = pick(u, useRestartable, d.Restartable)
	return k
}

// pick returns v if the file looks at it.
func pick[T any](u, which uses, v T) T {
	if u.has(which) {
		return v
	}
	var zero T
	return zero
}

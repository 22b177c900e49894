package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/samber/lo"

	"spillway.sh/spillway/bridge"
)

// Options is what a Finder is made of. A zero takes the default.
type Options struct {
	// Owner says what a Unix account may read; nil: everything counts, whoever
	// owns it.
	Owner func(ctx context.Context, user string) (Owner, error)
	// Storage is the access to object storage; nil: there is none.
	Storage *Storage
	Clock   func() time.Time // must be given
	Entries int              // of folders read in one look; 20,000
	Bytes   int64            // of contents read in one look; 256 MiB
	Time    time.Duration    // of one look; 10 s
	Workers int              // looks below one root at once; 4
	Settle  time.Duration    // a size that stays so long is settled; 10 s
	// Open opens a root of a file system; nil: os.OpenRoot.
	Open func(root string) (fs.FS, io.Closer, error)
}

// Finder finds checkpoints. It is safe for use by several goroutines.
type Finder struct {
	o      Options
	memory memory

	mu    sync.Mutex
	slots map[string]chan struct{} // by root: looks under way
	under sync.WaitGroup
}

// New returns a finder.
func New(o Options) *Finder {
	o.Entries, o.Bytes = lo.CoalesceOrEmpty(o.Entries, 20_000), lo.CoalesceOrEmpty(o.Bytes, 256<<20)
	o.Time, o.Settle = lo.CoalesceOrEmpty(o.Time, 10*time.Second), lo.CoalesceOrEmpty(o.Settle, 10*time.Second)
	o.Workers = lo.CoalesceOrEmpty(o.Workers, 4)
	if o.Open == nil {
		o.Open = openRoot
	}
	return &Finder{o: o, memory: memory{seen: map[string]sighting{}}, slots: map[string]chan struct{}{}}
}

func openRoot(root string) (fs.FS, io.Closer, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, nil, err
	}
	return r.FS(), r, nil
}

// Close waits for looks that were given up because their storage did not
// answer, at most until ctx ends: a call into a dead file system cannot be
// stopped.
func (f *Finder) Close(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		f.under.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for looks at checkpoints: %w", ctx.Err())
	}
}

// Find looks for the checkpoints of a job. Errors are *bridge.CheckpointError;
// without one, no newest checkpoint means that there is none. With one, what was
// passed over may be told all the same.
//
// The look itself is done by a worker, so that a file system that hangs holds
// neither the caller nor more than a few threads of this process.
func (f *Finder) Find(ctx context.Context, rule *bridge.CheckpointRule, job bridge.CheckpointJob) (bridge.CheckpointLook, error) {
	p, err := placeOf(rule, &job)
	if err != nil {
		return bridge.CheckpointLook{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.o.Time)
	defer cancel()
	slow := func() error {
		return &bridge.CheckpointError{Kind: bridge.TroubleSlow, Place: p.String(), Err: ctx.Err()}
	}
	slot := f.slot(p)
	select {
	case slot <- struct{}{}:
	case <-ctx.Done():
		return bridge.CheckpointLook{}, slow()
	}
	type result struct {
		look bridge.CheckpointLook
		err  error
	}
	done := make(chan result, 1)
	f.under.Go(func() {
		defer func() { <-slot }()
		got, err := f.look(ctx, p, rule, &job)
		done <- result{got, err}
	})
	select {
	case r := <-done:
		return r.look, r.err
	case <-ctx.Done():
		return bridge.CheckpointLook{}, slow()
	}
}

func (f *Finder) slot(p *place) chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := p.bucket + ":" + p.root
	if p.bucket == "" { // one file system is one slot, however many users it has
		key, _, _ = strings.Cut(strings.TrimPrefix(p.root, "/"), "/")
	}
	if f.slots[key] == nil {
		f.slots[key] = make(chan struct{}, f.o.Workers)
	}
	return f.slots[key]
}

// look opens the root and looks below it.
func (f *Finder) look(ctx context.Context, p *place, rule *bridge.CheckpointRule, job *bridge.CheckpointJob) (bridge.CheckpointLook, error) {
	l := &look{
		ctx: ctx, place: p, memory: &f.memory, now: f.o.Clock().UTC(), atomic: rule.Atomic, settle: f.o.Settle,
		entries: f.o.Entries, bytes: f.o.Bytes,
	}
	if p.bucket != "" {
		if f.o.Storage == nil {
			return bridge.CheckpointLook{}, &bridge.CheckpointError{Kind: bridge.TroubleNoStorage, Place: p.String()}
		}
		l.fsys = f.o.Storage.tree(ctx, p)
	} else {
		fsys, closer, err := f.o.Open(p.root)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return bridge.CheckpointLook{}, &bridge.CheckpointError{Kind: bridge.TroubleUnmounted, Place: p.String(), Err: err}
		case err != nil:
			return bridge.CheckpointLook{}, l.trouble(err)
		}
		defer closer.Close()
		l.fsys = fsys
		if f.o.Owner != nil {
			who, err := f.o.Owner(ctx, job.User)
			if err != nil {
				return bridge.CheckpointLook{}, &bridge.CheckpointError{Kind: bridge.TroubleDenied, Place: p.String(), Err: err}
			}
			l.owner = &who
		}
	}
	out, err := l.find(rule, job)
	if err != nil {
		return out, l.trouble(err)
	}
	return out, nil
}

// mostPassed is how many that do not count are told of.
const mostPassed = 10

// find judges what the place leads to, newest first, until one is complete.
func (l *look) find(rule *bridge.CheckpointRule, job *bridge.CheckpointJob) (bridge.CheckpointLook, error) {
	out := bridge.CheckpointLook{At: l.now, Place: l.place.String()}
	found, err := l.match()
	if err != nil {
		return out, err
	}
	if len(found) == 0 {
		return out, l.mounted()
	}
	k, cs, err := l.gather(rule.Framework, found)
	if err != nil {
		return out, err
	}
	var worst error // the first that could not be judged
	for i := range cs {
		c := &cs[i]
		err := l.judge(k, c)
		if err == nil {
			out.Newest = l.newest(k, job, c, cs[i+1:])
			return out, nil
		}
		fl, isFlaw := errors.AsType[*flaw](err)
		if !isFlaw {
			if l.ctx.Err() != nil || errors.Is(err, errTooMany) {
				return out, err
			}
			if !errors.Is(err, errForeign) && worst == nil {
				worst = err
			}
			fl = &flaw{bridge.FlawUnreadable, err.Error()}
			if errors.Is(err, errForeign) {
				fl.kind = bridge.FlawForeign
			}
		}
		if len(out.Passed) < mostPassed {
			out.Passed = append(out.Passed, bridge.PassedCheckpoint{
				Place: l.place.at(c.name), Step: c.step, At: c.at, Flaw: fl.kind, Detail: fl.detail,
			})
		}
	}
	return out, worst
}

// judge returns nil for a complete candidate.
func (l *look) judge(k *kind, c *candidate) error {
	if c.flaw != nil {
		return c.flaw
	}
	for i := range c.files {
		if l.owner != nil && !l.owner.may(c.files[i].info, 4) {
			return fmt.Errorf("%s: %w", c.files[i].base(), errForeign)
		}
	}
	if !c.dir {
		c.sum()
	}
	err := k.check(l, c)
	if errors.Is(err, fs.ErrNotExist) { // it was there a moment ago
		err = &flaw{bridge.FlawShard, "it is being removed"}
	}
	if _, isFlaw := errors.AsType[*flaw](err); isFlaw {
		l.unfinishedNow(c)
	}
	return err
}

// olderMost is how many older ones are looked at for the time between two.
const olderMost = 3

// newest says all that is known of the newest complete one.
func (l *look) newest(k *kind, job *bridge.CheckpointJob, c *candidate, older []candidate) *bridge.Checkpoint {
	save, every := l.complete(c)
	out := &bridge.Checkpoint{
		Job: job.Job, Step: c.step, At: c.at, Place: l.place.at(c.name), Bytes: c.bytes, Framework: k.name,
		Every: every, Save: max(save, c.save),
	}
	for i := range older[:min(olderMost, len(older))] {
		if o := &older[i]; l.judge(k, o) == nil && o.at.Before(c.at) {
			out.Every = c.at.Sub(o.at)
			break
		}
	}
	return out
}

// mounted tells nothing found from a file system that is not there: a mount
// point without its mount is an empty folder.
func (l *look) mounted() error {
	if l.place.bucket != "" {
		return nil
	}
	f, err := l.fsys.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	d, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil
	}
	if es, err := d.ReadDir(1); len(es) > 0 || err != nil && !errors.Is(err, io.EOF) {
		return lo.Ternary(len(es) > 0, nil, err)
	}
	return fmt.Errorf("%s is empty: %w", l.place.root, errNoBucket)
}

// gather finds candidates in what a place leads to, and the framework they are
// of where the rule names none.
func (l *look) gather(framework string, found []file) (*kind, []candidate, error) {
	folders, files, err := l.folders(found)
	if err != nil {
		return nil, nil, err
	}
	for i := range kinds {
		k := &kinds[i]
		if framework != "" && framework != k.name {
			continue
		}
		cs, err := l.of(k, folders, files)
		if err != nil {
			return nil, nil, err
		}
		if framework == "" && !slices.ContainsFunc(cs, func(c candidate) bool { return c.flaw == nil || c.flaw.kind != bridge.FlawTemporary }) && i < len(kinds)-1 {
			continue
		}
		return k, cs, nil
	}
	return nil, nil, fmt.Errorf("unknown framework %q", framework)
}

// folder is one with its entries.
type folder struct {
	file
	entries []file
}

// folders lists the folders among what was found; files are kept by the folder
// they are in.
func (l *look) folders(found []file) ([]folder, map[string][]file, error) {
	var out []folder
	files := map[string][]file{}
	for _, f := range found {
		if !f.dir {
			files[path.Dir(f.name)] = append(files[path.Dir(f.name)], f)
			continue
		}
		es, err := l.list(f.name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, errForeign) && len(found) > 1: // a pattern leads to those of others, too
		case err != nil:
			return nil, nil, err
		default:
			out = append(out, folder{f, es})
		}
	}
	return out, files, nil
}

// of gathers the candidates of one framework, best first.
func (l *look) of(k *kind, folders []folder, files map[string][]file) ([]candidate, error) {
	var all []candidate
	for dir, es := range files {
		cs, err := l.sorted(k, dir, es)
		if err != nil {
			return nil, err
		}
		all = append(all, cs...)
	}
	for i := range folders {
		f := &folders[i]
		if k.itself(f.base(), f.entries) {
			c := fromFile(&f.file)
			all = append(all, c)
			continue
		}
		cs, err := l.sorted(k, f.name, f.entries)
		if err != nil {
			return nil, err
		}
		all = append(all, cs...)
	}
	if len(folders)+len(files) > 1 {
		slices.SortStableFunc(all, newestFirst)
	}
	return all, nil
}

// sorted gathers the candidates of one folder.
func (l *look) sorted(k *kind, dir string, es []file) ([]candidate, error) {
	cs := k.gather(es)
	slices.SortStableFunc(cs, newestFirst)
	if k.order != nil && len(cs) > 0 {
		if err := k.order(l, dir, es, cs); err != nil {
			return nil, err
		}
	}
	passed := unfinished(es)
	slices.SortStableFunc(passed, newestFirst)
	return append(passed[:min(len(passed), mostPassed/2)], cs...), nil
}

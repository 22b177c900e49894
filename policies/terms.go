package policies

import (
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// signalFor says which jobs of a rule are signalled at a notice.
type signalFor string

// A signal kills a job that does not expect it, so jobs opt in by a word in
// their comment unless the rule speaks for all of them.
const (
	signalAsked signalFor = "comment"
	signalAll   signalFor = "all"
)

// terms are what a rule says before it is known whose job it is.
type terms struct {
	bridge.Terms
	signal signalFor
}

// layer is one place of the file that sets terms: defaults, a class or a rule.
// Layers are applied in that order, the later wins.
type layer struct {
	node strict.Node
	set  []func(*terms)
}

func (l *layer) apply(t *terms) {
	for _, set := range l.set {
		set(t)
	}
}

// The longest that policy may ask for, to catch a slip of the unit.
const (
	maxWait = 30 * 24 * time.Hour
	maxLife = 365 * 24 * time.Hour
)

// builtin are the terms of a class when the file says nothing: short waits,
// few machines, nobody asked, nothing signalled.
func builtin(c bridge.Class) terms {
	t := terms{Terms: bridge.Terms{
		Class: c, Wait: 15 * time.Minute, Markets: []bridge.Market{bridge.OnDemand},
		Most: 8, Least: 1, Idle: 10 * time.Minute, Life: 24 * time.Hour, AskFor: 4 * time.Hour,
	}}
	if c == bridge.P2 {
		t.Wait, t.Reclaims = 5*time.Minute, 2
		t.Markets = []bridge.Market{bridge.Spot, bridge.OnDemand}
	}
	return t
}

// setting is a key that sets one term. The value is applied only after the
// whole file has been read.
func setting[V any](l *layer, key, example string, read func(*V) func(strict.Node), apply func(*terms, V)) strict.Field {
	return strict.May(key, example, func(n strict.Node) {
		v := new(V)
		if n.Sound(read(v)) {
			l.set = append(l.set, func(t *terms) { apply(t, *v) })
		}
	})
}

// settings are the keys that defaults, classes and rules share.
func (r *reader) settings(l *layer) []strict.Field {
	span := func(least, most time.Duration) func(*time.Duration) func(strict.Node) {
		return func(d *time.Duration) func(strict.Node) { return strict.Span(d, least, most) }
	}
	count := func(least, most int) func(*int) func(strict.Node) {
		return func(i *int) func(strict.Node) { return strict.Whole(i, least, most) }
	}
	names := func(s *[]string) func(strict.Node) { return filled(strict.Texts(s, level)) }
	ceiling := func(m *bridge.Money) func(strict.Node) { return r.positive(m, "no machine costs that little") }
	code := r.code()
	return []strict.Field{
		setting(l, "wait", "wait: 15m", span(0, maxWait), func(t *terms, v time.Duration) { t.Wait = v }),
		setting(l, "clouds", "clouds: [north, east]", names, func(t *terms, v []string) { t.Clouds = v }),
		setting(l, "regions", "regions: [eu-1]", names, func(t *terms, v []string) { t.Regions = v }),
		setting(l, "attributes", "attributes: [iso27001, data-cn]", func(s *[]string) func(strict.Node) { return filled(strict.Texts(s, attribute)) }, func(t *terms, v []string) { t.Attributes = v }),
		setting(l, "network", "network: 100g", leastNetwork, func(t *terms, v bridge.Network) { t.Network = v }),
		setting(l, "data_gib", "data_gib: 50", count(1, mostGiB), func(t *terms, v int) { t.DataGiB = int64(v) }),
		setting(l, "checkpoint_gib", "checkpoint_gib: 20", count(1, mostGiB), func(t *terms, v int) { t.CheckpointGiB = int64(v) }),
		setting(l, "max_rate", "max_rate: 0.85 "+code+"/h", r.maxRate, func(t *terms, v bridge.Rate) { t.MaxRate = v }),
		setting(l, "max_cost", "max_cost: 200 "+code, ceiling, func(t *terms, v bridge.Money) { t.MaxCost = v }),
		setting(l, "most", "most: 8", count(1, 100_000), func(t *terms, v int) { t.Most = v }),
		setting(l, "least", "least: 1", count(1, 100_000), func(t *terms, v int) { t.Least = v }),
		setting(l, "idle", "idle: 10m", span(0, maxWait), func(t *terms, v time.Duration) { t.Idle = v }),
		setting(l, "life", "life: 24h", span(time.Minute, maxLife), func(t *terms, v time.Duration) { t.Life = v }),
		setting(l, "ask", "ask: true", strict.Flag, func(t *terms, v bool) { t.Ask = v }),
		setting(l, "ask_above", "ask_above: 50 "+code, r.askAbove, func(t *terms, v bridge.Money) { t.AskAbove = v }),
		setting(l, "ask_for", "ask_for: 4h", span(10*time.Second, maxWait), func(t *terms, v time.Duration) { t.AskFor = v }),
		setting(l, "share", "share: false", notShared, func(t *terms, v bool) { t.Share = v }),
		setting(l, "comment", "comment: true", strict.Flag, func(t *terms, v bool) { t.Comment = v }),
		setting(l, "signal", "signal: {name: USR1, to: batch, window: 60s}", readSignal, func(t *terms, v signal) { v.apply(t) }),
		setting(l, "checkpoint", `checkpoint: {framework: pytorch, path: "/scratch/%u/%{ckpt}"}`, r.checkpoint, func(t *terms, v *bridge.CheckpointRule) { t.Checkpoint = v }),
	}
}

// spotSettings are the further keys of what may run on spot.
func spotSettings(l *layer) []strict.Field {
	markets := func(m *[]bridge.Market) func(strict.Node) {
		return filled(strict.Texts(m, strict.OneOf(bridge.Spot, bridge.OnDemand)))
	}
	reclaims := func(i *int) func(strict.Node) { return strict.Whole(i, 0, 100) }
	return []strict.Field{
		setting(l, "markets", "markets: [spot, on-demand]", markets, func(t *terms, v []bridge.Market) { t.Markets = v }),
		setting(l, "reclaims", "reclaims: 2", reclaims, func(t *terms, v int) { t.Reclaims = v }),
		setting(l, "progress", "progress: true", strict.Flag, func(t *terms, v bool) { t.Progress = v }),
		setting(l, "work", "work: 6h", work, func(t *terms, v time.Duration) { t.Work = v }),
	}
}

// work reads how long a job computes in all.
func work(d *time.Duration) func(strict.Node) { return strict.Span(d, time.Minute, maxLife) }

// notHere are those keys where they have no meaning.
func notHere(why string) []strict.Field {
	refuse := func(n strict.Node) { n.FaultKey(why) }
	return []strict.Field{
		strict.May("markets", "classes: {P2: {markets: [spot, on-demand]}}", refuse),
		strict.May("reclaims", "classes: {P2: {reclaims: 2}}", refuse),
		strict.May("progress", "classes: {P2: {progress: true}}", refuse),
		strict.May("work", "classes: {P2: {work: 6h}}", refuse),
	}
}

// notShared reads a flag that must be false: money that is held for one project
// cannot be moved to another one yet.
func notShared(share *bool) func(strict.Node) {
	return func(n strict.Node) {
		strict.Flag(share)(n)
		if *share {
			n.Fault("idle machines serve the next jobs of their own project; other projects cannot take them over and pay yet")
		}
	}
}

func (r *reader) maxRate(v *bridge.Rate) func(strict.Node) {
	return func(n strict.Node) {
		r.rate(v)(n)
		if v.Currency != "" && v.Micro == 0 {
			n.Fault("nothing: no machine costs that little")
		}
	}
}

func (r *reader) askAbove(v *bridge.Money) func(strict.Node) {
	return r.positive(v, "to be asked about every cent, give the smallest amount that matters")
}

// filled refuses a list with nothing in it: to some it means all, to some none.
func filled(read func(strict.Node)) func(strict.Node) {
	return func(n strict.Node) {
		read(n)
		if n.IsList() && n.Len() == 0 {
			n.Refuse("an empty list: leave the key out to allow all")
		}
	}
}

// signal is what a job is told at a notice.
type signal struct {
	name, to string
	window   time.Duration
	whom     signalFor
}

func (s signal) apply(t *terms) {
	t.Signal, t.SignalTo, t.SignalWindow, t.signal = s.name, s.to, s.window, s.whom
}

func readSignal(s *signal) func(strict.Node) {
	return func(n strict.Node) {
		if text, ok := n.Scalar(); ok && text == "none" {
			return
		}
		s.whom = signalAsked
		n.Object(
			strict.Need("name", "name: USR1", strict.Choice(&s.name, "USR1", "USR2", "TERM")),
			strict.Need("to", "to: batch", strict.Choice(&s.to, "batch", "steps")),
			strict.Need("window", "window: 60s", strict.Span(&s.window, time.Second, time.Hour)),
			strict.May("for", "for: comment", strict.Choice(&s.whom, signalAsked, signalAll)),
		)
	}
}

const onDemandOnly = "P1 runs on demand only; spot is for class P2"

func (r *reader) readDefaults(n strict.Node) {
	r.defaults.node = n
	n.Object(append(r.settings(&r.defaults), notHere("only P2 chooses its market: set it in class P2 or in a rule")...)...)
}

func (r *reader) readClasses(n strict.Node) {
	r.classes = map[bridge.Class]layer{}
	read := func(c bridge.Class) func(strict.Node) {
		return func(n strict.Node) {
			l := layer{node: n}
			fields := r.settings(&l)
			if c == bridge.P2 {
				fields = append(fields, spotSettings(&l)...)
			} else {
				fields = append(fields, notHere(onDemandOnly)...)
			}
			n.Object(fields...)
			r.classes[c] = l
		}
	}
	n.Object(
		strict.May("P0", "P1: {wait: 15m}", func(n strict.Node) {
			n.FaultKey("P0 never leaves reserved capacity, there is nothing to set")
		}),
		strict.May("P1", "P1: {wait: 15m}", read(bridge.P1)),
		strict.May("P2", "P2: {markets: [spot, on-demand], reclaims: 2}", read(bridge.P2)),
	)
}

// merge applies the layers of a rule and checks what they say together.
func (r *reader) merge(class bridge.Class, own layer) terms {
	t := builtin(class)
	c := r.classes[class]
	r.defaults.apply(&t)
	c.apply(&t)
	own.apply(&t)
	if class == bridge.P0 { // its machines are paid for: nothing is waited for, nobody is asked
		t.Wait, t.Markets, t.Ask, t.AskAbove = 0, []bridge.Market{bridge.Reserved}, false, bridge.Money{}
	}
	r.checkTogether(&t, []strict.Node{own.node, c.node, r.defaults.node})
	return t
}

// checkTogether finds terms that exclude each other. The fault is placed at
// the key that was written nearest to the rule.
func (r *reader) checkTogether(t *terms, places []strict.Node) {
	fault := func(wrong, example string, keys ...string) {
		for _, p := range places {
			for _, k := range keys {
				if n, ok := p.Get(k); ok {
					n.With(example).Fault(wrong)
					return
				}
			}
		}
	}
	if t.Least > t.Most {
		fault(fmt.Sprintf("least (%d) is more than most (%d)", t.Least, t.Most), fmt.Sprintf("least: %d", t.Most), "least", "most")
	}
	if t.Idle > t.Life {
		fault(fmt.Sprintf("idle (%s) is longer than life (%s)", strict.FormatSpan(t.Idle), strict.FormatSpan(t.Life)), "idle: 10m", "idle", "life")
	}
	if t.MaxCost.Micro > 0 && t.AskAbove.Micro > t.MaxCost.Micro {
		fault(fmt.Sprintf("nobody is ever asked: max_cost (%s) comes first", whole(t.MaxCost)), "ask_above: "+whole(t.MaxCost), "ask_above", "max_cost")
	}
	if t.SignalWindow > t.Life {
		fault("the window is longer than the machine's life", "signal: {name: USR1, to: batch, window: 60s}", "signal", "life")
	}
	checkProgress(t, fault)
	if t.Ask || t.AskAbove.Micro > 0 {
		if lonely, ok := r.unapproved(); ok {
			fault(fmt.Sprintf("nobody can approve for %s: name approvers in roles or in a budget", lonely), "roles: {approvers: [ana]}", "ask", "ask_above")
		}
	}
}

// unapproved finds a project that jobs reach and nobody could approve for.
func (r *reader) unapproved() (bridge.Account, bool) {
	if len(r.file.roles.Approvers) > 0 {
		return "", false
	}
	for _, m := range r.file.accounts {
		project := bridge.Account(r.file.organisation + "/" + m.to)
		if len(r.file.approversOf(project)) == 0 && !slices.ContainsFunc(r.file.budgets, func(b bridge.Budget) bool {
			return b.Account == "" // unreadable, and reported already
		}) {
			return project, true
		}
	}
	return "", false
}

package policies

import (
	"fmt"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// rule is one entry of rules: the first whose condition holds decides.
type rule struct {
	name  string
	when  condition
	terms terms
}

// pendingRule is a rule whose terms wait for the whole list to be read.
type pendingRule struct {
	rule
	own layer
}

func (r *reader) readRules(n strict.Node) {
	lines := map[string]int{}
	compiler := newCompiler()
	total := 0
	strict.Each(func(e strict.Node) {
		total++
		r.readRule(e, compiler, lines)
	})(n)
	if total == 0 && n.IsList() {
		n.Refuse("no rule: nothing could ever burst; to only watch, set mode: observe")
	}
	r.file.leaves = compiler.leaves
	r.defaults.apply(&r.file.unruled)
	for i, p := range r.pending {
		p.terms = r.merge(p.terms.Class, p.own)
		r.file.rules = append(r.file.rules, p.rule)
		if _, given := p.own.node.Get("when"); !given && i < len(r.pending)-1 {
			r.pending[i+1].own.node.With("when: job.gpus > 0").Refuse(fmt.Sprintf("never reached: rule %q before it has no condition", p.name))
			break
		}
	}
}

func (r *reader) readRule(e strict.Node, compiler *compiler, lines map[string]int) {
	p := pendingRule{own: layer{node: e}}
	class := bridge.Class("")
	fields := []strict.Field{
		strict.Need("name", "name: everyone", strict.Text(&p.name)),
		strict.May("when", `when: job.gpus > 0 && cluster.oldest_wait > duration("15m")`, compiler.read(&p.when)),
		strict.Need("class", "class: P2", strict.Choice(&class, bridge.P0, bridge.P1, bridge.P2)),
	}
	fields = append(fields, r.settings(&p.own)...)
	fields = append(fields, spotSettings(&p.own)...)
	if !e.Object(fields...) {
		return
	}
	if first, twice := lines[p.name]; twice && p.name != "" {
		if name, ok := e.Get("name"); ok {
			name.With("name: " + p.name + "-2").Fault(fmt.Sprintf("another rule has this name, on line %d", first))
		}
	}
	lines[p.name] = e.Line()
	p.terms.Class = class
	r.checkClass(e, class, p.own)
	if class != "" {
		r.pending = append(r.pending, p)
	}
}

// checkClass refuses terms that the class of the rule makes meaningless.
func (r *reader) checkClass(e strict.Node, class bridge.Class, own layer) {
	switch class {
	case bridge.P0:
		if len(own.set) > 0 {
			e.With("{name: core, when: job.qos == \"core\", class: P0}").
				Refuse("P0 never leaves reserved capacity: its rule has name, when and class, nothing else")
		}
	case bridge.P1:
		for _, key := range []string{"markets", "reclaims", "progress", "work"} {
			if n, ok := e.Get(key); ok {
				n.With("class: P2").FaultKey(onDemandOnly)
			}
		}
	case bridge.P2:
	}
}

package card

import (
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// machines says what the agents of a rental's machines said last: how much
// their GPUs do and whether a job runs, or how far they are with getting ready.
func (p Pen) machines(r *desk.Rental) []slack.Block {
	w := p.words()
	if !givesBack(r.State) {
		return nil
	}
	var lines []string
	hidden := 0
	for i := range r.Machines {
		m := &r.Machines[i]
		switch {
		case m.State == bridge.MachineIntended || m.State == bridge.MachineGone:
		case len(lines) == mostLines:
			hidden++
		default:
			lines = append(lines, "*"+escape(m.Node)+"* · "+strings.Join(p.reported(m.Report), " · "))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	if hidden > 0 {
		lines = append(lines, put(w.More, "n", strconv.Itoa(hidden)))
	}
	return []slack.Block{section("*" + w.MachinesTitle + "*\n" + strings.Join(lines, "\n"))}
}

// reported is one machine's report in a few words.
func (p Pen) reported(r *bridge.Report) []string {
	w := p.words()
	if r == nil {
		return []string{w.Unheard}
	}
	if r.Health == bridge.HealthFit {
		job := w.JobOff
		if r.Busy {
			job = w.JobOn
		}
		return []string{job, p.use(r.GPUPM)}
	}
	health := w.Checking
	if r.Health == bridge.HealthUnfit {
		health = w.Unfit
	}
	out := []string{health}
	if len(r.Checks) > 0 {
		out = append(out, put(w.ChecksOf, "n", strconv.Itoa(desk.Passed(r.Checks)), "all", strconv.Itoa(len(r.Checks))))
	}
	for i := range r.Checks {
		if c := &r.Checks[i]; !c.OK {
			out = append(out, put(w.CheckNot, "name", escape(c.Name), "got", escape(c.Got)))
		}
	}
	for i := range r.Stages {
		s := &r.Stages[i]
		text := w.StageDone
		if !s.OK {
			text = w.StageNot
		}
		out = append(out, put(text, "name", escape(s.Name), "for", p.span(s.Took)))
	}
	return out
}

// use says a use in per mille; of a machine whose driver does not tell, nobody
// knows it.
func (p Pen) use(perMille int) string {
	if perMille < 0 {
		return p.words().UseNot
	}
	return put(p.words().Use, "n", strconv.Itoa((min(perMille, 1000)+5)/10))
}

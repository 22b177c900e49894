package bridge

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the plans of the scenarios anew; read what changed")

// TestDecide holds every scenario of testdata/decide: a world, and the plan
// that is wanted for it.
func TestDecide(t *testing.T) {
	files, err := filepath.Glob("testdata/decide/*.txtar")
	if err != nil || len(files) < 80 {
		t.Fatalf("found %d scenarios, want at least 80: %v", len(files), err)
	}
	seen := map[Reason]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil || len(a.Files) == 0 || a.Files[0].Name != "world.yaml" {
				t.Fatalf("want a file that begins with world.yaml: %v", err)
			}
			w, err := readScenario(a.Files[0].Data)
			if err != nil {
				t.Fatal(err)
			}
			p := Decide(w.snapshot(), w.policy())
			for i := range p.Verdicts {
				seen[p.Verdicts[i].Why] = true
			}
			for i := range p.Return {
				seen[p.Return[i].Why] = true
			}
			got := tell(&p)
			if *update {
				a.Files = append(a.Files[:1], txtar.File{Name: "plan", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(a), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(a.Files) != 2 {
				t.Fatal("the scenario has no plan")
			}
			if diff := cmp.Diff(string(a.Files[1].Data), got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
	for _, r := range decided {
		if !seen[r] {
			t.Errorf("no scenario shows %q", r)
		}
	}
}

// decided are the reasons Decide itself gives; policy's own are among them
// because a verdict repeats them.
var decided = []Reason{
	ReasonCheapest, ReasonRoute, ReasonUnderway, ReasonOverBudget, ReasonAskAbove, ReasonAsked,
	ReasonWaitPolicy, ReasonStartsSoon, ReasonSoon, ReasonStale, ReasonFrozen, ReasonProtected, ReasonPoolsDown,
	ReasonNoPrice, ReasonNoExchange, ReasonOldExchange, ReasonEndsFirst, ReasonMost, ReasonNoBudget, ReasonDenied, ReasonLapsed, ReasonLocalFree, ReasonAhead,
	ReasonObserve, ReasonOptOut, ReasonNoRule, ReasonReserved, ReasonSitePolicy, ReasonUserHold, ReasonSiteConfig,
	ReasonDoubtful, ReasonUnplaceable, ReasonWorkflow, ReasonNoOffer, ReasonTooDear, ReasonDeadline, ReasonNoAccount,
	ReasonNotRestartable, ReasonNoCheckpoint, ReasonOldCheckpoint, ReasonAheadOfPace, ReasonLooking, ReasonLocalOnly, ReasonRuleFailed, ReasonUnfunded,
	ReasonIdle, ReasonExpired, ReasonDemandGone, ReasonGangBroken,
}

// tell writes a plan as lines for people.
func tell(p *Plan) string {
	var b strings.Builder
	for i := range p.Verdicts {
		b.WriteString(tellVerdict(&p.Verdicts[i]) + "\n")
	}
	for i := range p.Rent {
		o := &p.Rent[i]
		fmt.Fprintf(&b, "rent %d: %d x %s for %s\n", i+1, o.Count, o.Offer.Pool, tellJobs(o.Jobs))
		fmt.Fprintf(&b, "  %s pays at most %s: %s an hour for %s", o.Account, o.Hold, Money(o.MaxRate), o.Life)
		if o.Gang > 1 {
			fmt.Fprintf(&b, ", gang of %d", o.Gang)
		}
		if o.Ask != "" {
			fmt.Fprintf(&b, ", ask: %s", o.Ask)
		}
		b.WriteString("\n")
	}
	for _, r := range p.Route {
		fmt.Fprintf(&b, "route %s to %s", r.Job, r.Rental)
		if r.Account != "" {
			fmt.Fprintf(&b, ", %s pays", r.Account)
		}
		b.WriteString("\n")
	}
	for _, r := range p.Withdraw {
		fmt.Fprintf(&b, "withdraw %s\n", r)
	}
	for _, r := range p.Return {
		fmt.Fprintf(&b, "return %s: %s", r.Rental, r.Why)
		if len(r.Machines) > 0 {
			fmt.Fprintf(&b, ", machines %v", r.Machines)
		}
		if r.Drain {
			b.WriteString(", drain")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func tellVerdict(v *Verdict) string {
	out := fmt.Sprintf("%s: %s %s", v.Job, v.Kind, v.Why)
	if v.Cluster != "c" {
		out = v.Cluster + " " + out
	}
	if v.Rental != "" {
		out += " on " + string(v.Rental)
	}
	if v.Order > 0 {
		out += fmt.Sprintf(" by rent %d", v.Order)
	}
	if !v.Until.IsZero() {
		out += " until " + v.Until.Format("15:04:05")
	}
	if v.Pool != nil && v.Order == 0 {
		out += " near " + v.Pool.String()
	}
	if v.Cost.Micro != 0 && v.Order == 0 {
		out += ", at most " + v.Cost.String()
	}
	switch {
	case v.Scope != nil:
		out += fmt.Sprintf(", %s has %s", v.Scope, v.Left.Floor())
	case v.Limit != "":
		out += fmt.Sprintf(", %s has %s", v.Limit, v.Left.Floor())
	}
	if v.Detail != "" {
		out += " (" + v.Detail + ")"
	}
	return out
}

func tellJobs(jobs []JobID) string {
	words := make([]string, 0, len(jobs))
	for _, j := range jobs {
		words = append(words, string(j))
	}
	return strings.Join(words, " ")
}

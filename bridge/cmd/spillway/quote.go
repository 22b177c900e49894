package main

import (
	"fmt"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// wishFlags is what to rent, in words of any order or in flags.
type wishFlags struct {
	Words    []string      `arg:"" optional:"" help:"What, for how long, for which project: 8xh100 for 6h spot project nlp max $$120."`
	Machines int           `help:"Number of machines." placeholder:"N"`
	Type     string        `help:"The cloud's name of a machine type." placeholder:"NAME"`
	GPUs     int           `name:"gpus" help:"GPUs of each machine; without --machines, altogether." placeholder:"N"`
	GPU      string        `name:"gpu" help:"GPU type." placeholder:"NAME"`
	CPUs     int           `name:"cpus" help:"CPUs of each machine." placeholder:"N"`
	MemoryGB int64         `name:"memory-gib" help:"Memory of each machine in GiB." placeholder:"N"`
	For      time.Duration `help:"For how long, for example 6h or 90m." placeholder:"TIME"`
	Spot     bool          `xor:"market" help:"Spot machines only."`
	OnDemand bool          `xor:"market" help:"On-demand machines only."`
	Max      string        `help:"At most this much in all, with its currency: $$120 or 800cny." placeholder:"MONEY"`
	Project  string        `short:"A" help:"Project that pays." placeholder:"NAME"`
	Cluster  string        `help:"Cluster the machines join." placeholder:"NAME"`
	In       string        `help:"Cloud, region or zone." placeholder:"NAME"`
	Job      string        `help:"Size and time are those of this waiting job." placeholder:"ID"`
	Reason   string        `help:"Why, for the approver and the record." placeholder:"TEXT"`
}

func (f *wishFlags) wish() desk.Wish {
	w := desk.Wish{
		Words: f.Words, Zone: zoneHere(), Machines: f.Machines, Type: f.Type, GPUs: f.GPUs, GPUType: f.GPU, CPUs: f.CPUs, MemoryMiB: f.MemoryGB << 10,
		Seconds: int64(f.For / time.Second), Project: f.Project, Cluster: f.Cluster, Place: f.In, Job: bridge.JobID(f.Job), Reason: f.Reason,
	}
	if f.Spot {
		w.Market = bridge.Spot
	}
	if f.OnDemand {
		w.Market = bridge.OnDemand
	}
	if f.Max != "" {
		w.Words = append(append([]string{}, w.Words...), "max", f.Max) // read by the same rules as words
	}
	return w
}

type quoteCmd struct {
	format
	wishFlags
}

// Help gives examples.
func (quoteCmd) Help() string {
	return `Examples:
  spillway quote 8xh100 for 6h project nlp
  spillway quote 2 nodes 8xa100 90m spot
  spillway quote job 4711
  spillway quote --gpus 8 --gpu h100 --for 6h -A nlp -o json

At most is what would be held: the dearest price over the whole time, boot included. What is not used comes back.

JSON keys: id, good_until, at, understood, cluster, account, duration_seconds, offers[] (pool, machines, shape, rate,
expected, at_most, boot_seconds, outcome (at-once, ask, refused), why, text, over, billing), compared[] (as in explain),
listed[] (cloud, type, gpu, gpus, market, low, high, as_of), budgets[], why,
local{cluster, source (scheduler, queue), at, job, start, waiting, oldest_seconds}.`
}

// Run prints offers.
func (c *quoteCmd) Run(a *app) error {
	got, err := ask(a, desk.AskQuote, desk.QuoteRequest{Wish: c.wish(), Lang: a.lang()})
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) { sayQuote(p, &got) })
}

const quoteRows = 12

func sayQuote(p *page, q *desk.QuoteAnswer) {
	p.line("%s, paid by %s. Nothing is rented by asking.", q.Understood, q.Account)
	p.line("")
	if len(q.Offers) == 0 {
		p.line("Nothing: %s.", q.Why)
		sayListed(p, q.Listed)
		return
	}
	var rows []string
	for i := range q.Offers {
		if i == quoteRows {
			break
		}
		o := &q.Offers[i]
		rows = append(rows, row(fmt.Sprintf("%d x %s", o.Machines, desk.Place(o.Pool)), o.Shape.String(), bridge.Money(o.Rate).String(),
			o.Expected, o.AtMost, "about "+desk.Span(time.Duration(o.Boot)*time.Second), outcome(o)))
	}
	p.table("OFFER\tEACH HAS\tEACH HOUR\tEXPECTED\tAT MOST\tREADY IN\tASKING FOR IT NOW", rows)
	if more := len(q.Offers) - quoteRows; more > 0 {
		p.line("%d dearer ones are not shown; -o json has all.", more)
	}
	said := ""
	for i := range q.Offers[:min(len(q.Offers), quoteRows)] {
		if o := &q.Offers[i]; o.Billing != "" && o.Billing != said {
			said = o.Billing
			p.line("%s: %s; the prices have it in them.", desk.Place(o.Pool), said)
		}
	}
	sayCompared(p, q.Compared)
	sayListed(p, q.Listed)
	sayBudgets(p, q.Budgets)
	if q.Local != nil {
		p.line("")
		sayLocal(p, q.Local, q.At)
	}
	if q.Offers[0].Outcome != desk.Refused {
		p.line("")
		p.line("Rent the first: spillway rent %s", q.Understood)
	}
}

// sayListed says what public price lists have for the same, old as they are.
func sayListed(p *page, list []bridge.ListPrice) {
	if len(list) == 0 {
		return
	}
	var rows []string
	for i := range list {
		l := &list[i]
		hour := bridge.Money(l.Low).String()
		if l.High != l.Low {
			hour += " to " + bridge.Money(l.High).String()
		}
		rows = append(rows, row(l.Cloud, l.Type, fmt.Sprintf("%d x %s", l.GPUs, l.GPU), string(l.Market), hour, l.As))
	}
	p.line("")
	p.line("By public price lists, to compare; nothing is rented at them:")
	p.table("PROVIDER\tTYPE\tEACH HAS\tMARKET\tEACH HOUR\tLIST OF", rows)
}

func outcome(o *desk.Quoted) string {
	switch o.Outcome {
	case desk.AtOnce:
		return "is rented at once"
	case desk.AskOne:
		if o.Over.Micro > 0 {
			return "asks an approver (" + o.Over.String() + " over)"
		}
		return "asks an approver"
	case desk.Refused:
		return "is refused: " + o.Text
	}
	return string(o.Outcome)
}

// sayLocal says what the local queue would do instead, and who says so.
func sayLocal(p *page, l *desk.Local, now time.Time) {
	switch {
	case l == nil:
		return
	case l.Source == desk.FromScheduler:
		p.line("Local queue: job %s starts %s, in %s, by the scheduler's own estimate.", l.Job, desk.Clock(l.Start), desk.Span(l.Start.Sub(now)))
	case l.Waiting == 0:
		p.line("Local queue of %s: no job waits for machines, as seen %s; nothing estimates this size.", l.Cluster, desk.Clock(l.At))
	default:
		p.line("Local queue of %s: %s for machines, the oldest for %s, as seen %s; nothing estimates this size.",
			l.Cluster, waiting(l.Waiting), desk.Span(time.Duration(l.Oldest)*time.Second), desk.Clock(l.At))
	}
}

func waiting(n int) string {
	if n == 1 {
		return "1 job waits"
	}
	return fmt.Sprintf("%d jobs wait", n)
}

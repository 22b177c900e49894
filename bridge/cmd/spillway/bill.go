package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/text/currency"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/bill"
	"spillway.sh/spillway/bridge/desk"
)

type billCmd struct {
	Check  billCheckCmd  `cmd:"" help:"Compare a provider's bill with the books; nothing is changed."`
	Import billImportCmd `cmd:"" help:"Store a bill's lines, and correct what settled rentals have cost."`
	Show   billShowCmd   `cmd:"" help:"The bill of a month, as far as it was imported, next to the books."`
	Settle billSettleCmd `cmd:"" help:"Correct by imported lines what has been settled since."`
}

// billFile is a provider's export, and how to read it.
type billFile struct {
	File     string `arg:"" predictor:"file" help:"The provider's export: CSV, packed with gzip or not."`
	Cloud    string `required:"" help:"The cloud it is of, by its name in the configuration." placeholder:"NAME"`
	Columns  string `help:"Columns of a file that is not in FOCUS, as FIELD=COLUMN." placeholder:"FIELD=COLUMN,..."`
	Currency string `help:"Currency of a file without a column for it." placeholder:"CODE"`
	Zone     string `help:"Time zone of times that name none (FOCUS: UTC)." default:"UTC" placeholder:"ZONE"`
	Encoding string `help:"How the file is text: auto, utf-8, gb18030 or utf-16." enum:"auto,utf-8,gb18030,utf-16" default:"auto"`
	Invoice  string `help:"Number of the invoice, of a file without a column for it." placeholder:"NUMBER"`
	tolerance
}

type tolerance struct {
	Tolerance string `help:"What a rental's bill may differ by and count as rounded." default:"0.01" placeholder:"AMOUNT"`
}

// micro is the tolerance in micro-units.
func (t tolerance) micro() (int64, error) {
	d, ok := bill.ParseAmount(t.Tolerance)
	if !ok || d < 0 {
		return 0, &desk.Error{Kind: desk.BadRequest, Wrong: fmt.Sprintf("--tolerance %q is no amount", t.Tolerance), Try: "--tolerance 0.01"}
	}
	return max(d, 1), nil
}

// read reads the file, or says every mistake in it.
func (c *billFile) read(a *app) (desk.BillRequest, *bill.File, error) {
	q := desk.BillRequest{Cloud: c.Cloud}
	o, err := c.options()
	if err != nil {
		return q, nil, err
	}
	if q.Tolerance, err = c.micro(); err != nil {
		return q, nil, err
	}
	in, err := os.Open(c.File)
	if err != nil {
		return q, nil, &desk.Error{Kind: desk.NotFound, Wrong: fmt.Sprintf("the bill cannot be read: %s", err), Try: "spillway bill check FILE --cloud " + c.Cloud, Err: err}
	}
	defer func() { _ = in.Close() }() // it was only read
	words := billTexts[a.lang()]
	o.Progress = func(lines int) { fmt.Fprintf(a.errs, words.reading+"\n", words.lines(lines)) }
	f, err := bill.Read(in, o)
	if faults, ok := errors.AsType[*bill.Faults](err); ok {
		return q, nil, c.sayFaults(a, faults)
	}
	if err != nil {
		return q, nil, &desk.Error{Kind: desk.BadRequest, Wrong: err.Error(), Try: "spillway bill check --help", Err: err}
	}
	q.Lines, q.From, q.To = f.Lines, f.From, f.To
	return q, f, nil
}

// sayFaults prints what is wrong with a file and ends with the code of a check
// that found something.
func (c *billFile) sayFaults(a *app, faults *bill.Faults) error {
	words := billTexts[a.lang()]
	fmt.Fprintf(a.errs, words.unreadable+"\n", plain(c.File))
	for i := range faults.List {
		fmt.Fprintf(a.errs, "  %s\n", plain(a.lang().BillFault(&faults.List[i])))
	}
	if faults.More {
		fmt.Fprintf(a.errs, "  %s\n", words.more)
	}
	return errFound
}

func (c *billFile) options() (bill.Options, error) {
	o := bill.Options{Cloud: c.Cloud, Now: utcNow(), Encoding: bill.Encoding(c.Encoding), Invoice: c.Invoice}
	fail := func(try string, err error) (bill.Options, error) {
		return o, &desk.Error{Kind: desk.BadRequest, Wrong: err.Error(), Try: try, Err: err}
	}
	var err error
	if o.Zone, err = time.LoadLocation(c.Zone); err != nil {
		return fail("--zone Asia/Shanghai", err)
	}
	if c.Columns != "" {
		if o.Columns, err = bill.ParseColumns(c.Columns); err != nil {
			return fail(`--columns "machine=InstanceID,amount=Cost,from=Start,to=End"`, err)
		}
	}
	if c.Currency != "" {
		if _, err := currency.ParseISO(c.Currency); err != nil {
			return fail("--currency CNY", fmt.Errorf("%q is no currency of ISO 4217", c.Currency))
		}
		o.Currency = bridge.Currency(c.Currency)
	}
	return o, nil
}

const billKeys = `JSON keys: cloud, from, to, currency, lines, matched[], differing[], waiting[], missing[] (each: rental, account, state,
machines, lines, from, to, metered, was, billed, difference, why, fx[], invoices[], corrections[] (key, rental, kind,
amount, used, who, memo, fx)), stray[] (cloud, invoice, key, machine, rental, from, to, kind, amount, text, row, store,
why, other), not_ours[] (kind, lines, amount), metered, was, billed, change, done, added, known, corrected; of a file:
read (rows, loose[], encoding, focus).`

type billCheckCmd struct {
	format
	billFile
}

// Help gives examples.
func (billCheckCmd) Help() string {
	return `Examples:
  spillway bill check north-2026-11.csv.gz --cloud north
  spillway bill check 11月账单.csv --cloud east --zone Asia/Shanghai --columns \
    "machine=实例ID,tags=实例标签,amount=应付金额,currency=币种,from=消费开始时间,to=消费结束时间,kind=消费类型,text=计费项"

A file in FOCUS needs no --columns. Fields: machine, rental, tags, amount, currency, from, to, month, kind, invoice, key,
text. Every mistake is said with its line and column. Nothing is stored.

Exit code 7 when the file has mistakes.

` + billKeys
}

// Run compares.
func (c *billCheckCmd) Run(a *app) error {
	q, f, err := c.read(a)
	if err != nil {
		return err
	}
	got, err := ask(a, desk.AskBill, q)
	if err != nil {
		return err
	}
	return c.print(a, readOf(got, f), func(p *page) { sayBill(p, &got, f, a.lang()) })
}

type billImportCmd struct {
	format
	billFile
	Yes bool `short:"y" help:"Do not ask."`
}

// Help gives examples.
func (billImportCmd) Help() string {
	return `Examples:
  spillway bill import north-2026-11.csv.gz --cloud north
  spillway bill import north-2026-11.csv.gz --cloud north --yes -o json

Only an admin may. The same bill twice counts once. Rentals whose books are open, and those billed in part, wait for a
later import or for: spillway bill settle. What belongs to no rental for certain is shown and never settled.

Exit code 7 when the file has mistakes, 5 when a line was imported before with another content; nothing is stored then.

` + billKeys
}

// Run compares, asks, stores and corrects.
func (c *billImportCmd) Run(a *app) error {
	q, f, err := c.read(a)
	if err != nil {
		return err
	}
	words := billTexts[a.lang()]
	if !c.Yes {
		plan, err := ask(a, desk.AskBill, q)
		if err != nil {
			return err
		}
		if err := c.print(a, readOf(plan, f), func(p *page) { sayBill(p, &plan, f, a.lang()) }); err != nil {
			return err
		}
		if err := a.confirm(false, fmt.Sprintf(words.confirm, words.lines(plan.Added), words.made(plan.Corrected), signed(plan.Change))); err != nil {
			return err
		}
	}
	got, err := ask(a, desk.AskBillImport, q)
	if err != nil {
		return err
	}
	return c.print(a, readOf(got, f), func(p *page) {
		if c.Yes {
			sayBill(p, &got, f, a.lang())
			return
		}
		p.line(words.done, words.lines(got.Added), got.Known, words.made(got.Corrected), signed(got.Change))
	})
}

type billMonth struct {
	Cloud string `required:"" help:"The cloud, by its name in the configuration." placeholder:"NAME"`
	Month string `required:"" help:"The month, in the zone of the budgets." placeholder:"YYYY-MM"`
	tolerance
}

func (c *billMonth) request() (desk.BillRequest, error) {
	micro, err := c.micro()
	return desk.BillRequest{Cloud: c.Cloud, Month: c.Month, Tolerance: micro}, err
}

type billShowCmd struct {
	format
	billMonth
}

// Help gives examples.
func (billShowCmd) Help() string {
	return `Examples:
  spillway bill show --cloud north --month 2026-11

` + billKeys
}

// Run shows what was imported.
func (c *billShowCmd) Run(a *app) error {
	q, err := c.request()
	if err != nil {
		return err
	}
	got, err := ask(a, desk.AskBill, q)
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) { sayBill(p, &got, nil, a.lang()) })
}

type billSettleCmd struct {
	format
	billMonth
}

// Help gives examples.
func (billSettleCmd) Help() string {
	return `Examples:
  spillway bill settle --cloud north --month 2026-11

Corrects rentals that were not settled yet when their bill was imported. Only an admin may.

` + billKeys
}

// Run corrects by what was imported.
func (c *billSettleCmd) Run(a *app) error {
	q, err := c.request()
	if err != nil {
		return err
	}
	got, err := ask(a, desk.AskBillImport, q)
	if err != nil {
		return err
	}
	return c.print(a, got, func(p *page) { sayBill(p, &got, nil, a.lang()) })
}

// exchange is the policy's rate of a time, for bills in another currency.
func (s *site) exchange(from, to bridge.Currency, at time.Time) (bridge.Exchange, error) {
	rates, broken := s.policy.Rates(at) // the last good ones, where the table cannot be read
	x, no := rates.Find(from, to, at)
	if no == "" {
		return x, nil
	}
	if no == bridge.ReasonOldExchange {
		return x, errors.Join(fmt.Errorf("the newest before %s is %s, which is too old for policy", at.UTC().Format(time.DateOnly), x), broken)
	}
	return x, errors.Join(fmt.Errorf("policy has none from %s to %s", from, to), broken)
}

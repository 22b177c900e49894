package desk

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/bill"
)

// billBooks are books that keep bills, too.
type billBooks struct {
	*books
	lines []bridge.BillLine
	made  []bridge.Correction
	fail  error // of Correct
}

func (b *billBooks) StoreID() string { return "ours" }

func (b *billBooks) RentalsBetween(context.Context, time.Time, time.Time) ([]bridge.Rental, error) {
	return append([]bridge.Rental{}, b.rentals...), nil
}

func (b *billBooks) Corrections(context.Context, time.Time, time.Time) ([]bridge.Correction, error) {
	return b.made, nil
}

func (b *billBooks) BillLines(_ context.Context, cloud string, from, to time.Time) ([]bridge.BillLine, error) {
	var out []bridge.BillLine
	for _, l := range b.lines {
		if l.Cloud == cloud && l.From.Before(to) && l.To.After(from) {
			out = append(out, l)
		}
	}
	return out, nil
}

func (b *billBooks) SaveBill(_ context.Context, lines []bridge.BillLine) (added, known int, err error) {
	b.lines = append(b.lines, lines...)
	return len(lines), 0, nil
}

func (b *billBooks) Correct(_ context.Context, cs []bridge.Correction, news ...bridge.News) (int, error) {
	if b.fail != nil {
		return 0, b.fail
	}
	for _, c := range cs {
		b.made = append(b.made, c)
		b.rentals[b.find(c.Rental)].Cost.Micro += c.Amount.Micro
	}
	b.tell(news)
	return len(cs), nil
}

// newBills is a desk with one settled rental of 20 USD, and root.
func newBills(t *testing.T) (*Desk, *billBooks) {
	t.Helper()
	d, w := newWorld(t)
	b := &billBooks{books: w.books}
	d.Reader, d.Writer, d.CloudNames = b, b, []string{"stratus"}
	from := noon.Add(-3 * time.Hour)
	b.rentals = append(b.rentals, bridge.Rental{
		ID: bridge.NewRentalID(1), State: bridge.StateSettled, Account: "site/ai/nlp/ana", Cluster: "main", Requester: "ana", Pool: bridge.Pool{Cloud: "stratus"},
		Created: from, Cost: usd(20), Hold: usd(40), Rate: rate(20), Step: time.Second,
		Machines: []bridge.Machine{{ID: "i-1", Rate: rate(20), Started: from, Stopped: from.Add(time.Hour), State: bridge.MachineGone}},
	})
	return d, b
}

func billOf(amount float64, machine string) BillRequest {
	from := noon.Add(-3 * time.Hour)
	return BillRequest{Cloud: "stratus", Lines: []bill.Line{{
		BillLine: bridge.BillLine{Key: machine, Invoice: "INV-1", Machine: machine, From: from, To: from.Add(time.Hour), Kind: bill.KindUsage, Amount: usd(amount)}, Row: 2,
	}}}
}

func TestABillIsCheckedImportedAndCountsOnce(t *testing.T) {
	d, b := newBills(t)
	root, q := d.as("root"), billOf(22, "i-1")
	a, err := d.CheckBill(t.Context(), root, q)
	if err != nil || a.Done || a.Added != 1 || a.Corrected != 1 || a.Change != usd(2) || len(b.lines)+len(b.made)+len(b.news) != 0 {
		t.Fatalf("checked: %+v, %v", a, err)
	}
	a, err = d.ImportBill(t.Context(), root, q)
	if err != nil || !a.Done || a.Added != 1 || a.Corrected != 1 || b.rentals[0].Cost != usd(22) {
		t.Fatalf("imported: %+v, %v", a, err)
	}
	if len(b.news) != 1 || b.news[0].Kind != bridge.NewsCorrected || b.news[0].Text != "was 20.00 USD, now 22.00 USD, by bill INV-1 of stratus" {
		t.Errorf("news: %+v", b.news)
	}
	if zh := Chinese.Told(b.news[0].Text); zh != "原为 20.00 USD，现为 22.00 USD，依据 stratus 的账单 INV-1" {
		t.Errorf("told as %q", zh)
	}
	a, err = d.ImportBill(t.Context(), root, q)
	if err != nil || a.Added != 0 || a.Known != 1 || a.Corrected != 0 || b.rentals[0].Cost != usd(22) || len(b.news) != 1 {
		t.Errorf("imported again: %+v, %v", a, err)
	}
}

// What was stored, and not corrected because of a crash, is corrected by the
// next import.
func TestAnImportThatBrokeOffGoesOn(t *testing.T) {
	d, b := newBills(t)
	root, q := d.as("root"), billOf(22, "i-1")
	b.fail = errors.New("the disk is full")
	if _, err := d.ImportBill(t.Context(), root, q); kind(err) != Unavailable {
		t.Fatalf("imported with %v", err)
	}
	b.fail = nil
	a, err := d.ImportBill(t.Context(), root, q)
	if err != nil || a.Known != 1 || a.Corrected != 1 || b.rentals[0].Cost != usd(22) {
		t.Errorf("imported: %+v, %v", a, err)
	}
}

// A rental that was open when its bill came is corrected once it is settled.
func TestWhatWaitedIsSettledLater(t *testing.T) {
	d, b := newBills(t)
	root := d.as("root")
	b.rentals[0].State = bridge.StateReleasing
	a, err := d.ImportBill(t.Context(), root, billOf(22, "i-1"))
	if err != nil || a.Corrected != 0 || len(a.Waiting) != 1 || a.Waiting[0].Why != bill.GuessOpen {
		t.Fatalf("imported: %+v, %v", a, err)
	}
	b.rentals[0].State = bridge.StateSettled
	a, err = d.ImportBill(t.Context(), root, BillRequest{Cloud: "stratus", Month: "2026-11"})
	if err != nil || a.Corrected != 1 || b.rentals[0].Cost != usd(22) {
		t.Errorf("settled: %+v, %v", a, err)
	}
}

func TestBillsAreRefused(t *testing.T) {
	d, b := newBills(t)
	root := d.as("root")
	if _, err := d.ImportBill(t.Context(), root, billOf(20, "i-1")); err != nil {
		t.Fatal(err)
	}
	twice := billOf(20, "i-1")
	twice.Lines = append(twice.Lines, twice.Lines[0])
	ahead := billOf(20, "i-2")
	ahead.Lines[0].To = noon.Add(72 * time.Hour)
	foreign := billOf(20, "i-1")
	foreign.Lines[0].Key, foreign.Lines[0].Amount.Currency = "k", "CNY"
	for name, c := range map[string]struct {
		who  string
		q    BillRequest
		want ErrorKind
	}{
		"a member":                     {"ana", billOf(20, "i-1"), Forbidden},
		"an approver":                  {"tom", billOf(20, "i-1"), Forbidden},
		"an unknown cloud":             {"root", BillRequest{Cloud: "nimbus", Month: "2026-11"}, NotFound},
		"no cloud":                     {"root", BillRequest{Month: "2026-11"}, BadRequest},
		"no month":                     {"root", BillRequest{Cloud: "stratus", Month: "november"}, BadRequest},
		"nothing":                      {"root", BillRequest{Cloud: "stratus"}, BadRequest},
		"another amount than before":   {"root", billOf(21, "i-1"), Conflict},
		"a line twice":                 {"root", twice, BadRequest},
		"a time to come":               {"root", ahead, BadRequest},
		"a currency without a rate":    {"root", foreign, BadRequest},
		"a tolerance of less than 0":   {"root", BillRequest{Cloud: "stratus", Month: "2026-11", Tolerance: -1}, BadRequest},
		"a line without an end or key": {"root", BillRequest{Cloud: "stratus", Lines: []bill.Line{{Row: 2}}}, BadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := d.ImportBill(t.Context(), d.as(c.who), c.q)
			if kind(err) != c.want {
				t.Errorf("imported with %v", err)
			}
			if e := AsError(err); Chinese.Wrong(e) == e.Wrong || strings.Contains(Chinese.Wrong(e), "%!") {
				t.Errorf("in Chinese: %q", Chinese.Wrong(e))
			}
			if len(b.lines) != 1 || len(b.made) != 0 || b.rentals[0].Cost != usd(20) {
				t.Error("something was stored")
			}
		})
	}
	if _, err := d.CheckBill(t.Context(), d.as("tom"), billOf(20, "i-1")); err != nil {
		t.Errorf("an approver may not look: %v", err)
	}
	if _, err := d.CheckBill(t.Context(), d.as("ana"), billOf(20, "i-1")); kind(err) != Forbidden {
		t.Errorf("a member looked: %v", err)
	}
	d.Writer = nil
	if _, err := d.ImportBill(t.Context(), root, billOf(20, "i-1")); kind(err) != Unavailable {
		t.Errorf("imported without a daemon: %v", err)
	}
}

func TestBillsInAnotherCurrencyAreConverted(t *testing.T) {
	d, b := newBills(t)
	d.Exchange = func(from, to bridge.Currency, _ time.Time) (bridge.Exchange, error) {
		return bridge.Exchange{From: from, To: to, Micro: 140_000, Source: "test", Date: noon}, nil
	}
	q := billOf(150, "i-1")
	q.Lines[0].Amount.Currency = "CNY"
	a, err := d.ImportBill(t.Context(), d.as("root"), q)
	if err != nil || a.Change != usd(1) || b.made[0].FX != "1 CNY = 0.140000 USD (test, 2026-11-30)" {
		t.Errorf("%+v, %v", a, err)
	}
}

// constants reads the texts of a type's constants in a file of package bill.
func constants(t *testing.T, file, typ string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../bill/"+file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		id, named := v.Type.(*ast.Ident)
		if lit, ok := v.Values[0].(*ast.BasicLit); ok && named && id.Name == typ {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				out = append(out, s)
			}
		}
		return true
	})
	return out
}

func TestBillsHaveWordsInBothLanguages(t *testing.T) {
	for _, lang := range []Lang{English, Chinese} {
		all := constants(t, "statement.go", "Guess")
		if len(all) < 14 {
			t.Fatalf("only %d guesses were found", len(all))
		}
		for _, g := range all {
			if lang.Guess(bill.Guess(g)) == "" {
				t.Errorf("%s has no words for %s", lang, g)
			}
		}
		for _, s := range constants(t, "statement.go", "Stray") {
			if lang.Stray(bill.Stray(s)) == "" {
				t.Errorf("%s has no words for %s", lang, s)
			}
		}
		for _, k := range []string{bill.KindUsage, bill.KindCredit, bill.KindRefund, bill.KindTax, bill.KindOther} {
			if lang.BillKind(k) == "" {
				t.Errorf("%s has no words for %s", lang, k)
			}
		}
		faults := constants(t, "fault.go", "FaultKind")
		if len(faults) < 17 {
			t.Fatalf("only %d faults were found", len(faults))
		}
		for _, k := range faults {
			f := bill.Fault{Line: 7, Column: 3, Name: "Cost", Kind: bill.FaultKind(k), Got: "x", Want: "y"}
			if s := lang.BillFault(&f); strings.Contains(s, "%!") || strings.HasSuffix(s, ": ") || strings.HasSuffix(s, "：") || !strings.Contains(s, "7") {
				t.Errorf("%s says %q", lang, s)
			}
		}
	}
}

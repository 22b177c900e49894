package bill

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

func at(day, hour, minute int) time.Time {
	return time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC)
}

func usd(micro int64) bridge.Money { return bridge.Money{Micro: micro, Currency: "USD"} }

// rental is one settled machine at 4 USD an hour, charged by the second.
func rental(id bridge.RentalID, machine string, from, to time.Time) bridge.Rental {
	r := bridge.Rental{
		ID: id, State: bridge.StateSettled, Account: "lab/ai/nlp/ana", Cluster: "main", Pool: bridge.Pool{Cloud: "north"}, Rate: bridge.Rate(usd(4_000_000)),
		Step: time.Second, Created: from, Machines: []bridge.Machine{{ID: machine, State: bridge.MachineGone, Rate: bridge.Rate(usd(4_000_000)), Started: from, Stopped: to}},
	}
	cost, err := r.Rate.Cost(r.Billing().Charged(to.Sub(from)), 1, bridge.RoundHalfEven)
	if err != nil {
		panic(err)
	}
	r.Cost, r.Hold = cost, cost
	return r
}

var keys int

// line is one of a bill.
func line(kind, machine string, tag bridge.RentalID, micro int64, from, to time.Time) Line {
	keys++
	return Line{BillLine: bridge.BillLine{
		Cloud: "north", Invoice: "INV-1", Key: fmt.Sprintf("k%d", keys), Machine: machine, Rental: tag, From: from, To: to, Kind: kind, Amount: usd(micro),
	}, Row: keys + 1}
}

func books(rentals ...bridge.Rental) Books {
	return Books{
		Cloud: "north", Rentals: rentals, Tolerance: Tolerance, Currency: "USD", Now: now, Who: "root", From: at(1, 0, 0), To: at(30, 0, 0),
		Exchange: func(m bridge.Money, to bridge.Currency, _ time.Time) (bridge.Money, string, error) {
			if m.Currency != "CNY" {
				return bridge.Money{}, "", errors.New("policy has no rate for it")
			}
			x := bridge.Exchange{From: "CNY", To: to, Micro: 140_000, Source: "test", Date: at(1, 0, 0)}
			out, err := x.Convert(m, bridge.RoundHalfEven)
			return out, x.String(), err
		},
	}
}

func match(t *testing.T, b Books, lines ...Line) *Statement {
	t.Helper()
	s, err := Match(lines, b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// all are the cases of a statement by rental.
func all(s *Statement) map[bridge.RentalID]Case {
	out := map[bridge.RentalID]Case{}
	for _, list := range [][]Case{s.Matched, s.Differing, s.Waiting, s.Missing} {
		for _, c := range list {
			out[c.Rental] = c
		}
	}
	return out
}

func TestDifferencesHaveAReason(t *testing.T) {
	from, to := at(10, 8, 0), at(10, 10, 30) // 2.5 h, 10 USD
	r := rental("r-0011", "i-1", from, to)
	cheap := r
	cheap.FX = "1 CNY = 0.139000 USD (test, 2026-11-01)"
	quick := rental("r-0011", "i-1", from, at(10, 8, 10)) // 0.666667 USD
	yuan := line(KindUsage, "i-1", "", 70_000_000, from, to)
	yuan.Amount.Currency = "CNY"
	for name, c := range map[string]struct {
		r      bridge.Rental
		lines  []Line
		want   Guess
		change int64
	}{
		"equal":          {r, []Line{line(KindUsage, "i-1", "r-0011", 10_000_000, from, to)}, GuessEqual, 0},
		"by tag alone":   {r, []Line{line(KindUsage, "", "r-0011", 10_000_000, from, to)}, GuessEqual, 0},
		"by path":        {r, []Line{line(KindUsage, "/subscriptions/7/virtualMachines/i-1", "", 10_000_000, from, to)}, GuessEqual, 0},
		"by hours":       {r, []Line{line(KindUsage, "i-1", "", 4_000_000, from, at(10, 9, 0)), line(KindUsage, "i-1", "", 4_000_000, at(10, 9, 0), at(10, 10, 0)), line(KindUsage, "i-1", "", 2_000_000, at(10, 10, 0), at(10, 11, 0))}, GuessEqual, 0},
		"rounding":       {r, []Line{line(KindUsage, "i-1", "", 10_009_999, from, to)}, GuessRounding, 0},
		"another price":  {r, []Line{line(KindUsage, "i-1", "", 11_000_000, from, to)}, GuessPrice, 1_000_000},
		"longer":         {r, []Line{line(KindUsage, "i-1", "", 10_400_000, from, at(10, 10, 36))}, GuessLonger, 400_000},
		"shorter":        {r, []Line{line(KindUsage, "i-1", "", 9_000_000, from, at(10, 10, 15))}, GuessShorter, -1_000_000},
		"a whole hour":   {quick, []Line{line(KindUsage, "i-1", "", 4_000_000, from, at(10, 9, 0))}, GuessMinimum, 3_333_333},
		"a credit":       {r, []Line{line(KindUsage, "i-1", "", 10_000_000, from, to), line(KindCredit, "i-1", "", -2_000_000, from, to)}, GuessCredit, -2_000_000},
		"tax":            {r, []Line{line(KindUsage, "i-1", "", 10_000_000, from, to), line(KindTax, "i-1", "", 600_000, from, to)}, GuessTax, 600_000},
		"a disk":         {r, []Line{line(KindUsage, "i-1", "", 10_000_000, from, to), line(KindUsage, "vol-9", "r-0011", 50_000, from, to)}, GuessExtra, 50_000},
		"another rate":   {cheap, []Line{yuan}, GuessExchange, -200_000},
		"more than paid": {r, []Line{line(KindUsage, "i-1", "", 10_000_000, from, to), line(KindCredit, "i-1", "", -12_000_000, from, to)}, GuessBelow, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := match(t, books(c.r), c.lines...)
			got := all(s)["r-0011"]
			if got.Why != c.want || s.Change.Micro != c.change || len(s.Stray) != 0 {
				t.Errorf("%s, change %d, strays %v; want %s, %d", got.Why, s.Change.Micro, s.Stray, c.want, c.change)
			}
		})
	}
}

func TestWhatIsNotCertainWaits(t *testing.T) {
	from, to := at(10, 8, 0), at(10, 10, 30)
	r := rental("r-0011", "i-1", from, to)
	open := r
	open.State = bridge.StateAdmitted
	two := r
	two.Machines = append(slices.Clone(r.Machines), bridge.Machine{ID: "i-2", Started: from, Stopped: to})
	for name, c := range map[string]struct {
		r     bridge.Rental
		lines []Line
		want  Guess
	}{
		"books are open":      {open, []Line{line(KindUsage, "i-1", "", 11_000_000, from, to)}, GuessOpen},
		"the end is missing":  {r, []Line{line(KindUsage, "i-1", "", 4_000_000, from, at(10, 9, 0))}, GuessPart},
		"the start is":        {r, []Line{line(KindUsage, "i-1", "", 2_000_000, at(10, 10, 0), to)}, GuessPart},
		"a machine is":        {two, []Line{line(KindUsage, "i-1", "", 10_000_000, from, to)}, GuessPart},
		"only its disk":       {r, []Line{line(KindUsage, "vol-1", "r-0011", 50_000, from, to)}, GuessPart},
		"only a credit":       {r, []Line{line(KindCredit, "i-1", "", -50_000, from, to)}, GuessPart},
		"nothing is there":    {r, nil, GuessNoLine},
		"open, and no line":   {open, nil, GuessNoLine},
		"another's line only": {r, []Line{line(KindUsage, "i-9", "", 11_000_000, from, to)}, GuessNoLine},
	} {
		t.Run(name, func(t *testing.T) {
			s := match(t, books(c.r), c.lines...)
			if got := all(s)["r-0011"]; got.Why != c.want || len(s.Corrections()) != 0 {
				t.Errorf("%s, %d corrections", got.Why, len(s.Corrections()))
			}
		})
	}
}

func TestLinesOfNobodyAreNamed(t *testing.T) {
	from, to := at(10, 8, 0), at(10, 10, 30)
	a, b := rental("r-0011", "i-1", from, to), rental("r-0022", "i-2", from, to)
	elsewhere, never := rental("r-0033", "i-3", from, to), rental("r-0044", "", from, to)
	elsewhere.Pool.Cloud = "south"
	s := match(t, books(a, b, elsewhere, never),
		line(KindUsage, "i-1", "r-0022", 10_000_000, from, to), // its tag says one, its machine another
		line(KindUsage, "i-8", "r-0099", 1_000_000, from, to),
		line(KindUsage, "i-3", "r-0033", 1_000_000, from, to),
		line(KindUsage, "i-4", "r-0044", 1_000_000, from, to),
		line(KindUsage, "i-7", "", 1_000_000, from, to), line(KindUsage, "i-6", "", 2_000_000, from, to),
	)
	type stray struct {
		Machine string
		Why     Stray
		Other   bridge.RentalID
	}
	var got []stray
	for _, x := range s.Stray {
		got = append(got, stray{x.Machine, x.Why, x.Other})
	}
	if d := cmp.Diff([]stray{{"i-1", StrayDisagree, "r-0011"}, {"i-8", StrayUnknown, ""}, {"i-3", StrayCloud, ""}, {"i-4", StrayNeverMade, ""}}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Sum{{KindUsage, 2, usd(3_000_000)}}, s.NotOurs); d != "" {
		t.Error(d)
	}
	if len(s.Corrections()) != 0 || len(s.Missing) != 2 {
		t.Errorf("%d corrections, %d missing", len(s.Corrections()), len(s.Missing))
	}
}

// What another store rented is not ours, though its ids look like ours.
func TestTagsOfAnotherStoreAreNotOurs(t *testing.T) {
	from, to := at(10, 8, 0), at(10, 10, 30)
	f, err := read(t, focusHeader+focusRow("11", "Usage", "", "2026-11-10T08:00:00Z", "2026-11-10T10:30:00Z", "i-9",
		`"{""spillway-rental"":""r-0011"",""spillway-store"":""theirs""}"`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := books(rental("r-0011", "i-1", from, to))
	b.Store = "ours"
	s := match(t, b, f.Lines...)
	if len(s.Stray)+len(s.Corrections()) != 0 || len(s.NotOurs) != 1 || s.Lines != 0 {
		t.Errorf("%+v", s)
	}
	b.Store = "theirs"
	if s := match(t, b, f.Lines...); s.Lines != 1 {
		t.Errorf("our own tag: %+v", s)
	}
}

// settle applies corrections as books do.
func settle(b *Books, cs []bridge.Correction) {
	for _, c := range cs {
		b.Prior = append(b.Prior, c)
		for i := range b.Rentals {
			if r := &b.Rentals[i]; r.ID == c.Rental {
				r.Cost.Micro += c.Amount.Micro
			}
		}
	}
}

// A rental over the end of a month is corrected in each month by what that
// month was billed.
func TestCorrectionsCountInTheDayTheirCostArose(t *testing.T) {
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	from, midnight, to := at(30, 12, 0), at(30, 16, 0), at(30, 18, 0) // midnight in Shanghai
	b := books(rental("r-0011", "i-1", from, to))
	b.Zone = shanghai
	s := match(t, b, line(KindUsage, "i-1", "", 17_000_000, from, midnight), line(KindUsage, "i-1", "", 7_500_000, midnight, to))
	want := []bridge.Correction{
		{Rental: "r-0011", Kind: bridge.ByBill, Amount: usd(1_000_000), Used: from, Who: "root", Memo: "bill INV-1 of north"},
		{Rental: "r-0011", Kind: bridge.ByBill, Amount: usd(-500_000), Used: midnight, Who: "root", Memo: "bill INV-1 of north"},
	}
	got := s.Corrections()
	for i := range got {
		if !strings.HasPrefix(got[i].Key, "bill/north/rental/r-0011/") || !strings.HasSuffix(got[i].Key, []string{"/2026-11-30", "/2026-12-01"}[i]) {
			t.Errorf("key %s", got[i].Key)
		}
		got[i].Key = ""
	}
	if d := cmp.Diff(want, got); d == "" {
		return
	}
	t.Error(cmp.Diff(want, got))
}

func TestTheSameBillTwiceCountsOnce(t *testing.T) {
	from, to := at(10, 8, 0), at(10, 10, 30)
	b := books(rental("r-0011", "i-1", from, to))
	lines := []Line{line(KindUsage, "i-1", "", 11_000_000, from, to), line(KindCredit, "i-1", "", -500_000, from, to)}
	first := match(t, b, lines...)
	again := match(t, b, lines[1], lines[0])
	if d := cmp.Diff(first.Corrections(), again.Corrections()); d != "" {
		t.Errorf("the same bill in another order: %s", d)
	}
	settle(&b, first.Corrections())
	second := match(t, b, lines...)
	if c := all(second)["r-0011"]; len(second.Corrections()) != 0 || c.Why != GuessDone || c.Was != usd(10_500_000) || c.Metered != usd(10_000_000) {
		t.Errorf("%+v", c)
	}
	// A line that comes later is all that is corrected then.
	lines = append(lines, line(KindTax, "i-1", "", 600_000, from, to))
	late := match(t, b, lines...)
	if late.Change != usd(600_000) || len(late.Corrections()) != 1 {
		t.Errorf("changed by %s: %+v", late.Change, late.Corrections())
	}
	settle(&b, late.Corrections())
	if s := match(t, b, lines...); len(s.Corrections()) != 0 || s.Billed != s.Was {
		t.Errorf("%+v", s)
	}
}

func TestACurrencyWithoutARateIsRefused(t *testing.T) {
	from, to := at(10, 8, 0), at(10, 10, 30)
	l := line(KindUsage, "i-1", "", 11_000_000, from, to)
	l.Amount.Currency = "EUR"
	_, err := Match([]Line{l}, books(rental("r-0011", "i-1", from, to)))
	if faults, ok := errors.AsType[*Faults](err); !ok || faults.List[0].Kind != FaultRate || faults.List[0].Line != l.Row {
		t.Errorf("matched with %v", err)
	}
}

func TestOnlyLinesOfOursAreKept(t *testing.T) {
	from, to := at(10, 8, 0), at(10, 10, 30)
	lines := []Line{line(KindUsage, "i-1", "", 1, from, to), line(KindUsage, "i-9", "", 1, from, to), line(KindUsage, "vol-1", "r-0011", 1, from, to)}
	theirs := line(KindUsage, "i-9", "r-0011", 1, from, to)
	theirs.Store = "another"
	got := Ours(append(lines, theirs), "north", "ours", []bridge.Rental{rental("r-0011", "i-1", from, to)})
	if len(got) != 2 || got[0].Machine != "i-1" || got[1].Machine != "vol-1" {
		t.Errorf("%+v", got)
	}
}

func TestNewsSayWhatItWasAndIs(t *testing.T) {
	from, to := at(10, 8, 0), at(10, 10, 30)
	s := match(t, books(rental("r-0011", "i-1", from, to)), line(KindUsage, "i-1", "", 11_000_000, from, to))
	n := s.Differing[0].News("north", "main", "root", now)
	want := bridge.News{
		At: now, Kind: bridge.NewsCorrected, Cluster: "main", Rental: "r-0011", Who: "root", Cost: usd(1_000_000),
		Text: "was 10.00 USD, now 11.00 USD, by bill INV-1 of north",
	}
	if d := cmp.Diff(want, n); d != "" {
		t.Error(d)
	}
}

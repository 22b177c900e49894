package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// noon is when the ledgers of these tests begin.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// begin is a start at a minute after noon, of an operation, for a rental's attempt.
func begin(machine string, minute int, op, rental, attempt string) wire.Entry {
	e := wire.Entry{
		At: noon.Add(time.Duration(minute) * time.Minute), Kind: wire.EntryStart, Cloud: "nimbus", Machine: machine,
		Pool: &wire.Pool{Region: "east", Zone: "east-1", Type: "gpu8", Market: "spot"}, Operation: op, Token: "token-" + op,
		Rate: &wire.Rate{Micro: 6_000_000, Currency: "USD"}, Step: wire.Duration(time.Minute), Minimum: wire.Duration(2 * time.Minute),
	}
	if rental != "" {
		e.Tags = map[string]string{bridge.TagStore: "st", bridge.TagRental: rental, bridge.TagAttempt: attempt}
	}
	return e
}

func stop(machine string, minute float64, why string) wire.Entry {
	return wire.Entry{At: noon.Add(time.Duration(minute * float64(time.Minute))), Kind: wire.EntryStop, Cloud: "nimbus", Machine: machine, Why: why}
}

func TestJudge(t *testing.T) {
	sameToken := begin("b", 0, "op2", "", "")
	sameToken.Token = "token-op1"
	yuan := begin("b", 0, "op2", "r", "1")
	yuan.Rate = &wire.Rate{Micro: 1_000_000, Currency: "CNY"}
	expiring := begin("a", 0, "op1", "r", "1")
	expiring.Expires = noon.Add(10 * time.Minute)
	extended := wire.Entry{At: noon.Add(5 * time.Minute), Kind: wire.EntryExtend, Machine: "a", Expires: noon.Add(time.Hour)}
	term := begin("a", 0, "op1", "r", "1")
	term.Term, term.EarlyPM = wire.Duration(time.Hour), 500
	usd := func(micro int64) map[bridge.Currency]int64 { return map[bridge.Currency]int64{"USD": micro} }
	for name, tc := range map[string]struct {
		entries []wire.Entry
		want    server.Judgement
	}{
		"nothing happened": {nil, server.Judgement{CostMicro: map[bridge.Currency]int64{}}},
		"ten minutes": {
			[]wire.Entry{begin("a", 0, "op1", "r", "1"), stop("a", 10, "terminated")},
			server.Judgement{Machines: 1, CostMicro: usd(1_000_000)},
		},
		"a started minute counts whole": {
			[]wire.Entry{begin("a", 0, "op1", "r", "1"), stop("a", 9.01, "terminated")},
			server.Judgement{Machines: 1, CostMicro: usd(1_000_000)},
		},
		"a second costs the minimum": {
			[]wire.Entry{begin("a", 0, "op1", "r", "1"), stop("a", 0.01, "terminated")},
			server.Judgement{Machines: 1, CostMicro: usd(200_000)},
		},
		"an end before the term costs half of the rest": {
			[]wire.Entry{term, stop("a", 20, "terminated")},
			server.Judgement{Machines: 1, CostMicro: usd(4_000_000)},
		},
		"a machine that runs costs up to now": {
			[]wire.Entry{begin("a", 0, "op1", "r", "1")},
			server.Judgement{Machines: 1, CostMicro: usd(6_000_000), Live: []string{"a"}},
		},
		"two currencies are two sums": {
			[]wire.Entry{begin("a", 0, "op1", "r", "1"), yuan, stop("a", 10, "terminated"), stop("b", 60, "terminated")},
			server.Judgement{Machines: 2, CostMicro: map[bridge.Currency]int64{"USD": 1_000_000, "CNY": 1_000_000}, Doubles: []string{"rental st r attempt 1"}},
		},
		"a gang of one create is no double": {
			[]wire.Entry{begin("a", 0, "op1", "r", "1"), begin("b", 0, "op1", "r", "1"), stop("a", 10, "terminated"), stop("b", 10, "terminated")},
			server.Judgement{Machines: 2, CostMicro: usd(2_000_000)},
		},
		"one token, two creates": {
			[]wire.Entry{begin("a", 0, "op1", "", ""), sameToken, stop("a", 10, "terminated"), stop("b", 10, "terminated")},
			server.Judgement{Machines: 2, CostMicro: usd(2_000_000), Untagged: []string{"a", "b"}, Doubles: []string{"token nimbus token-op1"}},
		},
		"one attempt, two creates": {
			[]wire.Entry{begin("a", 0, "op1", "r", "1"), stop("a", 10, "terminated"), begin("b", 20, "op2", "r", "1"), stop("b", 30, "terminated")},
			server.Judgement{Machines: 2, CostMicro: usd(2_000_000), Doubles: []string{"rental st r attempt 1"}},
		},
		"the next attempt after the first": {
			[]wire.Entry{begin("a", 0, "op1", "r", "1"), stop("a", 10, "reclaimed"), begin("b", 10, "op2", "r", "2"), stop("b", 20, "terminated")},
			server.Judgement{Machines: 2, CostMicro: usd(2_000_000), Reclaimed: []string{"a"}},
		},
		"the next attempt while the first runs": {
			[]wire.Entry{begin("a", 0, "op1", "r", "1"), begin("b", 9, "op2", "r", "2"), stop("a", 10, "terminated"), stop("b", 19, "terminated")},
			server.Judgement{Machines: 2, CostMicro: usd(2_000_000), Overlaps: []string{"st r"}},
		},
		"past its end": {
			[]wire.Entry{expiring, stop("a", 20, "terminated")},
			server.Judgement{Machines: 1, CostMicro: usd(2_000_000), Late: []string{"a"}},
		},
		"past its first end, which was extended": {
			[]wire.Entry{expiring, extended, stop("a", 20, "terminated")},
			server.Judgement{Machines: 1, CostMicro: usd(2_000_000)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := server.Judge(tc.entries, noon.Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(server.Judgement{}, "Bills")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var sum int64
			for _, bill := range got.Bills {
				sum += bill.Micro
			}
			for _, micro := range got.CostMicro {
				sum -= micro
			}
			if sum != 0 || len(got.Bills) != got.Machines {
				t.Errorf("%d bills differ from the sums by %d", len(got.Bills), sum)
			}
		})
	}
}

// TestABillIsWhatItsCustomerExpects holds that Spillway's own sum for a machine
// is the cloud's, whatever the billing, the life and the rate.
func TestABillIsWhatItsCustomerExpects(t *testing.T) {
	span := func(t *rapid.T, name string, most time.Duration) time.Duration {
		return rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour, time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, name))}).Draw(t, name+" as")
	}
	rapid.Check(t, func(t *rapid.T) {
		b := bridge.Billing{
			Step: span(t, "step", 2*time.Hour), Minimum: span(t, "minimum", 3*time.Hour),
			Term: span(t, "term", 300*24*time.Hour), EarlyPM: rapid.IntRange(0, 1000).Draw(t, "early"),
		}
		rate := bridge.Rate{Micro: rapid.Int64Range(1, 1000*bridge.Micro).Draw(t, "rate"), Currency: "CNY"}
		lived := time.Duration(rapid.Int64Range(0, int64(50*time.Hour)).Draw(t, "lived"))
		e := begin("a", 0, "op1", "r", "1")
		e.Rate, e.Step, e.Minimum = &wire.Rate{Micro: rate.Micro, Currency: "CNY"}, wire.Duration(b.Step), wire.Duration(b.Minimum)
		e.Term, e.EarlyPM = wire.Duration(b.Term), b.EarlyPM
		end := wire.Entry{At: noon.Add(lived), Kind: wire.EntryStop, Cloud: "nimbus", Machine: "a"}
		got, err := server.Judge([]wire.Entry{e, end}, noon)
		if err != nil {
			t.Fatal(err)
		}
		want, err := rate.Cost(b.Charged(lived), 1, bridge.RoundHalfEven)
		if err != nil || got.Bills["a"] != want {
			t.Fatalf("%+v for %s: billed %d, expected %d: %v", b, lived, got.Bills["a"].Micro, want.Micro, err)
		}
	})
}

func TestJudgeRefusesLedgersThatContradictThemselves(t *testing.T) {
	noRate := begin("a", 0, "op1", "", "")
	noRate.Rate = nil
	for name, entries := range map[string][]wire.Entry{
		"a stop without a start":   {stop("a", 1, "terminated")},
		"two starts":               {begin("a", 0, "op1", "", ""), begin("a", 1, "op1", "", "")},
		"two stops":                {begin("a", 0, "op1", "", ""), stop("a", 1, "terminated"), stop("a", 2, "terminated")},
		"a start without a rate":   {noRate},
		"a notice without a start": {{Kind: wire.EntryNotice, Machine: "a"}},
		"a kind that is not":       {{Kind: "rumour", Machine: "a"}},
	} {
		if _, err := server.Judge(entries, noon); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestParseLedgerOverlooksNothing(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":           "hello\n",
		"an unknown member": `{"seq":1,"kind":"stop","mood":"good"}` + "\n",
		"half a line":       `{"seq":1,"kind":"st`,
	} {
		if _, err := server.ParseLedger([]byte(text)); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/books"
	"spillway.sh/spillway/bridge/cloud/local"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/desk/socket"
	"spillway.sh/spillway/bridge/store"
	"spillway.sh/spillway/policies"
)

// billed is a store with one settled rental of a local cloud, whose own ledger
// knows better what it cost.
type billed struct {
	*testing.T
	dir     string
	store   *store.Store
	budgets []bridge.Budget
	rental  bridge.Rental
	bill    string
}

func (b *billed) Budgets() []bridge.Budget                          { return b.budgets }
func (b *billed) Approval() bridge.Approval                         { return bridge.Approval{} }
func (b *billed) Terms(*bridge.Demand, *bridge.Facts) *bridge.Terms { return nil }
func (b *billed) who(context.Context, int) (name string, _ []string, _ error) {
	return "root", nil, nil
}

// step moves the rental on.
func (b *billed) step(s bridge.State) {
	b.Helper()
	b.rental.State, b.rental.Since = s, utcNow()
	var err error
	if b.rental, err = b.store.Save(b.Context(), b.rental); err != nil {
		b.Fatal(err)
	}
}

// until waits for the cloud to show what is wanted.
func (b *billed) until(c *local.Cloud, want func(bridge.Instance) bool) bridge.Instance {
	b.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		list, err := c.List(b.Context(), b.store.StoreID(), "main")
		if err != nil {
			b.Fatal(err)
		}
		if len(list.Instances) == 1 && want(list.Instances[0]) {
			return list.Instances[0]
		}
	}
	b.Fatal("the cloud never came to it")
	return bridge.Instance{}
}

// rented rents one machine of a real local cloud, gives it back, settles it for
// a tenth less than the cloud charges, and writes the cloud's bill.
func rented(t *testing.T) *billed {
	t.Helper()
	b := &billed{T: t, dir: t.TempDir()}
	ctx := t.Context()
	var err error
	if b.store, err = store.Open(ctx, filepath.Join(b.dir, "state"), store.Options{Now: utcNow}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.store.Close() })
	srv, err := server.Open(ctx, server.Options{Dir: filepath.Join(b.dir, "cloud"), World: server.DefaultWorld(), Host: server.NewNullHost()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	at, err := srv.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := local.New(local.Config{Name: "stratus", URL: "http://" + at.String(), TokenFile: srv.TokenFile("stratus", "default")})
	if err != nil {
		t.Fatal(err)
	}
	offers, err := c.Offers(ctx)
	if err != nil {
		t.Fatal(err)
	}
	o := offers[0]
	b.budgets = []bridge.Budget{{Account: "site", Every: bridge.Month, Zone: time.UTC, Limit: bridge.Money{Micro: 1000 * bridge.Micro, Currency: o.Rate.Currency}}}
	hold, err := o.Billing().Worst(o.Rate, time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	id, err := b.store.NextID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	now := utcNow()
	launch := bridge.Launch{
		Rental: id, Attempt: 1, Token: "token", Pool: o.Pool, Count: 1, MaxRate: o.Rate, UserData: "#!/bin/sh\n", Expires: now.Add(time.Hour),
		Tags: map[string]string{bridge.TagStore: b.store.StoreID(), bridge.TagCluster: "main", bridge.TagRental: string(id)},
	}
	b.rental, err = b.store.Reserve(ctx, bridge.Rental{
		ID: id, State: bridge.StateLaunching, Since: now, Cluster: "main", Account: "site/ai/nlp/ana", Requester: "ana", Class: bridge.P1, Gang: 1, Count: 1,
		Pool: o.Pool, Shape: o.Shape, Rate: o.Rate, MaxRate: o.Rate, Step: o.Step, Minimum: o.Minimum, Life: time.Hour, Hold: hold, Created: now,
		Expires: now.Add(time.Hour), Launch: launch, Why: bridge.ReasonCheapest,
	}, b.budgets)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(ctx, launch); err != nil {
		t.Fatal(err)
	}
	b.lived(c)
	entries, err := server.ReadLedger(srv.LedgerFile())
	if err != nil {
		t.Fatal(err)
	}
	var csv bytes.Buffer
	if err := server.WriteBill(&csv, "stratus", entries, utcNow()); err != nil {
		t.Fatal(err)
	}
	b.bill = filepath.Join(b.dir, "stratus.csv")
	if err := os.WriteFile(b.bill, csv.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return b
}

// lived takes the rental from its launch to its settled end.
func (b *billed) lived(c *local.Cloud) {
	b.Helper()
	in := b.until(c, func(in bridge.Instance) bool { return in.State == bridge.InstanceRunning && !in.Launched.IsZero() })
	rate := in.Rate
	rate.Micro = rate.Micro / 10 * 9
	b.rental.Machines = []bridge.Machine{{State: bridge.MachineJoined, ID: in.ID, Node: "n1", Rate: rate, Started: in.Launched, Joined: utcNow()}}
	b.step(bridge.StateJoining)
	b.step(bridge.StateAdmitted)
	b.step(bridge.StateReleasing)
	if err := c.Terminate(b.Context(), []string{in.ID}); err != nil {
		b.Fatal(err)
	}
	gone := b.until(c, func(in bridge.Instance) bool { return in.State == bridge.InstanceGone && !in.Stopped.IsZero() })
	m := &b.rental.Machines[0]
	m.State, m.Stopped = bridge.MachineGone, gone.Stopped
	cost, err := rate.Cost(b.rental.Billing().Charged(m.Stopped.Sub(m.Started)), 1, bridge.RoundHalfEven)
	if err != nil {
		b.Fatal(err)
	}
	b.rental.State, b.rental.Cost = bridge.StateSettled, cost
	if b.rental, err = b.store.Settle(b.Context(), b.rental); err != nil {
		b.Fatal(err)
	}
}

// serve is a daemon's desk on a socket.
func (b *billed) serve() {
	b.Helper()
	path := filepath.Join(b.dir, "s")
	l, err := socket.Listen(path)
	if err != nil {
		b.Fatal(err)
	}
	d := desk.New(desk.Config{Version: "test", Reader: books.Books{Store: b.store}, Writer: books.Books{Store: b.store}, Rules: b, CloudNames: []string{"stratus"}, Now: utcNow})
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- socket.New(d, b.who, slog.New(slog.DiscardHandler)).Serve(ctx, l) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	b.Setenv("SPILLWAY_SOCKET", path)
	b.Setenv("LANG", "C.UTF-8")
}

// run runs a command line.
func (b *billed) run(want int, args ...string) string {
	b.Helper()
	var out bytes.Buffer
	if code := start(args, os.Stdin, &out, &out); code != want {
		b.Fatalf("spillway %s: exit code %d\n%s", strings.Join(args, " "), code, out.String())
	}
	return out.String()
}

func (b *billed) answer(args ...string) (a desk.BillAnswer) {
	b.Helper()
	if err := json.Unmarshal([]byte(b.run(exitOK, append(args, "-o", "json")...)), &a); err != nil {
		b.Fatal(err)
	}
	return a
}

// The local cloud's own bill, through the command line and a real store: looked
// at, settled once, and the books balance after it.
func TestBillOfALocalCloudIsSettledOnce(t *testing.T) {
	b := rented(t)
	b.serve()
	month := b.rental.Machines[0].Started.Format("2006-01")
	check := b.answer("bill", "check", b.bill, "--cloud", "stratus", "--tolerance", "0")
	if check.Done || check.Added == 0 || check.Corrected == 0 || check.Change.Micro <= 0 || len(check.Stray)+len(check.Missing)+len(check.Waiting) != 0 {
		t.Fatalf("checked: %+v", check)
	}
	if r, err := b.store.Rental(t.Context(), b.rental.ID); err != nil || r.Cost != b.rental.Cost {
		t.Fatalf("a check changed the cost to %s, %v", r.Cost, err)
	}
	b.run(exitUsage, "bill", "import", b.bill, "--cloud", "stratus", "--tolerance", "0") // nobody says yes
	done := b.answer("bill", "import", b.bill, "--cloud", "stratus", "--tolerance", "0", "--yes")
	if !done.Done || done.Added != check.Added || done.Change != check.Change {
		t.Fatalf("imported: %+v", done)
	}
	r, err := b.store.Rental(t.Context(), b.rental.ID)
	if err != nil || r.Cost != done.Billed {
		t.Fatalf("it cost %s, the cloud billed %s, %v", r.Cost, done.Billed, err)
	}
	again := b.answer("bill", "import", b.bill, "--cloud", "stratus", "--tolerance", "0", "--yes")
	if again.Added != 0 || again.Known != done.Added || again.Corrected != 0 {
		t.Errorf("imported again: %+v", again)
	}
	if s := b.answer("bill", "show", "--cloud", "stratus", "--month", month); s.Billed != done.Billed || s.Was != done.Billed {
		t.Errorf("shown: books %s, billed %s", s.Was, s.Billed)
	}
	rep, err := books.Books{Store: b.store}.CheckLedger(t.Context())
	if err != nil || len(rep.Problems) > 0 {
		t.Errorf("the books do not balance: %v, %v", rep.Problems, err)
	}
	if news := b.run(exitOK, "news"); !strings.Contains(news, "cost-corrected") || !strings.Contains(news, "by bill stratus-"+month+" of stratus") {
		t.Errorf("news:\n%s", news)
	}
	if zh := b.run(exitOK, "--lang", "zh", "bill", "show", "--cloud", "stratus", "--month", month); !strings.Contains(zh, "stratus 的账单") || !strings.Contains(zh, "没有差异") {
		t.Errorf("in Chinese:\n%s", zh)
	}
	// A figure that changed is refused, with all of the file.
	text, err := os.ReadFile(b.bill)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	cells := strings.Split(lines[1], ",")
	cells[1] = "77.000000"
	lines[1] = strings.Join(cells, ",")
	if err := os.WriteFile(b.bill, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := b.run(exitConflict, "bill", "import", b.bill, "--cloud", "stratus", "--yes"); !strings.Contains(out, "was imported before, in invoice stratus-"+month) {
		t.Errorf("said:\n%s", out)
	}
}

func TestMistakesInABillEndWithTheirPlaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.csv")
	if err := os.WriteFile(path, []byte("id,cost,cur,from,to\ni-1,much,USD,2026-11-01,2026-11-02\ni-2,1,ZZZ,2026-11-02,2026-11-01\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"bill", "check", path, "--cloud", "north", "--columns", "machine=id,amount=cost,currency=cur,from=from,to=to"}
	for lang, want := range map[string][]string{
		"en": {`line 2, column 2 (cost): "much" is no amount`, `line 3, column 3 (cur): "ZZZ" is no currency`},
		"zh": {`第 2 行第 2 列（cost）："much" 不是金额`, `第 3 行第 3 列（cur）："ZZZ" 不是 ISO 4217 货币`},
	} {
		var out bytes.Buffer
		if code := start(append([]string{"--lang", lang}, args...), os.Stdin, io.Discard, &out); code != exitFound {
			t.Errorf("exit code %d: %s", code, out.String())
		}
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%s says %s", lang, out.String())
			}
		}
	}
}

// A bill is converted at the newest rate of its own time, never at a later one,
// and never at one that was too old then.
func TestBillsAreConvertedAtRatesOfTheirTime(t *testing.T) {
	p, err := policies.Parse("policy.yaml", []byte(`version: 1
organisation: site
currency: USD
mode: burst
zone: UTC
exchange:
  max_age: 7d
  rates:
    - {from: CNY, rate: "0.130000", source: parity, date: 2026-11-02}
    - {from: CNY, rate: "0.140000", source: parity, date: 2026-11-20}
accounts: [{account: "*", to: "ai/{account}"}]
rules: [{name: everyone, class: P1}]
budgets: [{account: site, every: month, limit: 1000 USD}]
`))
	if err != nil {
		t.Fatal(err)
	}
	s := &site{policy: p}
	day := func(d int) time.Time { return time.Date(2026, 11, d, 12, 0, 0, 0, time.UTC) }
	for d, want := range map[int]int64{3: 130_000, 8: 130_000, 21: 140_000} {
		if x, err := s.exchange("CNY", "USD", day(d)); err != nil || x.Micro != want {
			t.Errorf("on the %d. the rate is %d, %v", d, x.Micro, err)
		}
	}
	for name, c := range map[string]struct {
		from bridge.Currency
		day  int
		want string
	}{
		"too old then":     {"CNY", 15, "too old for policy"},
		"a day early":      {"CNY", 1, ""}, // the next day begins sooner in the east
		"another currency": {"EUR", 21, "policy has none from EUR to USD"},
	} {
		_, err := s.exchange(c.from, "USD", day(c.day))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.exchange("CNY", "USD", time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC)); err == nil {
		t.Error("a later rate was taken")
	}
}

package say

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"go.uber.org/goleak"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/store"
	"spillway.sh/spillway/policies"
)

// afternoon is 15:40 in New York on the last day of November.
var afternoon = time.Date(2026, 11, 30, 20, 40, 0, 0, time.UTC)

const policy = `version: 1
organisation: site
currency: USD
mode: burst
zone: America/New_York
roles: {admins: [root], approvers: [tom]}
accounts:
  - {account: "*", to: "ai/{account}"}
defaults: {max_rate: 31.92 USD/h, most: 16, wait: 0s, ask: true, ask_for: 1h, idle: 20m}
rules:
  - {name: everyone, class: P2}
budgets:
  - {account: site, every: month, limit: 20000 USD, hard: true}
  - {account: site/ai/nlp, every: month, limit: 500 USD, approvers: [mei]}
`

// world is a real desk over a real store in a folder of its own, with a clock
// that stands still and offers that do not change. Twenty days of November were
// spent by project nlp, 15.63 USD each, and ben holds 126 USD.
type world struct {
	t       *testing.T
	now     time.Time
	store   *store.Store
	file    *policies.File
	judge   bridge.Policy
	offers  []bridge.Offer
	desk    *desk.Desk
	counter *Counter
	key     int
	// estimate is when the scheduler would start the job that waits, and reports
	// what agents said, by instance.
	estimate time.Time
	reports  map[string]bridge.Report
	less     *slack.ButtonBlockElement // of the first no
}

// Reported is what a machine's agent said just now.
func (w *world) Reported(_ bridge.RentalID, instance string) (bridge.Report, time.Time, bool) {
	r, ok := w.reports[instance]
	return r, w.now, ok
}

// books is the store in the desk's words.
type books struct{ *store.Store }

func (b books) Rental(ctx context.Context, id bridge.RentalID) (bridge.Rental, error) {
	r, err := b.Store.Rental(ctx, id)
	return r, deskWords(err)
}

func (b books) ByKey(ctx context.Context, key string) (bridge.Rental, error) {
	r, err := b.Store.ByKey(ctx, key)
	return r, deskWords(err)
}

func deskWords(err error) error {
	if errors.Is(err, store.ErrNoRental) {
		return errors.Join(desk.ErrNoRental, err)
	}
	return err
}

func (b books) News(ctx context.Context, f desk.NewsFilter) ([]bridge.News, error) {
	return b.Store.News(ctx, store.NewsFilter(f))
}

func (b books) CheckLedger(ctx context.Context) (desk.LedgerReport, error) {
	r, err := b.Store.CheckLedger(ctx)
	return desk.LedgerReport{Entries: r.Transactions, OpenHolds: r.OpenHolds, Problems: r.Faults}, err
}

func (w *world) Budgets() []bridge.Budget  { return w.file.Budgets() }
func (w *world) Approval() bridge.Approval { return w.file.Approval() }
func (w *world) Wake()                     {}

func (w *world) Terms(d *bridge.Demand, f *bridge.Facts) *bridge.Terms { return w.judge.Terms(d, f) }

func (w *world) Remember(ctx context.Context, change func(*bridge.Marks), news ...bridge.News) error {
	m, err := w.store.Marks(ctx)
	if err != nil {
		return err
	}
	change(&m)
	return w.store.SaveMarks(ctx, m, news...)
}

func (w *world) View() (bridge.Snapshot, bridge.Plan, bool) {
	ctx := context.Background()
	live, err1 := w.store.Live(ctx)
	balances, err2 := w.store.Balances(ctx, w.now, w.Budgets())
	s := bridge.Snapshot{
		Now: w.now, MaxQueueAge: time.Minute, Rentals: live, Budgets: balances, Offers: slices.Clone(w.offers),
		Queues: []bridge.Queue{{Cluster: "main", ObservedAt: w.now, Demands: []bridge.Demand{{
			Cluster: "main", Job: "48211", Name: "train.sh", User: "ana", Account: "nlp", Partition: "gpu", Nodes: 2, Count: 1,
			Shape: bridge.Shape{CPUs: 16, MemoryMiB: 64 << 10, GPUs: 4, GPUType: "h100"}, Submitted: w.now.Add(-time.Hour), Eligible: w.now.Add(-time.Hour),
			TimeLimit: 8 * time.Hour, Restartable: true, Standing: bridge.StandingHelps, StartEstimate: w.estimate,
		}}}},
	}
	for i := range s.Offers {
		s.Offers[i].SampledAt = w.now
	}
	return s, bridge.Plan{Now: w.now}, err1 == nil && err2 == nil
}

// offer is a machine at a price of one of its GPUs, in cents.
func offer(region, kind string, gpus int, gpu string, m bridge.Market, cents int64) bridge.Offer {
	return bridge.Offer{
		Pool:  bridge.Pool{Cloud: "stratus", Region: region, Zone: region + "a", Type: kind, Market: m},
		Shape: bridge.Shape{CPUs: 96, MemoryMiB: 1 << 20, GPUs: gpus, GPUType: gpu},
		Rate:  bridge.Rate{Micro: cents * 10_000 * int64(gpus), Currency: "USD"}, MaxAge: time.Hour, Boot: 5 * time.Minute, Available: -1,
	}
}

// november is the folder of a store with the history of a world, made once.
var november = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "spillway-say-") })

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if dir, err := november(); err == nil {
			_ = os.RemoveAll(dir)
		}
		os.Exit(code)
	}))
}

// newWorld is a world on the afternoon, with its history.
func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := november()
	if err != nil {
		t.Fatal(err)
	}
	history := filepath.Join(dir, "state")
	if _, err := os.Stat(history); err != nil {
		w := &world{t: t, now: time.Date(2026, 11, 1, 16, 0, 0, 0, time.UTC)}
		w.open(history)
		for range 20 {
			w.spend("ben", 15_630_000)
			w.now = w.now.AddDate(0, 0, 1)
		}
		w.now = afternoon.Add(-2 * time.Hour)
		w.hold("ben", 126*bridge.Micro)
		if err := w.store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	mine := filepath.Join(t.TempDir(), "state")
	if err := os.CopyFS(mine, os.DirFS(history)); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, now: afternoon}
	w.open(mine)
	t.Cleanup(func() {
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// open opens a store and puts a desk and a counter before it.
func (w *world) open(dir string) {
	w.t.Helper()
	w.offers = []bridge.Offer{
		offer("us-east-1", "p5.48xlarge", 8, "h100", bridge.OnDemand, 399), offer("us-east-1", "p5.48xlarge", 8, "h100", bridge.Spot, 246),
		offer("eu-west-1", "p5.48xlarge", 8, "h100", bridge.Spot, 271), offer("us-east-1", "g6.12xlarge", 2, "l40s", bridge.OnDemand, 86),
		offer("us-east-1", "p4de.24xlarge", 8, "a100-80", bridge.OnDemand, 189),
	}
	var err error
	if w.file, err = policies.Parse("policy.yaml", []byte(policy)); err != nil {
		w.t.Fatal(err)
	}
	w.judge = w.file.Policy()
	clock := func() time.Time { return w.now }
	if w.store, err = store.Open(w.t.Context(), dir, store.Options{Now: clock, StoreID: "thestore"}); err != nil {
		w.t.Fatal(err)
	}
	roles := w.file.Roles()
	w.desk = desk.New(desk.Config{
		Version: "test", Reader: books{w.store}, Writer: books{w.store}, Viewer: w, Loop: w, Rules: w, Reporter: w, Weekly: w.store,
		Roles: desk.Roles{Admins: roles.Admins, Approvers: roles.Approvers}, Clusters: []string{"main"}, Now: clock,
	})
	w.counter = New(Options{
		Desk: w.desk, Key: []byte("a key of the tests"), Channel: "C1", ChannelName: "#burst", Clock: clock,
		Name: func(account string) string { return map[string]string{"mei": "<@U-MEI>", "ana": "<@U-ANA>"}[account] },
	})
}

func (w *world) must(r bridge.Rental, err error) bridge.Rental {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// hold is a rental of somebody that holds an amount.
func (w *world) hold(who string, micro int64) bridge.Rental {
	w.t.Helper()
	ctx := w.t.Context()
	id, err := w.store.NextID(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	o := bridge.Order{
		Cluster: "main", Account: bridge.Account("site/ai/nlp/" + who), Requester: who, Class: bridge.P2, Gang: 1, Count: 1, Offer: w.offers[4],
		MaxRate: w.offers[4].Rate, Life: 8 * time.Hour, Idle: 20 * time.Minute, Hold: bridge.Money{Micro: micro, Currency: "USD"},
	}
	return w.must(w.store.Reserve(ctx, bridge.Draw(id, &o, w.now), w.Budgets()))
}

// spend is a rental that cost an amount and is over.
func (w *world) spend(who string, micro int64) {
	r := w.hold(who, micro)
	r.State, r.Cost.Micro = bridge.StateReleasing, micro
	r = w.must(w.store.Post(w.t.Context(), r))
	r.State = bridge.StateSettled
	w.must(w.store.Settle(w.t.Context(), r))
}

// start makes a rental's machines join, as the engine would.
func (w *world) start(id bridge.RentalID) {
	w.t.Helper()
	ctx := w.t.Context()
	r := w.must(w.store.Rental(ctx, id))
	r.Expires = w.now.Add(r.Life)
	for i := range r.Machines {
		m := &r.Machines[i]
		m.ID, m.State, m.Started, m.Joined = "i-0f3", bridge.MachineJoined, w.now, w.now
	}
	r.State, r.Since = bridge.StateJoining, w.now
	r = w.must(w.store.Save(ctx, r))
	r.State = bridge.StateAdmitted
	w.must(w.store.Save(ctx, r, bridge.News{At: w.now, Kind: bridge.NewsAdmitted, Cluster: r.Cluster, Rental: r.ID, Pool: &r.Pool, Cost: r.Hold}))
}

// meter posts what a rental has cost so far.
func (w *world) meter(id bridge.RentalID, micro int64) {
	w.t.Helper()
	r := w.must(w.store.Rental(w.t.Context(), id))
	r.Cost.Micro = micro
	w.must(w.store.Post(w.t.Context(), r))
}

// settle ends a rental at what it has cost.
func (w *world) settle(id bridge.RentalID) {
	w.t.Helper()
	r := w.must(w.store.Rental(w.t.Context(), id))
	r.State, r.Since = bridge.StateSettled, w.now
	w.must(w.store.Settle(w.t.Context(), r, bridge.News{At: w.now, Kind: bridge.NewsSettled, Cluster: r.Cluster, Rental: r.ID, Cost: r.Cost}))
}

// latest is the rental made last.
func (w *world) latest() bridge.Rental {
	w.t.Helper()
	rs, err := w.store.Recent(w.t.Context(), 1)
	if err != nil || len(rs) == 0 {
		w.t.Fatal("no rental: ", err)
	}
	return rs[0]
}

// asker is somebody in Slack; their zone is New York's.
func (w *world) asker(name string, l desk.Lang) talk.Asker {
	w.t.Helper()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		w.t.Fatal(err)
	}
	return talk.Asker{Person: w.desk.Roles.Of(name, 1000, []string{"nlp"}), Slack: "U-" + strings.ToUpper(name), Name: name, Lang: l, Zone: zone}
}

// hear lets somebody do something in Slack, as a delivery of its own.
func (w *world) hear(name string, l desk.Lang, in talk.Interaction) []talk.Effect {
	w.t.Helper()
	w.key++
	in.Key, in.At, in.Team, in.Channel = "delivery "+string(rune('a'+w.key)), w.now, "T1", "C9"
	out, err := w.counter.Hear(w.t.Context(), w.asker(name, l), in)
	if err != nil {
		w.t.Fatalf("%s: %v", in.Text, err)
	}
	check(w.t, out)
	return out
}

func (w *world) says(name string, l desk.Lang, line string) []talk.Effect {
	w.t.Helper()
	command, text, _ := strings.Cut(line, " ")
	return w.hear(name, l, talk.Interaction{Kind: talk.Command, Command: command, Text: text})
}

// press presses a button of a message, by the verb it is for.
func (w *world) press(name string, l desk.Lang, verb card.Verb, id string, revision int64) []talk.Effect {
	w.t.Helper()
	return w.hear(name, l, talk.Interaction{Kind: talk.Action, Action: string(verb), Value: card.Seal(w.counter.Key, id, revision, verb)})
}

// tell tells all news since a mark.
func (w *world) tell(after int64) []talk.Effect {
	w.t.Helper()
	news, err := w.store.News(w.t.Context(), store.NewsFilter{After: after, Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := w.counter.Tell(w.t.Context(), news)
	if err != nil {
		w.t.Fatal(err)
	}
	check(w.t, out)
	return out
}

// mark is the id of the latest news.
func (w *world) mark() int64 {
	w.t.Helper()
	news, err := w.store.News(w.t.Context(), store.NewsFilter{Limit: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(news) == 0 {
		return 0
	}
	return news[len(news)-1].ID
}

// check wants every message to be one that Slack takes.
func check(t *testing.T, effects []talk.Effect) {
	t.Helper()
	for i := range effects {
		e := &effects[i]
		var err error
		switch e.Surface {
		case talk.Form:
			err = errors.Join(card.ValidateForm(e.View), card.Validate(e.Message))
		case talk.Tab:
			err = card.ValidateHome(e.Message)
		case talk.FormErrors:
			if len(e.Errors) == 0 {
				err = errors.New("a form is refused without a word")
			}
		case talk.Reply, talk.Card, talk.Thread, talk.Direct:
			err = card.Validate(e.Message)
		}
		if err != nil {
			t.Errorf("%s: %v", e.Surface, err)
		}
	}
}

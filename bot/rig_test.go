package bot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"spillway.sh/spillway/bot"
	"spillway.sh/spillway/bot/slackd"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/store"
)

// People, places and ids of slackd's own workspace.
const (
	ana, wei, mei, tom, lea, kim = "U0ANA0001", "U0WEI0001", "U0MEI0001", "U0TOM0001", "U0LEA0001", "U0KIM0001"
	team, app                    = "T0HPC0001", "A0SPILL01"
	general, burst, attic        = "C0GENERAL", "C0BURST01", "C0ATTIC01"
	approvers                    = "S0APPROV1"
	fast                         = 1000 // at which Slack's limits are out of the way
)

func accounts() bot.Accounts {
	return bot.Accounts{
		Users: map[string]string{
			team + "/" + ana: "ana", team + "/" + wei: "wei", team + "/" + mei: "mei", team + "/" + tom: "tom", team + "/" + lea: "lea", team + "/" + kim: "kim",
			team + "/U0GUS0001": "gus", team + "/U0UMA0001": "uma", team + "/U0OLD0001": "olga", team + "/U0CIB0001": "ci", team + "/U0SAM0001": "sam",
		},
		Groups: map[string]string{approvers: "gpu-approvers"},
	}
}

// host has every account but nobody.
func host(_ context.Context, account string, more []string) (desk.Person, error) {
	if account == "nobody" {
		return desk.Person{}, errors.New("no such account")
	}
	t := desk.Roles{Admins: []string{"root", "@gpu-approvers"}, Approvers: []string{"@gpu-approvers"}}
	return t.Of(account, 1000, append([]string{account}, more...)), nil
}

// talker is a small conversation that tests script.
type talker struct {
	mu    sync.Mutex
	heard []talk.Interaction
	who   []talk.Asker
	hear  func(ctx context.Context, who talk.Asker, in talk.Interaction) ([]talk.Effect, error)
	tell  func(news []bridge.News) []talk.Effect
	due   func(now time.Time) []talk.Effect
}

func (k *talker) Hear(ctx context.Context, who talk.Asker, in talk.Interaction) ([]talk.Effect, error) {
	k.mu.Lock()
	k.heard, k.who = append(k.heard, in), append(k.who, who)
	hear := k.hear
	k.mu.Unlock()
	if hear == nil {
		return reply("you said %q", in.Text), nil
	}
	return hear(ctx, who, in)
}

func (k *talker) Suggest(_ context.Context, who talk.Asker, in talk.Interaction) ([]talk.Choice, error) {
	return []talk.Choice{{Text: in.Value + " for " + who.Person.Name, Value: in.Value}}, nil
}

func (k *talker) Stranger(_ talk.Interaction, _ desk.Lang, why string) []talk.Effect {
	return reply("refused: %s", why)
}

func (k *talker) Tell(_ context.Context, news []bridge.News) ([]talk.Effect, error) {
	k.mu.Lock()
	tell := k.tell
	k.mu.Unlock()
	if tell == nil {
		return nil, nil
	}
	return tell(news), nil
}

// telling sets what is told from now on.
func (k *talker) telling(tell func(news []bridge.News) []talk.Effect) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tell = tell
}

func (k *talker) Remind(_ context.Context, now time.Time) ([]talk.Effect, error) {
	if k.due == nil {
		return nil, nil
	}
	return k.due(now), nil
}

func (k *talker) times() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.heard)
}

func reply(format string, args ...any) []talk.Effect {
	return []talk.Effect{{Surface: talk.Reply, Message: text(format, args...)}}
}

func text(format string, args ...any) talk.Message {
	return talk.Message{Text: fmt.Sprintf(format, args...)}
}

// card is a card with a button.
func card(key, state string) talk.Effect {
	b := slack.NewButtonBlockElement("approve", key, slack.NewTextBlockObject(slack.PlainTextType, "Approve", false, false))
	return talk.Effect{Surface: talk.Card, Key: key, Message: talk.Message{Text: key + " " + state, Blocks: []slack.Block{
		slack.NewSectionBlock(slack.NewTextBlockObject(slack.PlainTextType, key+" "+state, false, false), nil, nil),
		slack.NewActionBlock("", b),
	}}}
}

// rig is a bot with a store and a local Slack.
type rig struct {
	*slackd.Client
	t       testing.TB
	server  *slackd.Server
	talker  *talker
	dir     string
	store   *store.Store
	bot     *bot.Bot
	log     *lines
	metrics *prometheus.Registry
	options bot.Options
	stop    func() error
	// beforeRun is called when the store is open and the bot is not made yet.
	beforeRun func()
}

// lines is a log that tests read.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newRig(t testing.TB, o slackd.Options) *rig {
	t.Helper()
	if o.State == "" {
		o.State = t.TempDir()
	}
	if o.Speed == 0 {
		o.Speed = fast
	}
	s, err := slackd.New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	transport := &http.Transport{}
	r := &rig{t: t, server: s, talker: &talker{}, dir: t.TempDir(), log: &lines{}, metrics: prometheus.NewRegistry()}
	r.Client = &slackd.Client{Base: "http://" + l.Addr().String(), Token: s.Tokens().Control, HTTP: &http.Client{Transport: transport}}
	r.options = bot.Options{
		Conversation: r.talker, Teller: r.talker, People: host, Accounts: accounts(), Channel: burst, App: app,
		Slack: r.api(), Socket: func() *socketmode.Client { return socketmode.New(r.api()) }, HTTP: r.HTTP, Hosts: []string{l.Addr().String()},
		Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Speed: o.Speed, Every: 10 * time.Millisecond,
	}
	t.Cleanup(func() {
		r.end()
		transport.CloseIdleConnections()
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
		if t.Failed() {
			t.Logf("log:\n%s", r.log)
		}
	})
	return r
}

func (r *rig) api() *slack.Client {
	tokens := r.server.Tokens()
	return slack.New(tokens.Bot, slack.OptionAPIURL(r.Base+"/api/"), slack.OptionAppLevelToken(tokens.App), slack.OptionHTTPClient(r.HTTP))
}

// begin opens the store and runs the bot until end.
func (r *rig) begin() {
	r.t.Helper()
	var err error
	if r.store, err = store.Open(context.Background(), r.dir, store.Options{}); err != nil {
		r.t.Fatal(err)
	}
	if r.beforeRun != nil {
		r.beforeRun()
	}
	o := r.options
	if o.Box == nil {
		o.Box = r.store
	}
	if o.Metrics == nil {
		r.metrics = prometheus.NewRegistry()
		o.Metrics = r.metrics
	}
	if r.bot, err = bot.New(o); err != nil {
		r.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.bot.Run(ctx) }()
	r.stop = func() error { stop(); return errors.Join(<-done, r.store.Close()) }
	if o.Socket != nil {
		r.until("both connections are up", func() bool { return r.figure("spillway_slack_connections") == float64(max(o.Connections, 2)) })
	}
}

func (r *rig) end() {
	if r.stop == nil {
		return
	}
	stop := r.stop
	r.stop = nil
	if err := stop(); err != nil {
		r.t.Errorf("the bot ended with %v", err)
	}
}

// figure is the sum of a metric's series, those that have the labels.
func (r *rig) figure(name string, labels ...string) float64 {
	families, err := r.metrics.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			all := ""
			for _, l := range m.GetLabel() {
				all += l.GetName() + "=" + l.GetValue() + ";"
			}
			if !slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(all, l+";") }) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// until polls for a condition.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(15 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("did not happen: %s\n%s", what, r.log)
		}
	}
}

// texts are the messages of a channel as somebody sees them.
func (r *rig) texts(channel, user string) []string {
	r.t.Helper()
	ms, err := r.Messages(context.Background(), channel, user)
	if err != nil {
		r.t.Fatal(err)
	}
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = m.Text
	}
	return out
}

// sees waits until somebody sees a text in a channel.
func (r *rig) sees(user, channel, part string) {
	r.t.Helper()
	r.until(fmt.Sprintf("%s sees %q in %s", user, part, channel), func() bool {
		return slices.ContainsFunc(r.texts(channel, user), func(s string) bool { return strings.Contains(s, part) })
	})
}

// command has somebody type a command, which must be acknowledged.
func (r *rig) command(user, line string) {
	r.t.Helper()
	out, err := r.Command(context.Background(), user, burst, line)
	if err != nil || out.Outcome != "acked" {
		r.t.Fatalf("%s by %s: %+v, %v", line, user, out, err)
	}
}

// answered waits until so many were heard and all of them are closed.
func (r *rig) answered(n int) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d are answered", n), func() bool {
		ks, err := r.store.Knocks(context.Background(), 10)
		return err == nil && len(ks) == 0 && r.talker.times() >= n
	})
}

// delivered waits until nothing waits to be shown.
func (r *rig) delivered() {
	r.t.Helper()
	r.until("everything is delivered", func() bool {
		ps, err := r.store.Parcels(context.Background(), 10)
		return err == nil && len(ps) == 0
	})
}

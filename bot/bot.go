package bot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/slack-go/slack/socketmode"
	"golang.org/x/sync/errgroup"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge/desk"
)

// Options are what a bot is made of.
type Options struct {
	Conversation talk.Conversation
	Teller       Teller // nil: nothing is told by itself
	Box          Box
	Slack        Slack
	People       People
	Accounts     Accounts
	// Channel is where cards go that name no other.
	Channel string

	// Socket makes one Socket Mode client; nil: no Socket Mode.
	Socket func() *socketmode.Client
	// Connections is how many of them are open at once; zero: two, so that one
	// that Slack renews loses nothing.
	Connections int
	// Listen opens the address of signed HTTP; nil: none.
	Listen func() (net.Listener, error)
	// Secret is the signing secret, App the api_app_id; both are needed for HTTP.
	Secret func() (string, error)
	App    string

	// HTTP posts to response URLs. Hosts may be named there besides Slack's own.
	HTTP  *http.Client
	Hosts []string

	Clock   func() time.Time
	Log     *slog.Logger
	Metrics prometheus.Registerer
	// Speed runs Slack's limits faster where the other side does too; zero: 1.
	Speed float64
	// Workers answer people; zero: eight.
	Workers int
	// Every is how often the news are looked at, and ten times that what is due;
	// zero: half a second.
	Every time.Duration
}

// Bot is the bot. Run runs it; the other methods may be called at any time.
type Bot struct {
	o        Options
	log      *slog.Logger
	who      *registry
	pace     *pace
	figure   *figures
	inbox    *inbox
	outbox   *outbox
	channels channels
	// recheck asks for a look whether Slack still knows the app.
	recheck chan struct{}

	mu       sync.Mutex
	home     home
	links    int       // connections that are up
	down     time.Time // since when none is; zero: one is, or none is wanted
	problems map[string]string
}

// New returns a bot, or what of its options makes it unsafe.
func New(o Options) (*Bot, error) {
	o.Connections, o.Workers = cmp.Or(o.Connections, 2), cmp.Or(o.Workers, 8)
	o.Every = cmp.Or(o.Every, 500*time.Millisecond)
	if o.Clock == nil {
		o.Clock = time.Now //nolint:forbidigo // The clock of a bot that was given none.
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{Timeout: 10 * time.Second}
	}
	if err := o.sound(); err != nil {
		return nil, err
	}
	b := &Bot{
		o: o, log: slog.New(Redacted(o.Log.Handler())), figure: newFigures(o.Metrics), pace: newPace(o.Clock, o.Speed),
		recheck: make(chan struct{}, 1), problems: map[string]string{},
	}
	b.who = newRegistry(o.Slack, o.Accounts, o.People, o.Clock, b.homeNow, b.log)
	b.inbox, b.outbox = newInbox(), newOutbox()
	return b, nil
}

// sound refuses what would let anybody in.
func (o *Options) sound() error {
	if o.Socket == nil && o.Listen == nil {
		return errors.New("start the Slack bot: neither Socket Mode nor HTTP is set up")
	}
	if len(o.Accounts.Users) == 0 && o.Accounts.EmailDomain == "" {
		return errors.New("start the Slack bot: nobody has an account: fill the table of users")
	}
	if o.Listen == nil {
		return nil
	}
	if o.App == "" {
		return errors.New("start the Slack bot: over HTTP the id of the app is needed, so that no other app is heard")
	}
	secret, err := o.Secret()
	if err != nil {
		return fmt.Errorf("start the Slack bot: signing secret: %w", err)
	}
	if secret == "" {
		return errors.New("start the Slack bot: the signing secret is empty")
	}
	return nil
}

// ErrEnded is that Slack does not know the app any more, or not with this token.
var ErrEnded = errors.New("Slack refuses this app's token")

// Run carries words until ctx ends, which is no error. An error is ErrEnded, or
// of a port that cannot be used any more; after it Run may be called again.
func (b *Bot) Run(ctx context.Context) error {
	if err := b.signIn(ctx); err != nil {
		return b.ended(ctx, err)
	}
	cursor, err := b.o.Box.NewsCursor(ctx)
	if err != nil {
		return b.ended(ctx, fmt.Errorf("start the Slack bot: %w", err))
	}
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return b.keepKnocks(ctx) })
	for range b.o.Workers {
		all.Go(func() error { return b.work(ctx) })
	}
	all.Go(func() error { return b.recall(ctx) })
	all.Go(func() error { return b.deliver(ctx) })
	all.Go(func() error { return b.tidy(ctx) })
	all.Go(func() error { return b.watchToken(ctx) })
	if b.o.Teller != nil {
		all.Go(func() error { return b.follow(ctx, cursor) })
		all.Go(func() error { return b.remind(ctx) })
	}
	if b.o.Socket != nil {
		b.linked(0)
		for n := range b.o.Connections {
			all.Go(func() error { return b.listen(ctx, n) })
		}
	}
	if b.o.Listen != nil {
		all.Go(func() error { return b.serve(ctx) })
	}
	return b.ended(ctx, all.Wait())
}

// ended turns the end of the context into no error.
func (b *Bot) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ErrEnded) && (err == nil || errors.Is(err, ctx.Err())) {
		return nil
	}
	return err
}

// over is the end of ctx, for what goes on until then; ended knows it by it.
func over(ctx context.Context) error { return fmt.Errorf("run the Slack bot: %w", ctx.Err()) }

// signIn learns where the app is installed; it tries until Slack answers.
func (b *Bot) signIn(ctx context.Context) error {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		a, err := b.o.Slack.AuthTestContext(ctx)
		if err == nil {
			b.mu.Lock()
			b.home = home{team: a.TeamID, enterprise: a.EnterpriseID, bot: a.UserID}
			b.mu.Unlock()
			b.trouble("sign-in", "")
			b.log.InfoContext(ctx, "signed in to Slack", "team", a.TeamID, "enterprise", a.EnterpriseID, "as", a.UserID)
			return nil
		}
		if isOneOf(err, fatalErrors) {
			b.trouble("sign-in", "Slack refuses the bot's token: "+err.Error())
			return fmt.Errorf("sign in to Slack: %w: %w", ErrEnded, err)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("sign in to Slack: %w", ctx.Err())
		}
		b.trouble("sign-in", "Slack cannot be reached: "+err.Error())
		b.log.WarnContext(ctx, "Slack cannot be reached", "error", err, "again_in", pause)
		if d, limited := retryAfter(err); limited {
			pause = d
		}
		if !sleep(ctx, pause) {
			return fmt.Errorf("sign in to Slack: %w", ctx.Err())
		}
	}
}

// watchToken looks whether the token still counts when something says that it
// may not.
func (b *Bot) watchToken(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return over(ctx)
		case <-b.recheck:
			if err := b.signIn(ctx); err != nil {
				return err
			}
		}
	}
}

func (b *Bot) doubtToken() {
	select {
	case b.recheck <- struct{}{}:
	default:
	}
}

func (b *Bot) homeNow() home {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.home
}

// trouble notes what goes wrong under a name; empty: it does no more.
func (b *Bot) trouble(name, what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if what == "" {
		delete(b.problems, name)
		return
	}
	b.problems[name] = redact(what)
}

// Mention writes an account so that Slack shows the person; empty when it has no
// user in the table.
func (b *Bot) Mention(account string) string { return b.who.mention(account) }

// LangOf is the language of an account's Slack, as far as it is known.
func (b *Bot) LangOf(account string) desk.Lang { return b.who.langOfAccount(account) }

// linked counts connections up and down.
func (b *Bot) linked(change int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.links += change
	b.figure.connections.Set(float64(b.links))
	switch {
	case b.links > 0:
		b.down = time.Time{}
	case b.down.IsZero():
		b.down = b.o.Clock()
	}
}

// deafAfter is how long Slack may not reach us before people are told.
const deafAfter = time.Minute

// Problems says what goes wrong between Slack and the bot just now.
func (b *Bot) Problems() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, name := range sortedKeys(b.problems) {
		out = append(out, b.problems[name])
	}
	if !b.down.IsZero() && b.o.Clock().Sub(b.down) > deafAfter {
		out = append(out, "Slack cannot reach the bot since "+b.down.UTC().Format(time.TimeOnly)+" UTC: decide with `spillway approve`")
	}
	return out
}

// tidy forgets what is too old.
func (b *Bot) tidy(ctx context.Context) error {
	for {
		if err := b.o.Box.ForgetParcels(ctx); err != nil && ctx.Err() == nil {
			b.log.WarnContext(ctx, "old messages cannot be forgotten", "error", err)
		}
		if !sleep(ctx, time.Hour) {
			return over(ctx)
		}
	}
}

// parting is how much longer than ctx something goes on that was begun.
const parting = 3 * time.Second

// outlive is a context that ends a moment after ctx, so that what was begun is
// finished and yet a daemon that is told to end does.
func outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.AfterFunc(parting, cancel)
		context.AfterFunc(out, func() { t.Stop() })
	})
	return out, func() { stop(); cancel() }
}

// sleep waits; false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

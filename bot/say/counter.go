package say

import (
	"cmp"
	"context"
	"sync"
	"time"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bot/words"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// Options are what a counter is made of.
type Options struct {
	Desk Desk
	// Key seals the values of buttons; it stays the same over restarts.
	Key []byte
	// Channel is where cards go, an id, and ChannelName how it is written in
	// mrkdwn.
	Channel, ChannelName string
	// Lang is the language of the channel, LangOf that of a Unix account's
	// direct messages; nil: the channel's.
	Lang   desk.Lang
	LangOf func(account string) desk.Lang
	// Name writes an account as a mention where it has a Slack id.
	Name func(account string) string
	// Confirm is the worst case above which a person is asked once more, and
	// ConfirmPart the part of what is left, in percent; zero: 25 and 20.
	Confirm     bridge.Money
	ConfirmPart int64
	Clock       func() time.Time
}

// Counter is where people talk to the desk.
type Counter struct {
	Options

	mu      sync.Mutex
	snoozes []snooze
}

// New returns a counter.
func New(o Options) *Counter {
	o.Lang = cmp.Or(o.Lang, desk.English)
	if o.Confirm.Micro == 0 {
		o.Confirm = bridge.Money{Micro: 25 * bridge.Micro, Currency: "USD"}
	}
	o.ConfirmPart = cmp.Or(o.ConfirmPart, 20)
	return &Counter{Options: o}
}

// langOf is the language of somebody's direct messages.
func (c *Counter) langOf(account string) desk.Lang {
	if c.LangOf != nil {
		return c.LangOf(account)
	}
	return c.Lang
}

var _ talk.Conversation = (*Counter)(nil)

// Hear answers one interaction.
func (c *Counter) Hear(ctx context.Context, who talk.Asker, in talk.Interaction) ([]talk.Effect, error) {
	t := c.turn(who, in)
	switch in.Kind {
	case talk.Command:
		return t.command(ctx)
	case talk.Action:
		return t.pressed(ctx)
	case talk.Submission:
		return t.sent(ctx)
	case talk.Home:
		return t.home(ctx)
	case talk.Options, talk.Event:
	}
	return nil, nil
}

// Stranger answers somebody who has no account here.
func (c *Counter) Stranger(in talk.Interaction, lang desk.Lang, why string) []talk.Effect {
	t := c.turn(talk.Asker{Lang: lang}, in)
	return t.reply(fill(t.words.Stranger, "why", why))
}

// turn is one interaction being answered.
type turn struct {
	*Counter
	who   talk.Asker
	in    talk.Interaction
	words *texts
	pen   card.Pen
	// names are those that mean something to the asker, once they were asked for.
	names desk.NamesAnswer
}

func (c *Counter) turn(who talk.Asker, in talk.Interaction) *turn {
	if who.Zone == nil {
		who.Zone = time.UTC
	}
	return &turn{Counter: c, who: who, in: in, words: textsOf(who.Lang), pen: c.penFor(who.Lang, who.Zone)}
}

func (c *Counter) penFor(l desk.Lang, zone *time.Location) card.Pen {
	return card.Pen{Lang: l, Key: c.Key, Zone: zone, Name: c.Name}
}

// known asks for the names, and the rentals the asker may name.
func (t *turn) known(ctx context.Context) (*words.Known, error) {
	var err error
	if t.names, err = t.Desk.Names(ctx, t.who.Person, desk.NamesRequest{}); err != nil {
		return nil, err
	}
	k := &words.Known{Known: t.names.Known}
	k.Now, k.Zone = t.Clock().UTC(), t.who.Zone
	rs, err := t.Desk.Rentals(ctx, t.who.Person, desk.RentalsRequest{})
	if err != nil {
		return nil, err
	}
	for i := range rs.Rentals {
		k.Rentals = append(k.Rentals, string(rs.Rentals[i].ID))
	}
	return k, nil
}

// reply says a text to the asker alone.
func (t *turn) reply(text string) []talk.Effect { return t.show(card.Quote(text)) }

// show shows a message to the asker alone.
func (t *turn) show(m talk.Message) []talk.Effect {
	return []talk.Effect{{Surface: talk.Reply, Lane: talk.Decisions, Message: card.Fit(m)}}
}

// when says an instant in the asker's zone.
func (t *turn) when(at time.Time) string { return desk.Until(at, t.who.Zone) }

// refuse says a no of the desk: what is wrong, what was understood, and a line
// that works. A fault of ours stays one.
func (t *turn) refuse(err error) ([]talk.Effect, error) {
	e := desk.AsError(err)
	if e.Kind == desk.Internal {
		return nil, err
	}
	return t.reply(t.no(e)), nil
}

// no is a refusal in words.
func (t *turn) no(e *desk.Error) string {
	text := sentence(typed(desk.InZone(t.who.Lang.Wrong(e), t.who.Zone)), t.words.Stop)
	if e.Understood != "" {
		text += t.words.Gap + fill(t.words.Understood, "words", e.Understood)
	}
	if try := slashed(e.Try); try != "" {
		text += t.words.Gap + fill(t.words.Try, "try", try)
	}
	return text
}

package bot

import (
	"context"
	"fmt"
	"slices"
	"time"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
)

const (
	newsMost = 100
	tellFor  = 30 * time.Second
	// tellTries is how often news are told again before those that nobody can
	// make sentences of are left out.
	tellTries = 5
)

// follow turns what happened into messages, in order. What was told moves the
// cursor together with its messages, so that nothing is told twice or lost.
func (b *Bot) follow(ctx context.Context, cursor int64) error {
	fails := 0
	for {
		more, err := b.tellNext(ctx, &cursor, fails)
		switch {
		case err == nil:
			fails = 0
		case ctx.Err() == nil:
			fails++
			b.log.ErrorContext(ctx, "news could not be told; they are told again", "after", cursor, "tries", fails, "error", err)
		}
		pause := b.o.Every
		if fails > 0 {
			pause = backoff(fails, b.o.Every, 30*time.Second)
		}
		if more && err == nil {
			pause = 0
		}
		if !sleep(ctx, pause) {
			return over(ctx)
		}
	}
}

func (b *Bot) tellNext(ctx context.Context, cursor *int64, fails int) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, tellFor)
	defer cancel()
	news, err := b.o.Box.NewsAfter(ctx, *cursor, newsMost)
	if err != nil || len(news) == 0 {
		return false, err
	}
	more = len(news) == newsMost
	if fails > 0 {
		news, more = news[:1], true // one at a time, to find the one that cannot be told
	}
	last := news[len(news)-1].ID
	parcels, err := b.tell(ctx, news)
	if err != nil && fails >= tellTries {
		b.log.ErrorContext(ctx, "news is left out: it cannot be told", "id", last, "kind", news[0].Kind, "error", err)
		b.figure.dropped.WithLabelValues("news").Inc()
		parcels, err = nil, nil
	}
	if err != nil {
		return more, err
	}
	if err := b.o.Box.Told(ctx, last, parcels); err != nil {
		return more, err
	}
	*cursor = last
	if len(parcels) > 0 {
		b.outbox.nudge()
	}
	return more, nil
}

func (b *Bot) tell(ctx context.Context, news []bridge.News) (ps []bridge.Parcel, err error) {
	defer recovered(&err)
	effects, err := b.o.Teller.Tell(ctx, news)
	if err != nil {
		return nil, fmt.Errorf("tell news: %w", err)
	}
	return pack(nil, effects)
}

// remind asks what is due.
func (b *Bot) remind(ctx context.Context) error {
	for {
		if err := b.remindOnce(ctx); err != nil && ctx.Err() == nil {
			b.log.ErrorContext(ctx, "nobody could be reminded", "error", err)
		}
		if !sleep(ctx, 10*b.o.Every) {
			return over(ctx)
		}
	}
}

func (b *Bot) remindOnce(ctx context.Context) (err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, tellFor)
	defer cancel()
	effects, err := b.o.Teller.Remind(ctx, b.o.Clock().UTC())
	if err != nil {
		return fmt.Errorf("ask what is due: %w", err)
	}
	effects, err = b.unseen(ctx, effects)
	if err != nil || len(effects) == 0 {
		return err
	}
	parcels, err := pack(nil, effects)
	if err != nil {
		return err
	}
	if err := b.o.Box.Send(ctx, parcels); err != nil {
		return err
	}
	b.outbox.nudge()
	return nil
}

// unseen keeps what did not go out before, so that a look that finds nothing
// new writes nothing.
func (b *Bot) unseen(ctx context.Context, effects []talk.Effect) ([]talk.Effect, error) {
	var out []talk.Effect
	for i := range effects {
		e := effects[i]
		name := e.Once
		if name == "" && e.Surface == talk.Direct {
			name = e.Key
		}
		if name != "" {
			if sent, err := b.o.Box.SentOnce(ctx, name); err != nil {
				return nil, err
			} else if sent {
				continue
			}
		}
		if e.Surface == talk.Card && name == "" {
			copies, err := b.o.Box.Copies(ctx, e.Key)
			if err != nil {
				return nil, err
			}
			hash := hashOf(&e.Message)
			if len(copies) > 0 && !slices.ContainsFunc(copies, func(c bridge.Copy) bool { return c.Hash != hash }) {
				continue
			}
		}
		out = append(out, e)
	}
	return out, nil
}

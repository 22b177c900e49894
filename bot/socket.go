package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

const (
	// takingMost is how many envelopes of one connection are received at once.
	takingMost = 64
	// ackFor is how long an acknowledgement may wait for its connection.
	ackFor = 2 * time.Second
)

// listen keeps one Socket Mode connection up until ctx ends. The client makes
// it anew when Slack says so and when nothing was heard for half a minute; a
// token that Slack refuses ends the bot.
func (b *Bot) listen(ctx context.Context, n int) error {
	for fails := 0; ; fails++ {
		began := b.o.Clock()
		err := b.listenOnce(ctx, n)
		if ctx.Err() != nil {
			return over(ctx)
		}
		if isOneOf(err, fatalErrors) || isFatal(err) {
			b.trouble("socket", "Slack refuses the app's token for Socket Mode: "+err.Error())
			return fmt.Errorf("listen to Slack: %w: %w", ErrEnded, err)
		}
		if b.o.Clock().Sub(began) > time.Minute {
			fails = 0
		}
		b.log.WarnContext(ctx, "a connection to Slack ended", "connection", n, "error", err)
		if !sleep(ctx, backoff(fails, time.Second, 30*time.Second)) {
			return over(ctx)
		}
	}
}

// isFatal reads what the client says only in words.
func isFatal(err error) bool {
	if err == nil {
		return false
	}
	for _, w := range fatalErrors {
		if err.Error() == w {
			return true
		}
	}
	return false
}

func (b *Bot) listenOnce(ctx context.Context, n int) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := b.o.Socket()
	var wg sync.WaitGroup
	wg.Go(func() { b.hearEvents(ctx, c, n, stop) })
	err := c.RunContext(ctx)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	stop(nil)
	wg.Wait()
	return err
}

// hearEvents takes what one connection brings until ctx ends.
func (b *Bot) hearEvents(ctx context.Context, c *socketmode.Client, n int, stop context.CancelCauseFunc) {
	var taking sync.WaitGroup
	defer taking.Wait()
	slots := make(chan struct{}, takingMost)
	up := false
	set := func(now bool) {
		if now != up {
			up = now
			b.linked(map[bool]int{true: 1, false: -1}[now])
		}
	}
	defer set(false)
	for {
		var e socketmode.Event
		select {
		case <-ctx.Done():
			return
		case e = <-c.Events:
		}
		switch e.Type { //nolint:exhaustive // The others only tell.
		case socketmode.EventTypeConnecting:
			set(false)
			if isReconnect(&e) {
				b.figure.reconnects.Inc()
			}
		case socketmode.EventTypeHello:
			set(true)
			b.log.InfoContext(ctx, "a connection to Slack is up", "connection", n)
		case socketmode.EventTypeConnectionError:
			set(false)
			b.unreached(ctx, &e, n, stop)
		case socketmode.EventTypeInvalidAuth:
			stop(slack.SlackErrorResponse{Err: "invalid_auth"})
		case socketmode.EventTypeIncomingError, socketmode.EventTypeErrorWriteFailed, socketmode.EventTypeDisconnect:
			set(false)
		case socketmode.EventTypeSlashCommand, socketmode.EventTypeInteractive, socketmode.EventTypeEventsAPI, socketmode.EventTypeErrorBadMessage:
			r := requestOf(&e)
			if r == nil {
				continue
			}
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			taking.Go(func() {
				defer func() { <-slots }()
				b.takeEnvelope(ctx, c, r)
			})
		}
	}
}

// isReconnect reports whether a connection is made that is not the first try of
// the first one.
func isReconnect(e *socketmode.Event) bool {
	x, ok := e.Data.(*slack.ConnectingEvent)
	return ok && (x.ConnectionCount > 0 || x.Attempt > 1)
}

// unreached notes that a connection could not be made; a token that Slack
// refuses ends it.
func (b *Bot) unreached(ctx context.Context, e *socketmode.Event, n int, stop context.CancelCauseFunc) {
	x, ok := e.Data.(*slack.ConnectionErrorEvent)
	if !ok {
		return
	}
	b.log.WarnContext(ctx, "Slack cannot be reached by Socket Mode", "connection", n, "attempt", x.Attempt, "again_in", x.Backoff, "error", x.ErrorObj)
	if isOneOf(x.ErrorObj, fatalErrors) {
		stop(x.ErrorObj)
	}
}

// requestOf is the envelope of an event. What the client's library cannot read
// is read from its own bytes, so that an event of a new kind is acknowledged
// like any other. Nil: nothing that could be acknowledged.
func requestOf(e *socketmode.Event) *socketmode.Request {
	r := e.Request
	if bad, ok := e.Data.(*socketmode.ErrorBadMessage); ok && r == nil {
		r = &socketmode.Request{}
		if json.Unmarshal(bad.Message, r) != nil {
			return nil
		}
	}
	if r == nil || r.EnvelopeID == "" {
		return nil
	}
	return r
}

var formOf = map[string]form{
	socketmode.RequestTypeSlashCommands: formCommand,
	socketmode.RequestTypeInteractive:   formInteractive,
	socketmode.RequestTypeEventsAPI:     formEvent,
}

// takeEnvelope receives one envelope and acknowledges it. One that could not be
// stored is not acknowledged: Slack then tells the person.
func (b *Bot) takeEnvelope(ctx context.Context, c *socketmode.Client, r *socketmode.Request) {
	began := b.o.Clock()
	f, known := formOf[r.Type]
	if !known {
		return
	}
	answer, err := b.take(ctx, f, r.Payload, nil)
	if err != nil {
		b.log.ErrorContext(ctx, "an envelope was not taken", "type", r.Type, "error", err)
		return
	}
	response := socketmode.Response{EnvelopeID: r.EnvelopeID}
	if answer != nil && r.AcceptsResponsePayload {
		response.Payload = answer
	}
	ack, cancel := context.WithTimeout(ctx, ackFor)
	defer cancel()
	if err := c.SendCtx(ack, response); err != nil {
		b.log.WarnContext(ctx, "an envelope was stored and could not be acknowledged", "type", r.Type, "error", err)
		return
	}
	b.figure.acks.Observe(b.o.Clock().Sub(began).Seconds())
}

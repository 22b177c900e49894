package bot

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
)

// work answers interactions until ctx ends. What was begun is finished.
func (b *Bot) work(ctx context.Context) error {
	longer, end := outlive(ctx)
	defer end()
	for {
		select {
		case <-ctx.Done():
			return over(ctx)
		case j := <-b.inbox.jobs:
			b.answer(longer, j)
		}
	}
}

// answer answers one interaction and closes it. When it cannot be closed it
// stays in the box and is answered again.
func (b *Bot) answer(ctx context.Context, j job) {
	ctx, cancel := context.WithTimeout(ctx, hearFor)
	defer cancel()
	defer func() {
		j.ack.give(nil)
		b.inbox.release(j.in.Key)
	}()
	effects := b.hear(ctx, &j.in)
	back, effects := b.forms(ctx, &j, effects)
	parcels, err := pack(&j.in, effects)
	if err != nil {
		if parcels, err = pack(&j.in, b.fault(ctx, &j.in, err)); err != nil {
			b.log.ErrorContext(ctx, "nothing can be answered", "error", err)
		}
	}
	err = b.link(ctx, &j.in, effects)
	if err == nil {
		_, err = b.o.Box.Answer(ctx, j.in.Key, parcels)
	}
	if err != nil {
		b.log.ErrorContext(ctx, "an answer could not be stored; it is tried again", "kind", j.in.Kind, "user", j.in.User, "error", err)
		return
	}
	j.ack.give(back)
	b.figure.answers.Observe(b.o.Clock().Sub(j.in.At).Seconds())
	b.outbox.nudge()
}

// hear asks the conversation. A fault or a panic of it becomes a sentence with
// a reference to the log.
func (b *Bot) hear(ctx context.Context, in *talk.Interaction) []talk.Effect {
	who, err := b.who.of(ctx, in)
	if err != nil {
		return b.refuse(ctx, in, err)
	}
	effects, err := b.ask(ctx, who, in)
	if err == nil {
		return effects
	}
	return b.fault(ctx, in, err)
}

// fault is what somebody is told whose wish met a fault of ours.
func (b *Bot) fault(ctx context.Context, in *talk.Interaction, err error) []talk.Effect {
	ref := strings.ToUpper(rand.Text()[:6])
	b.log.ErrorContext(ctx, "an interaction met a fault", "ref", ref, "kind", in.Kind, "user", in.User, "command", in.Command, "action", in.Action, "error", err)
	return []talk.Effect{{Surface: talk.Reply, Message: talk.Message{Text: fmt.Sprintf(textFault.in(b.who.lang(in.User)), ref)}}}
}

func (b *Bot) ask(ctx context.Context, who talk.Asker, in *talk.Interaction) (out []talk.Effect, err error) {
	defer recovered(&err)
	return b.o.Conversation.Hear(ctx, who, *in)
}

func recovered(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}
}

// refuse answers somebody who has no account here.
func (b *Bot) refuse(ctx context.Context, in *talk.Interaction, err error) []talk.Effect {
	why := err.Error()
	l := b.who.lang(in.User)
	if r, ok := errors.AsType[*Refusal](err); ok {
		why = r.Reason.in(l)
	}
	b.figure.refused.WithLabelValues("identity").Inc()
	b.log.WarnContext(ctx, "refused: nobody here", "user", in.User, "team", in.Team, "kind", in.Kind, "command", in.Command, "action", in.Action, "error", err)
	var effects []talk.Effect
	perr := func() (err error) {
		defer recovered(&err)
		effects = b.o.Conversation.Stranger(*in, l, why)
		return nil
	}()
	if perr != nil {
		b.log.ErrorContext(ctx, "the conversation failed", "error", perr)
		effects = []talk.Effect{{Surface: talk.Reply, Message: talk.Message{Text: why}}}
	}
	return effects
}

// forms shows what needs the moment: mistakes in a form, and forms, whose
// trigger is good for three seconds. What cannot be shown so becomes words.
func (b *Bot) forms(ctx context.Context, j *job, effects []talk.Effect) (*slack.ViewSubmissionResponse, []talk.Effect) {
	var back *slack.ViewSubmissionResponse
	var rest []talk.Effect
	for _, e := range effects {
		switch {
		case e.Surface == talk.FormErrors && j.ack != nil && !j.ack.taken.Load():
			back = slack.NewErrorsViewSubmissionResponse(e.Errors)
		case e.Surface == talk.FormErrors:
			rest = append(rest, inWords(e, mistakes(e.Errors)))
		case e.Surface == talk.Form && j.ack != nil && !j.ack.taken.Load() && e.View != nil:
			back = slack.NewUpdateViewSubmissionResponse(e.View)
		case e.Surface == talk.Form:
			if !b.openForm(ctx, &j.in, e.View) {
				rest = append(rest, inWords(e, textNoForm.in(b.who.lang(j.in.User))))
			}
		default:
			rest = append(rest, e)
		}
	}
	return back, rest
}

// inWords is the reply that stands for a form.
func inWords(e talk.Effect, otherwise string) talk.Effect {
	m := e.Message
	if m.Text == "" {
		m.Text = otherwise
	}
	return talk.Effect{Surface: talk.Reply, Lane: e.Lane, Message: m}
}

func mistakes(errs map[string]string) string {
	out := make([]string, 0, len(errs))
	for _, k := range sortedKeys(errs) {
		out = append(out, errs[k])
	}
	return strings.Join(out, "\n")
}

// triggerFor is how long a trigger is worth trying; Slack's own three seconds
// began before it reached us.
const triggerFor = 2800 * time.Millisecond

// openForm opens a form, or changes the one that is open.
func (b *Bot) openForm(ctx context.Context, in *talk.Interaction, v *slack.ModalViewRequest) bool {
	age := b.o.Clock().Sub(in.At)
	if v == nil || in.View == "" && (in.Trigger == "" || age > triggerFor) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, triggerFor)
	defer cancel()
	var err error
	method := "views.open"
	if in.View != "" {
		method = "views.update"
		_, err = b.o.Slack.UpdateViewContext(ctx, *v, "", "", in.View)
	} else {
		_, err = b.o.Slack.OpenViewContext(ctx, in.Trigger, *v)
	}
	b.called(method, err)
	if err != nil {
		b.log.WarnContext(ctx, "a form could not be opened; the answer comes in words", "error", err, "age", age)
	}
	return err == nil
}

// called counts a call and what came of it.
func (b *Bot) called(method string, err error) {
	outcome := "ok"
	if err != nil {
		outcome = wordOf(err)
		if outcome == "" {
			outcome = "failed"
		}
	}
	b.figure.calls.WithLabelValues(method, outcome).Inc()
	if isOneOf(err, revokedErrors) {
		b.doubtToken()
	}
}

// link makes a message whose button was pressed a copy of its card, when it is
// one that nobody knew of: posting has no name for the same attempt, so that a
// lost reply leaves a card twice.
func (b *Bot) link(ctx context.Context, in *talk.Interaction, effects []talk.Effect) error {
	if in.Kind != talk.Action || in.Ephemeral || in.Message.TS == "" || in.Card == "" {
		return nil
	}
	if !slices.ContainsFunc(effects, func(e talk.Effect) bool { return e.Surface == talk.Card && e.Key == in.Card }) {
		return nil
	}
	copies, err := b.o.Box.Copies(ctx, in.Card)
	if err != nil {
		return err
	}
	at := func(c bridge.Copy) bool { return c.Channel == in.Message.Channel && c.TS == in.Message.TS }
	if slices.ContainsFunc(copies, at) {
		return nil
	}
	b.log.InfoContext(ctx, "a second copy of a card came to light", "card", in.Card, "channel", in.Message.Channel)
	return b.o.Box.Show(ctx, bridge.Copy{Key: in.Card, Channel: in.Message.Channel, TS: in.Message.TS, At: b.o.Clock().Add(-cardEvery)})
}

// pack packs effects. in is what they answer; nil: nothing.
func pack(in *talk.Interaction, effects []talk.Effect) ([]bridge.Parcel, error) {
	var out []bridge.Parcel
	for i := range effects {
		e := effects[i]
		p := bridge.Parcel{Lane: int(e.Lane), Surface: string(e.Surface), Once: e.Once}
		if in != nil {
			p.Source = in.Key
		}
		switch e.Surface {
		case talk.Reply:
			if in == nil {
				return nil, errors.New("pack a reply: nothing was said that it answers")
			}
			if e.User == "" {
				e.User = in.User
			}
			if e.Channel == "" {
				e.Channel = in.Channel
			}
			p.Target = "reply:" + e.User
		case talk.Card:
			p.Key, p.Target = cardKey(&e), "card:"+e.Key
		case talk.Thread, talk.Upload:
			p.Target = "card:" + e.Key
		case talk.Direct:
			p.Target = firstOf(e.User, e.Account)
			p.Once = firstOf(e.Once, e.Key)
		case talk.Tab:
			if e.User == "" && in != nil {
				e.User = in.User
			}
			p.Key, p.Target = "tab:"+firstOf(e.User, e.Account), "tab:"+firstOf(e.User, e.Account)
		case talk.Form, talk.FormErrors:
			return nil, fmt.Errorf("pack %s: only an interaction can be answered by it", e.Surface)
		default:
			return nil, fmt.Errorf("pack %q: no such surface", e.Surface)
		}
		var err error
		if p.Body, err = json.Marshal(e); err != nil {
			return nil, fmt.Errorf("pack %s: %w", e.Surface, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// cardKey names what is shown of a card, and to whom. An edit never takes the
// place of a first showing that still waits.
func cardKey(e *talk.Effect) string {
	kind := "card:"
	if e.Edit {
		kind = "edit:"
	}
	return kind + e.Key + "@" + firstOf(e.Channel, e.User, e.Account)
}

func firstOf(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

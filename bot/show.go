package bot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
)

// metadataType marks our messages, so that a card is known again by its button.
const metadataType = "spillway_card"

// bring shows one effect and takes its parcel off the list.
func (b *Bot) bring(ctx context.Context, p *bridge.Parcel, e *talk.Effect) error {
	switch e.Surface {
	case talk.Reply:
		return b.bringReply(ctx, p, e)
	case talk.Card:
		return b.bringCard(ctx, p, e)
	case talk.Thread:
		return b.bringThread(ctx, p, e)
	case talk.Direct:
		return b.bringDirect(ctx, p, e)
	case talk.Tab:
		return b.bringTab(ctx, p, e)
	case talk.Upload:
		return b.bringUpload(ctx, p, e)
	case talk.Form, talk.FormErrors:
	}
	return &errDrop{"no such surface", fmt.Errorf("surface %q", e.Surface)}
}

// call makes one paid call and tells what Slack thinks of it.
func (b *Bot) call(ctx context.Context, p *bridge.Parcel, method, channel string, do func(ctx context.Context) error) error {
	if err := b.pay(p, method, channel); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	err := do(ctx)
	b.pace.done(method, channel)
	b.called(method, err)
	if pause, limited := retryAfter(err); limited {
		b.figure.limited.WithLabelValues(method).Inc()
		until := b.pace.rest(method, channel, pause)
		b.log.WarnContext(ctx, "Slack wants a pause", "method", method, "channel", channel, "until", until)
		return &errWait{need{method: method, channel: channel, at: until}}
	}
	return err
}

// options are a message for Slack. Metadata names the card; empty: none.
func options(m *talk.Message, card string) []slack.MsgOption {
	o := []slack.MsgOption{
		slack.MsgOptionText(m.Text, false), slack.MsgOptionBlocks(m.Blocks...),
		slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(),
	}
	if card != "" {
		o = append(o, slack.MsgOptionMetadata(slack.SlackMetadata{EventType: metadataType, EventPayload: map[string]any{"card": card}}))
	}
	return o
}

// textMost is what Slack advises for a text.
const textMost = 4000

func short(s string) string {
	if r := []rune(s); len(r) > textMost {
		return string(r[:textMost-1]) + "…"
	}
	return s
}

func (b *Bot) post(ctx context.Context, p *bridge.Parcel, channel, thread, card string, m *talk.Message) (where talk.Ref, err error) {
	if err := b.ownChannel(ctx, channel); err != nil {
		return where, err
	}
	err = b.plainly(ctx, p, m, func(m *talk.Message) error {
		return b.call(ctx, p, methodPost, channel, func(ctx context.Context) error {
			o := options(m, card)
			if thread != "" {
				o = append(o, slack.MsgOptionTS(thread))
			}
			var err error
			where.Channel, where.TS, err = b.o.Slack.PostMessageContext(ctx, channel, o...)
			return err
		})
	})
	if err == nil {
		b.trouble("channel", "")
	}
	return where, err
}

func (b *Bot) bringCard(ctx context.Context, p *bridge.Parcel, e *talk.Effect) error {
	copies, err := b.o.Box.Copies(ctx, e.Key)
	if err != nil {
		return err
	}
	hash := hashOf(&e.Message)
	now := b.o.Clock()
	// A state that follows soon waits; the last one wins.
	for _, c := range copies {
		if next := c.At.Add(cardEvery); c.Hash != hash && next.After(now) {
			return &errWait{need{at: next}}
		}
	}
	there := len(copies) > 0
	place, err := b.placeOf(ctx, e, there)
	if err != nil {
		return err
	}
	shown, err := b.editCopies(ctx, p, &e.Message, copies)
	if err != nil {
		return err
	}
	if place != "" && !slices.ContainsFunc(copies, func(c bridge.Copy) bool { return c.Channel == place || c.Target == place }) {
		where, err := b.post(ctx, p, place, "", e.Key, &e.Message)
		if err != nil {
			return errors.Join(err, b.keepShown(ctx, shown))
		}
		// The first edit after it need not wait.
		shown = append(shown, bridge.Copy{Key: e.Key, Channel: where.Channel, TS: where.TS, Target: place, Hash: hash, At: b.o.Clock().Add(-cardEvery)})
	}
	if err := b.picture(ctx, p, e); err != nil {
		return errors.Join(err, b.keepShown(ctx, shown))
	}
	return b.o.Box.Delivered(ctx, *p, b.o.Clock().Add(cardEvery), shown...)
}

// editCopies edits the copies of a card that show something else, forgets those
// that are gone, and returns what was edited. When one fails it keeps the others.
func (b *Bot) editCopies(ctx context.Context, p *bridge.Parcel, m *talk.Message, copies []bridge.Copy) (shown []bridge.Copy, err error) {
	hash := hashOf(m)
	for _, c := range copies {
		if c.Hash == hash {
			continue
		}
		switch err := b.edit(ctx, p, &c, m); {
		case isOneOf(err, lostErrors):
			if err := b.o.Box.Hide(ctx, c); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, errors.Join(err, b.keepShown(ctx, shown))
		default:
			c.Hash, c.At = hash, b.o.Clock()
			shown = append(shown, c)
		}
	}
	return shown, nil
}

// placeOf is where a card is to be shown besides where it is; empty: nowhere.
func (b *Bot) placeOf(ctx context.Context, e *talk.Effect, there bool) (string, error) {
	place := firstOf(e.Channel, e.User)
	switch {
	case e.Edit:
		return "", nil
	case place != "":
		return place, nil
	case e.Account == "" && there:
		return "", nil
	case e.Account == "":
		return b.o.Channel, nil
	}
	user, err := b.who.slackOf(ctx, e.Account)
	if err != nil {
		return "", err
	}
	if place = firstOf(user, e.Else); place == "" && !there {
		return "", &errDrop{"no Slack user", fmt.Errorf("account %s", e.Account)}
	}
	return place, nil
}

// keepShown keeps what of a card's copies was edited before one failed.
func (b *Bot) keepShown(ctx context.Context, shown []bridge.Copy) error {
	if len(shown) == 0 {
		return nil
	}
	return b.o.Box.Show(ctx, shown...)
}

func (b *Bot) edit(ctx context.Context, p *bridge.Parcel, c *bridge.Copy, m *talk.Message) error {
	return b.plainly(ctx, p, m, func(m *talk.Message) error {
		return b.call(ctx, p, methodUpdate, "", func(ctx context.Context) error {
			_, _, _, err := b.o.Slack.UpdateMessageContext(ctx, c.Channel, c.TS, options(m, c.Key)...)
			return err
		})
	})
}

func hashOf(m *talk.Message) string {
	text, err := json.Marshal(m)
	if err != nil {
		return "" // It was read from JSON; and an empty hash is only an edit more.
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// threadOf is where a card's thread is: in the channel the effect names, else
// wherever the card is shown.
func (b *Bot) threadOf(e *talk.Effect, copies []bridge.Copy) (channel, thread string) {
	wanted := firstOf(e.Channel, e.User, b.o.Channel)
	channel = wanted
	for _, c := range copies {
		if thread == "" || c.Channel == wanted {
			channel, thread = c.Channel, c.TS
		}
		if c.Channel == wanted {
			break
		}
	}
	return channel, thread
}

func (b *Bot) bringThread(ctx context.Context, p *bridge.Parcel, e *talk.Effect) error {
	copies, err := b.o.Box.Copies(ctx, e.Key)
	if err != nil {
		return err
	}
	channel, thread := b.threadOf(e, copies)
	if _, err = b.post(ctx, p, channel, thread, "", &e.Message); err != nil {
		return err
	}
	return b.o.Box.Delivered(ctx, *p, time.Time{})
}

func (b *Bot) bringDirect(ctx context.Context, p *bridge.Parcel, e *talk.Effect) error {
	user := e.User
	if user == "" {
		var err error
		if user, err = b.who.slackOf(ctx, e.Account); err != nil {
			return err
		}
	}
	if user == "" {
		return &errDrop{"no Slack user", fmt.Errorf("account %s", e.Account)}
	}
	if _, err := b.post(ctx, p, user, "", "", &e.Message); err != nil {
		return err
	}
	return b.o.Box.Delivered(ctx, *p, time.Time{})
}

func (b *Bot) bringTab(ctx context.Context, p *bridge.Parcel, e *talk.Effect) error {
	user := e.User
	if user == "" {
		var err error
		if user, err = b.who.slackOf(ctx, e.Account); err != nil {
			return err
		}
	}
	if user == "" {
		return &errDrop{"no Slack user", fmt.Errorf("account %s", e.Account)}
	}
	blocks := slack.Blocks{BlockSet: e.Message.Blocks}
	if e.View != nil {
		blocks = e.View.Blocks
	}
	err := b.call(ctx, p, methodPublish, "", func(ctx context.Context) error {
		_, err := b.o.Slack.PublishViewContext(ctx, slack.PublishViewContextRequest{
			UserID: user, View: slack.HomeTabViewRequest{Type: slack.VTHomeTab, Blocks: blocks},
		})
		return err
	})
	if err != nil {
		return err
	}
	return b.o.Box.Delivered(ctx, *p, time.Time{})
}

// bringReply answers one person: by the address that came with what they did,
// else in the channel for their eyes, else in their own messages.
func (b *Bot) bringReply(ctx context.Context, p *bridge.Parcel, e *talk.Effect) error {
	err := errors.New("no address")
	if address := b.outbox.use(p.Source, b.o.Clock()); address != "" {
		err = b.plainly(ctx, p, &e.Message, func(m *talk.Message) error {
			return b.call(ctx, p, methodResponse, "", func(ctx context.Context) error { return b.respond(ctx, address, e, m) })
		})
	}
	if _, waits := errors.AsType[*errWait](err); waits {
		b.outbox.giveBack(p.Source)
		return err
	}
	if err != nil && e.Channel != "" {
		err = b.plainly(ctx, p, &e.Message, func(m *talk.Message) error {
			return b.call(ctx, p, methodEphemeral, "", func(ctx context.Context) error {
				_, err := b.o.Slack.PostEphemeralContext(ctx, e.Channel, e.User, options(m, "")...)
				return err
			})
		})
	}
	if err != nil && (e.Channel == "" || isOneOf(err, placeErrors) || wordOf(err) == "user_not_in_channel") {
		_, err = b.post(ctx, p, e.User, "", "", &e.Message)
	}
	if err != nil {
		return err
	}
	return b.o.Box.Delivered(ctx, *p, time.Time{})
}

// respond posts to a response URL, if it is Slack's.
func (b *Bot) respond(ctx context.Context, address string, e *talk.Effect, m *talk.Message) error {
	if !b.slacks(address) {
		b.figure.refused.WithLabelValues("response-url").Inc()
		return errors.New("a response URL that is not Slack's was not used")
	}
	body := slack.WebhookMessage{Text: m.Text, ResponseType: slack.ResponseTypeEphemeral, ReplaceOriginal: e.Replace}
	if len(m.Blocks) > 0 {
		body.Blocks = &slack.Blocks{BlockSet: m.Blocks}
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode reply: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(raw))
	if err != nil {
		return errors.New("post reply: not an address")
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := b.o.HTTP.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the address, which is a secret
		}
		return fmt.Errorf("post reply: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10)) // only to say more in an error
	if res.StatusCode == http.StatusTooManyRequests {
		return &slack.RateLimitedError{RetryAfter: time.Second}
	}
	if res.StatusCode != http.StatusOK {
		if word := strings.TrimSpace(string(text)); slices.Contains(formErrors, word) {
			return slack.SlackErrorResponse{Err: word}
		}
		return fmt.Errorf("post reply: %s", res.Status)
	}
	return nil
}

// slacks reports whether an address is one of Slack's own, or of the local
// Slack that the configuration names.
func (b *Bot) slacks(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	if slices.Contains(b.o.Hosts, u.Host) {
		return true
	}
	return u.Scheme == "https" && (u.Host == "hooks.slack.com" || strings.HasSuffix(u.Host, ".slack.com"))
}

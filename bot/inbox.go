package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
)

const (
	// queueFor and keepFor are how long storing may wait for its turn, and take.
	// Slack shows a fault after three seconds; before those the person is told
	// what happened.
	queueFor = time.Second
	keepFor  = 1500 * time.Millisecond
	// formFor is how long a form waits to be told of mistakes.
	formFor = 1500 * time.Millisecond
	// suggestFor is how long autocomplete may take.
	suggestFor = 2 * time.Second
	// hearFor is how long one answer may take.
	hearFor = time.Minute
	// waitingMost is how many interactions wait in memory; what is beyond it
	// waits in the box.
	waitingMost = 1000
)

// inbox is what was received and is not answered yet.
type inbox struct {
	keep chan keeping
	jobs chan job

	mu     sync.Mutex
	held   map[string]bool // keys that wait in memory or are worked on
	behind bool            // more wait in the box
}

func newInbox() *inbox {
	return &inbox{keep: make(chan keeping), jobs: make(chan job, waitingMost), held: map[string]bool{}}
}

// job is one interaction to be answered.
type job struct {
	in  talk.Interaction
	ack *formAck // nil: it was acknowledged
}

// formAck is the acknowledgement of a form, which can carry its mistakes if
// they are found in time. Either side takes it, once.
type formAck struct {
	taken atomic.Bool
	say   chan *slack.ViewSubmissionResponse
}

// give passes the answer on, unless the form was closed already.
func (a *formAck) give(r *slack.ViewSubmissionResponse) {
	if a != nil && a.taken.CompareAndSwap(false, true) {
		a.say <- r
	}
}

// keeping is one knock on its way into the box.
type keeping struct {
	knock bridge.Knock
	done  chan kept
}

type kept struct {
	fresh bool
	err   error
}

// keepKnocks stores what arrives at the same time in one transaction, so that
// many people pressing at once wait for few writes.
func (b *Bot) keepKnocks(ctx context.Context) error {
	for {
		var batch []keeping
		select {
		case <-ctx.Done():
			return over(ctx)
		case k := <-b.inbox.keep:
			batch = append(batch, k)
		}
		for more := true; more && len(batch) < 100; {
			select {
			case k := <-b.inbox.keep:
				batch = append(batch, k)
			default:
				more = false
			}
		}
		b.keepBatch(ctx, batch)
	}
}

func (b *Bot) keepBatch(ctx context.Context, batch []keeping) {
	ctx, cancel := context.WithTimeout(ctx, keepFor)
	defer cancel()
	knocks := make([]bridge.Knock, len(batch))
	for i := range batch {
		knocks[i] = batch[i].knock
	}
	fresh, err := b.o.Box.Knock(ctx, knocks)
	for i := range batch {
		if err != nil {
			batch[i].done <- kept{err: err}
			continue
		}
		batch[i].done <- kept{fresh: fresh[i]}
	}
}

// knock stores one interaction.
func (b *Bot) knock(ctx context.Context, in *talk.Interaction) (bool, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return false, fmt.Errorf("encode interaction: %w", err)
	}
	wait := time.NewTimer(queueFor)
	defer wait.Stop()
	k := keeping{bridge.Knock{Key: in.Key, At: in.At, Body: body}, make(chan kept, 1)}
	select {
	case <-ctx.Done():
		return false, fmt.Errorf("wait for the box: %w", ctx.Err())
	case <-wait.C:
		return false, errors.New("the box is too slow")
	case b.inbox.keep <- k:
	}
	// From here it may be stored at any moment, so what came of it is waited for:
	// nobody is told that nothing was done when something will be.
	r := <-k.done
	return r.fresh, r.err
}

// take receives one payload, unless check refuses it, and returns what its
// acknowledgement carries; nil: nothing. An error means that it must not be
// acknowledged.
func (b *Bot) take(ctx context.Context, f form, payload []byte, check func(*arrival) error) (answer any, err error) {
	defer recovered(&err)
	a, err := read(f, payload, b.o.Clock().UTC())
	if err == nil && check != nil {
		err = check(&a)
	}
	if _, forged := errors.AsType[*errForged](err); forged {
		return nil, err
	}
	if errors.Is(err, errIgnored) {
		b.figure.received.WithLabelValues(string(f), "ignored").Inc()
		return nil, nil
	}
	if err != nil {
		b.figure.received.WithLabelValues(string(f), "unreadable").Inc()
		return nil, err
	}
	return b.takeIn(ctx, &a)
}

func (b *Bot) takeIn(ctx context.Context, a *arrival) (answer any, err error) {
	in := &a.in
	count := func(outcome string) { b.figure.received.WithLabelValues(string(in.Kind), outcome).Inc() }
	if in.Kind == talk.Options {
		count("new")
		return b.suggest(ctx, in), nil
	}
	if in.Kind == talk.Event {
		count("new")
		b.note(in)
		return nil, nil
	}
	if !b.inbox.claim(in.Key) {
		count("duplicate")
		return nil, nil
	}
	fresh, err := b.knock(ctx, in)
	if err != nil || !fresh {
		b.inbox.release(in.Key)
	}
	if err != nil {
		count("lost")
		b.log.ErrorContext(ctx, "an interaction could not be stored", "kind", in.Kind, "user", in.User, "error", err)
		if in.Kind == talk.Command {
			return slack.WebhookMessage{ResponseType: slack.ResponseTypeEphemeral, Text: textNotKept.in(b.who.lang(in.User))}, nil
		}
		return nil, err
	}
	if !fresh {
		count("duplicate")
		b.log.InfoContext(ctx, "the same delivery again; it was answered once", "kind", in.Kind, "user", in.User)
		return nil, nil
	}
	count("new")
	j := job{in: *in}
	if in.Kind == talk.Submission {
		j.ack = &formAck{say: make(chan *slack.ViewSubmissionResponse, 1)}
	}
	b.enqueue(j)
	if r := waitFor(ctx, j.ack); r != nil {
		return r, nil
	}
	return nil, nil
}

// waitFor waits a moment for the mistakes of a form.
func waitFor(ctx context.Context, a *formAck) *slack.ViewSubmissionResponse {
	if a == nil {
		return nil
	}
	t := time.NewTimer(formFor)
	defer t.Stop()
	select {
	case r := <-a.say:
		return r
	case <-t.C:
	case <-ctx.Done():
	}
	if a.taken.CompareAndSwap(false, true) {
		return nil
	}
	return <-a.say
}

// claim takes a key for this process; false when somebody has it.
func (x *inbox) claim(key string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.held[key] {
		return false
	}
	x.held[key] = true
	return true
}

func (x *inbox) release(key string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.held, key)
}

// enqueue hands a claimed interaction to the workers, or leaves it in the box.
func (b *Bot) enqueue(j job) {
	b.outbox.remember(&j.in, b.o.Clock())
	b.inbox.mu.Lock()
	defer b.inbox.mu.Unlock()
	select {
	case b.inbox.jobs <- j:
	default:
		delete(b.inbox.held, j.in.Key)
		b.inbox.behind = true
	}
}

// recallEvery is how often the box is looked through for what was left in it:
// by the process before, by a full queue, or by a fault.
const recallEvery = 15 * time.Second

// recall brings back what waits in the box, first of all what the process
// before this one left there.
func (b *Bot) recall(ctx context.Context) error {
	for {
		if err := b.recallOnce(ctx); err != nil && ctx.Err() == nil {
			b.log.WarnContext(ctx, "the box cannot be read", "error", err)
		}
		if !b.pauseRecall(ctx) {
			return over(ctx)
		}
	}
}

// recallOnce holds the list of claims while it reads, so that what was answered
// since the reading is not answered again.
func (b *Bot) recallOnce(ctx context.Context) error {
	b.inbox.mu.Lock()
	defer b.inbox.mu.Unlock()
	b.inbox.behind = false
	ks, err := b.o.Box.Knocks(ctx, 2*waitingMost)
	if err != nil {
		return err
	}
	for _, k := range ks {
		if b.inbox.held[k.Key] {
			continue
		}
		var in talk.Interaction
		if err := json.Unmarshal(k.Body, &in); err != nil {
			b.log.ErrorContext(ctx, "a stored interaction cannot be read and is dropped", "key", k.Key, "error", err)
			if _, err := b.o.Box.Answer(ctx, k.Key, nil); err != nil {
				return err
			}
			continue
		}
		select {
		case b.inbox.jobs <- job{in: in}:
			b.inbox.held[k.Key] = true
		default:
			b.inbox.behind = true
			return nil
		}
	}
	return nil
}

// pauseRecall waits for the next look; a shorter time when the queue was full.
func (b *Bot) pauseRecall(ctx context.Context) bool {
	for waited := time.Duration(0); waited < recallEvery; waited += time.Second {
		if !sleep(ctx, time.Second) {
			return false
		}
		b.inbox.mu.Lock()
		soon := b.inbox.behind && len(b.inbox.jobs) < waitingMost/2
		b.inbox.mu.Unlock()
		if soon {
			return true
		}
	}
	return true
}

// suggest answers autocomplete; nothing when it cannot, for a form without
// suggestions is still a form.
func (b *Bot) suggest(ctx context.Context, in *talk.Interaction) any {
	ctx, cancel := context.WithTimeout(ctx, suggestFor)
	defer cancel()
	options := []*slack.OptionBlockObject{}
	who, err := b.who.of(ctx, in)
	if err != nil {
		b.log.InfoContext(ctx, "no suggestions", "user", in.User, "error", err)
		return map[string]any{"options": options}
	}
	choices, err := b.choices(ctx, who, in)
	if err != nil {
		b.log.WarnContext(ctx, "no suggestions", "action", in.Action, "error", err)
	}
	const most = 100
	for _, c := range choices[:min(len(choices), most)] {
		options = append(options, slack.NewOptionBlockObject(c.Value, slack.NewTextBlockObject(slack.PlainTextType, c.Text, false, false), nil))
	}
	return map[string]any{"options": options}
}

func (b *Bot) choices(ctx context.Context, who talk.Asker, in *talk.Interaction) (out []talk.Choice, err error) {
	defer recovered(&err)
	return b.o.Conversation.Suggest(ctx, who, *in)
}

// note takes in what Slack says has changed. Hearing it twice does no harm.
func (b *Bot) note(in *talk.Interaction) {
	switch in.Action {
	case "user_change", "user_profile_changed", "user_status_changed":
		b.who.forget(in.User, "")
	case "subteam_updated", "subteam_members_changed", "subteam_created":
		b.who.forget("", in.Value)
	case "tokens_revoked", "app_uninstalled":
		b.doubtToken()
	case "channel_archive", "channel_unarchive", "channel_rename":
		b.outbox.nudge()
	}
}

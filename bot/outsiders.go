package bot

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"
)

const (
	// sharedFor is how long Slack's word that a channel is our own counts.
	sharedFor = 5 * time.Minute
	// sharedAgain is when a card for a shared channel is tried again.
	sharedAgain = time.Minute
)

// channels is what Slack said of channels, by id: until when it counts.
type channels struct {
	mu  sync.Mutex
	own map[string]time.Time
}

// ownChannel keeps cards out of channels that another organisation reads. They
// wait: the command line decides meanwhile. What Slack cannot say of a channel
// is left to the post itself, which needs more than this.
func (b *Bot) ownChannel(ctx context.Context, channel string) error {
	if !strings.HasPrefix(channel, "C") && !strings.HasPrefix(channel, "G") {
		return nil
	}
	now := b.o.Clock()
	b.channels.mu.Lock()
	fresh := now.Before(b.channels.own[channel])
	b.channels.mu.Unlock()
	if fresh {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callFor)
	defer cancel()
	info, err := b.o.Slack.GetConversationInfoContext(ctx, &slack.GetConversationInfoInput{ChannelID: channel})
	b.called("conversations.info", err)
	switch {
	case err != nil:
		b.log.WarnContext(ctx, "Slack does not say who reads a channel", "channel", channel, "error", err)
		return nil
	case info.IsExtShared || info.IsPendingExtShared:
		b.figure.refused.WithLabelValues("shared-channel").Inc()
		b.log.ErrorContext(ctx, "refused: a card for a channel that another organisation reads", "channel", channel)
		b.trouble("channel", "Slack: channel "+channel+" is shared with another organisation; no card is shown there")
		return &errWait{need{at: now.Add(sharedAgain)}}
	}
	b.channels.mu.Lock()
	defer b.channels.mu.Unlock()
	if b.channels.own == nil {
		b.channels.own = map[string]time.Time{}
	}
	b.channels.own[channel] = now.Add(sharedFor)
	return nil
}

package bot_test

import (
	"slices"
	"strings"
	"testing"

	"spillway.sh/spillway/bot/slackd"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
)

// A channel that another organisation reads gets no card.
func TestSecurityASharedChannelGetsNoCard(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.talker.telling(func([]bridge.News) []talk.Effect { return []talk.Effect{card("ask/r-0015", "what it costs")} })
	if err := r.Change(t.Context(), "channels/"+burst, map[string]any{"is_ext_shared": true}); err != nil {
		t.Fatal(err)
	}
	r.begin()
	if err := r.store.Tell(t.Context(), bridge.News{Kind: bridge.NewsAsked, Rental: "r-0015"}); err != nil {
		t.Fatal(err)
	}
	r.until("it is refused", func() bool { return r.figure("spillway_slack_refused_total", "reason=shared-channel") == 1 })
	if got := r.texts(burst, mei); len(got) != 0 {
		t.Errorf("the channel shows %q", got)
	}
	if !slices.ContainsFunc(r.bot.Problems(), func(s string) bool { return strings.Contains(s, "another organisation") }) {
		t.Errorf("problems: %q", r.bot.Problems())
	}
	if ps, err := r.store.Parcels(t.Context(), 10); err != nil || len(ps) != 1 {
		t.Errorf("%d cards wait, %v", len(ps), err)
	}
}

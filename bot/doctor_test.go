package bot_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot"
	"spillway.sh/spillway/bot/slackd"
	"spillway.sh/spillway/bot/talk"
)

func TestDoctorFindsWhatIsInTheWay(t *testing.T) {
	bad := talk.Message{Text: "x", Blocks: []slack.Block{slack.NewHeaderBlock(slack.NewTextBlockObject(slack.PlainTextType, strings.Repeat("x", 200), false, false))}}
	cases := map[string]struct {
		spoil func(r *rig, x *bot.Examination)
		level bot.Level
		want  string // in a finding; empty: nothing is in the way
	}{
		"all is well":   {func(*rig, *bot.Examination) {}, "", ""},
		"a wrong token": {func(_ *rig, x *bot.Examination) { x.Token = "xoxb-guess" }, bot.Fault, "invalid_auth"},
		"a scope is missing": {func(r *rig, _ *bot.Examination) {
			if err := r.Scopes(context.Background(), bot.Scopes[:7]); err != nil {
				r.t.Fatal(err)
			}
		}, bot.Fault, "missing: channels:read, groups:read"},
		"a scope too many": {func(r *rig, _ *bot.Examination) {
			if err := r.Scopes(context.Background(), append(slices.Clone(bot.Scopes), "channels:history")); err != nil {
				r.t.Fatal(err)
			}
		}, bot.Warning, "more than needed: channels:history"},
		"a wrong app token":     {func(_ *rig, x *bot.Examination) { x.AppToken = "xapp-guess" }, bot.Fault, "Socket Mode cannot be opened"},
		"no such channel":       {func(_ *rig, x *bot.Examination) { x.Channel = "C0NOWHERE" }, bot.Fault, "channel_not_found"},
		"an archived channel":   {func(_ *rig, x *bot.Examination) { x.Channel = attic }, bot.Fault, "it is archived"},
		"a channel without it":  {func(_ *rig, x *bot.Examination) { x.Channel = general }, bot.Fault, "the bot is not in it"},
		"a shared channel":      {func(_ *rig, x *bot.Examination) { x.Channel = "C0SHARED1" }, bot.Fault, "shared with another organisation"},
		"no such group":         {func(_ *rig, x *bot.Examination) { x.Accounts.Groups = map[string]string{"S0NONE": "g"} }, bot.Fault, "there is none"},
		"an empty group":        {func(_ *rig, x *bot.Examination) { x.Accounts.Groups = map[string]string{"S0NOBODY1": "g"} }, bot.Warning, "nobody is in it"},
		"a group anybody edits": {func(_ *rig, x *bot.Examination) { x.Accounts.Groups = map[string]string{"S0FINANC1": "g"} }, bot.Warning, "can make anybody a member"},
		"a user who left":       {func(_ *rig, x *bot.Examination) { x.Accounts.Users[team+"/U0OLD0001"] = "olga" }, bot.Warning, "olga cannot use the bot"},
		"a user from elsewhere": {func(_ *rig, x *bot.Examination) { x.Accounts.Users["T0OTHER01/U1AB"] = "eve" }, bot.Fault, "another workspace"},
		"a workspace that draws no charts": {func(r *rig, x *bot.Examination) {
			if err := r.Without(context.Background(), "data_visualization"); err != nil {
				r.t.Fatal(err)
			}
			x.Messages["report"] = weekly()[0].Message
		}, bot.Note, "draws none yet"},
		"a card that is too long": {func(_ *rig, x *bot.Examination) { x.Messages["bad"] = bad }, bot.Fault, "refuses its looks"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, slackd.Options{})
			x := &bot.Examination{
				API: r.Base + "/api/", Token: r.server.Tokens().Bot, AppToken: r.server.Tokens().App, Channel: burst, HTTP: r.HTTP,
				Messages: map[string]talk.Message{"good": card("r-0015", "asked").Message},
				Accounts: bot.Accounts{Users: map[string]string{team + "/" + ana: "ana"}, Groups: map[string]string{approvers: "gpu-approvers"}},
			}
			if err := r.Scopes(t.Context(), bot.Scopes); err != nil {
				t.Fatal(err)
			}
			c.spoil(r, x)
			found := x.Examine(t.Context())
			i := slices.IndexFunc(found, func(f bot.Finding) bool { return f.Level == bot.Fault || f.Level == bot.Warning || f.Level == c.level })
			if c.want == "" {
				if i >= 0 {
					t.Errorf("found %+v", found[i])
				}
				return
			}
			if i < 0 || found[i].Level != c.level || !strings.Contains(found[i].Found, c.want) || len(found[i].Fix) == 0 && c.level != bot.Note {
				t.Errorf("want %s %q with what to do, found %+v", c.level, c.want, found)
			}
		})
	}
}

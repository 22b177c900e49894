package slackd

import (
	"testing"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

func TestACommandGoesToTheBotAndItsAnswerComesBack(t *testing.T) {
	r := start(t, Options{})
	r.listen(func(c *socketmode.Client, e socketmode.Event) {
		cmd := e.Data.(slack.SlashCommand)
		_ = c.Ack(*e.Request)
		_, err := r.api.PostEphemeral(cmd.ChannelID, cmd.UserID, slack.MsgOptionText("you said "+cmd.Text, false))
		if err != nil {
			t.Error(err)
		}
	})
	out, err := r.Command(t.Context(), ana, burst, "/rent 8xh100 for 6h @tom")
	if err != nil || out.Outcome != Acked {
		t.Fatalf("%+v %v", out, err)
	}
	r.eventually("ana sees the answer", func() bool {
		list, _ := r.Messages(t.Context(), burst, ana)
		return len(list) == 1 && list[0].Text == "you said 8xh100 for 6h <@U0TOM0001|tom>" && list[0].IsEphemeral
	})
	if list, _ := r.Messages(t.Context(), burst, tom); len(list) != 0 {
		t.Errorf("tom sees what is ana's alone: %v", list)
	}
}

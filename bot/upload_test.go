package bot_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/slackd"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
)

// weekly is a report as it goes out: a message with a chart, its picture, a
// further part and two files.
func weekly() []talk.Effect {
	plain := func(s string) *slack.TextBlockObject {
		return slack.NewTextBlockObject(slack.PlainTextType, s, false, false)
	}
	chart := slack.NewDataVisualizationBlock("Spend a day", slack.NewDataVisualizationBarChart(slack.NewDataVisualizationAxisConfig("Mon", "Tue"),
		slack.NewDataVisualizationDataSeries("spot", slack.NewDataVisualizationDataPoint("Mon", 1), slack.NewDataVisualizationDataPoint("Tue", 2))))
	return []talk.Effect{
		{
			Surface: talk.Card, Lane: talk.Reports, Key: "report/2026-W48", Channel: burst, Message: talk.Message{
				Text: "the week in a sentence", Blocks: []slack.Block{slack.NewSectionBlock(plain("the week in a sentence"), nil, nil), chart, slack.NewSectionBlock(plain("advice"), nil, nil)},
			},
			Files: []talk.File{{Name: "spend.png", Title: "Spend a day", Alt: "Mon 1 USD, Tue 2 USD", Bytes: []byte("\x89PNG\r\n\x1a\nabc")}},
		},
		{Surface: talk.Thread, Lane: talk.Reports, Key: "report/2026-W48", Channel: burst, Message: text("the rest of the week")},
		{Surface: talk.Upload, Lane: talk.Reports, Key: "report/2026-W48", Channel: burst, Message: text("the figures"), Files: []talk.File{
			{Name: "spend.csv", Title: "spend.csv", Bytes: []byte("day,usd\n")}, {Name: "use.csv", Title: "use.csv", Bytes: []byte("day,gpu_hours\n")},
		}},
	}
}

// told has the bot tell what the effects say, once. What is told later is asked
// for when what was told before is stored.
func (r *rig) told(effects ...talk.Effect) {
	r.t.Helper()
	var asked atomic.Int32
	r.talker.telling(func([]bridge.News) []talk.Effect {
		if asked.Add(1) > 1 {
			return nil
		}
		return effects
	})
	for i := range int32(2) {
		if err := r.store.Tell(r.t.Context(), bridge.News{Kind: bridge.NewsWeekly, Text: "2026-W48"}); err != nil {
			r.t.Fatal(err)
		}
		r.until("it is told", func() bool { return asked.Load() > i })
	}
	r.delivered()
}

// channel is what somebody sees in the channel, oldest first.
func (r *rig) channel(user string) []*slackd.Message {
	r.t.Helper()
	ms, err := r.Messages(r.t.Context(), burst, user)
	if err != nil {
		r.t.Fatal(err)
	}
	return ms
}

func files(ms []*slackd.Message) (out []string) {
	for _, m := range ms {
		for _, f := range m.Files {
			out = append(out, f.Name)
		}
	}
	return out
}

func TestAReportGoesOutWithItsChartAndItsFiles(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.begin()
	r.told(weekly()...)
	ms := r.channel(mei)
	if len(ms) != 3 {
		t.Fatalf("%d messages", len(ms))
	}
	if !strings.Contains(string(ms[0].Blocks), "data_visualization") {
		t.Errorf("the first one shows %s", ms[0].Blocks)
	}
	if got := files(ms); !slices.Equal(got, []string{"spend.csv", "use.csv"}) {
		t.Errorf("files %v", got)
	}
	if ms[1].ThreadTS != ms[0].TS || ms[2].ThreadTS != ms[0].TS || ms[2].Text != "the figures" || len(ms[2].Files) != 2 {
		t.Errorf("not in one message of the thread: %+v", ms[2])
	}
}

// A workspace that does not draw charts gets the report without, in one message,
// and the chart's picture in its thread, with words for who cannot see it.
func TestAChartThatIsNotDrawnBecomesAPicture(t *testing.T) {
	r := newRig(t, slackd.Options{})
	if err := r.Without(t.Context(), "data_visualization"); err != nil {
		t.Fatal(err)
	}
	r.begin()
	r.told(weekly()...)
	ms := r.channel(mei)
	blocks := string(ms[0].Blocks)
	if strings.Contains(blocks, "data_visualization") || !strings.Contains(blocks, "advice") || !strings.Contains(blocks, "sentence") {
		t.Errorf("the message shows %s", blocks)
	}
	if got := files(ms); !slices.Equal(slices.Sorted(slices.Values(got)), []string{"spend.csv", "spend.png", "use.csv"}) {
		t.Errorf("files %v", got)
	}
	for _, m := range ms {
		for _, f := range m.Files {
			if f.Name == "spend.png" && (f.AltText != "Mon 1 USD, Tue 2 USD" || m.ThreadTS != ms[0].TS) {
				t.Errorf("the picture is %+v in %+v", f, m)
			}
		}
	}
	if n := r.figure("spillway_slack_dropped_total", "reason=chart"); n != 1 {
		t.Errorf("%v charts are counted as dropped", n)
	}
}

// Slack refuses the looks of a message at its own speed, where a second call in
// a channel has to wait: the message goes out as text all the same, and what was
// refused is not sent again and again.
func TestRefusedLooksAreNotSentAgain(t *testing.T) {
	r := newRig(t, slackd.Options{Speed: 1})
	r.begin()
	bad := card("ask/r-0015", "asked")
	bad.Message.Blocks = append(bad.Message.Blocks, slack.NewHeaderBlock(slack.NewTextBlockObject(slack.PlainTextType, strings.Repeat("x", 151), false, false)))
	bad.Channel = burst
	r.told(bad)
	if got := r.texts(burst, mei); !slices.Equal(got, []string{"ask/r-0015 asked"}) {
		t.Errorf("the channel shows %q", got)
	}
	calls, err := r.Calls(t.Context(), "chat.postMessage")
	if err != nil || len(calls) != 2 {
		t.Errorf("%d calls, %v", len(calls), err)
	}
}

// Slack fails at the last step of an upload: the bytes are not sent again, and
// the files are shown once.
func TestAnUploadThatFailsAtItsEndGoesOnThere(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.fault(slackd.Fault{On: "files.completeUploadExternal", Kind: slackd.FaultFail, Status: 503, Times: 1})
	r.begin()
	r.told(weekly()...)
	if got := files(r.channel(mei)); !slices.Equal(got, []string{"spend.csv", "use.csv"}) {
		t.Errorf("files %v", got)
	}
	calls, err := r.Calls(t.Context(), "files.getUploadURLExternal")
	if err != nil || len(calls) != 2 {
		t.Errorf("%d addresses for two files, %v", len(calls), err)
	}
}

// More files than Slack takes calls at once: the upload waits and goes on where
// it was.
func TestAnUploadThatHasToWaitGoesOnWhereItWas(t *testing.T) {
	r := newRig(t, slackd.Options{Speed: 60})
	r.begin()
	es := weekly()
	es[2].Files = nil
	for i := range 30 {
		name := fmt.Sprintf("part%d.csv", i)
		es[2].Files = append(es[2].Files, talk.File{Name: name, Title: name, Bytes: []byte("a,b\n")})
	}
	r.told(es...)
	if got := files(r.channel(mei)); len(got) != 30 {
		t.Errorf("%d files", len(got))
	}
	calls, err := r.Calls(t.Context(), "files.getUploadURLExternal")
	if err != nil || len(calls) != 30 {
		t.Errorf("%d addresses for 30 files, %v", len(calls), err)
	}
}

// An edit changes what is shown, and shows nothing that is not.
func TestAnEditShowsNothingNew(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.begin()
	edit := func(key, state string) talk.Effect {
		e := card(key, state)
		e.Account, e.Edit = "ana", true
		return e
	}
	first := card("idle/r-0015", "is idle")
	first.Account = "ana"
	r.told(first, edit("idle/r-0015", "runs a job"), edit("idle/r-0016", "runs a job"))
	dm, err := r.OpenDM(t.Context(), ana)
	if err != nil {
		t.Fatal(err)
	}
	r.until("it is edited", func() bool { return slices.Equal(r.texts(dm.ID, ana), []string{"idle/r-0015 runs a job"}) })
}

// What is for somebody without a Slack user goes where the effect says.
func TestWhoIsNotInSlackIsToldInTheChannel(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.begin()
	e := card("idle/r-0015", "is idle")
	e.Account, e.Else = "pat", burst
	r.told(e)
	r.sees(mei, burst, "idle/r-0015 is idle")
	if ps, err := r.store.Parcels(t.Context(), 10); err != nil || len(ps) != 0 {
		t.Errorf("%v, %v", ps, err)
	}
}

package bot

import (
	"testing"
	"time"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge/sim/bulk"
)

var forms = []form{formCommand, formInteractive, formEvent, "unheard-of"}

// FuzzPayloads holds that no payload ends the bot, and that what is taken for an
// interaction says who did what, under a name by which it is known again.
func FuzzPayloads(f *testing.F) {
	for i, texts := range [][]string{
		{`{"command":"/rent","text":"8xh100 for 6h","user_id":"U1","trigger_id":"1.2","team_id":"T1","channel_id":"C1"}`, `{"command":"/rent"}`, `null`},
		{
			`{"type":"block_actions","user":{"id":"U1"},"trigger_id":"1.2","actions":[{"action_id":"approve","block_id":"b","value":"r-0011","action_ts":"3.4"}],"message":{"ts":"5.6","metadata":{"event_type":"spillway","event_payload":{"card":"r-0011"}}}}`,
			`{"type":"block_actions","user":{"id":"U1"},"actions":[]}`,
			`{"type":"block_actions","user":{"id":"U1"},"actions":[{}],"state":{"values":{"b":{"a":{"type":"datetimepicker","selected_date_time":9223372036854775807}}}}}`,
			`{"type":"view_submission","user":{"id":"U1"},"view":{"id":"V1","callback_id":"rent","state":{"values":{"b":{"a":{"type":"static_select","selected_option":{"value":"x"}}}}}}}`,
			`{"type":"block_suggestion","user":{"id":"U1"},"action_id":"pool","value":"h1"}`,
			`{"type":"message","message":{"metadata":[]}}`,
		},
		{
			`{"type":"event_callback","event_id":"E1","team_id":"T1","event":{"type":"app_home_opened","user":"U1","tab":"home"}}`,
			`{"type":"event_callback","event_id":"E1","event":{"type":"user_change","user":{"id":"U1"},"channel":[]}}`,
		},
		{`{}`},
	} {
		for _, text := range texts {
			f.Add(uint8(i), []byte(text))
		}
	}
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, which uint8, payload []byte) {
		kind := forms[int(which)%len(forms)]
		a, err := read(kind, payload, now)
		if err != nil {
			return
		}
		in := &a.in
		if kind == forms[3] {
			return
		}
		if in.Key == "" || in.Kind == "" || in.User == "" && kind != formEvent || !in.At.Equal(now) {
			t.Errorf("%s is taken for %+v", payload, in)
		}
		again, err := read(kind, payload, now.Add(time.Hour))
		if err != nil || again.in.Key != in.Key {
			t.Errorf("the same again is known as %q, before as %q (%v)", again.in.Key, in.Key, err)
		}
		if in.Kind == talk.Command && in.Command == "" {
			t.Errorf("a command without a name: %s", payload)
		}
	})
}

func TestALargePayloadIsReadInTime(t *testing.T) {
	head := []byte(`{"type":"block_actions","user":{"id":"U1"},"actions":[`)
	for name, text := range map[string][]byte{
		"actions":  append(head, bulk.Of(`{"action_id":"approve","block_id":"b","value":"r-0011"},`)...),
		"brackets": bulk.Of("["),
		"a text":   append([]byte(`{"command":"`), bulk.Of("x")...),
	} {
		for _, kind := range forms[:3] {
			bulk.Read(t, name, func() {
				if _, err := read(kind, text, time.Now()); err == nil {
					t.Errorf("%s that are cut short are a %s", name, kind)
				}
			})
		}
	}
}

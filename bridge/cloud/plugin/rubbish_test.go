package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/plugin"
)

// script makes a plugin of a shell script.
func script(t *testing.T, text string) *plugin.Cloud {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := plugin.New(plugin.Config{Name: "shed", Command: []string{path}, Timeout: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// speaks answers describe, and everything else with the given text.
func speaks(text string) string {
	return `q=$(cat); case "$q" in
*'"call":"describe"'*) echo '{"spillway":1,"describe":{"name":"shed","version":"1","idempotency":"token"}}' ;;
*) cat <<'END'
` + text + `
END
esac`
}

// TestRubbishIsNoAnswer has plugins do wrong in every way: a create is then
// unknown, never refused and never made, and a list proves nothing.
func TestRubbishIsNoAnswer(t *testing.T) {
	for name, tt := range map[string]struct{ script, says string }{
		"prints nothing":            {speaks(""), "it wrote nothing"},
		"prints words":              {speaks("machine created, have fun"), "machine created"},
		"prints half an answer":     {speaks(`{"spillway":1,"handle":`), "unexpected EOF"},
		"prints two answers":        {speaks(`{"spillway":1,"handle":"h"}{"spillway":1}`), "more after the answer"},
		"speaks another version":    {speaks(`{"spillway":2,"handle":"h"}`), "spillway: 2, want 1"},
		"has a field of its own":    {speaks(`{"spillway":1,"handle":"h","cheap":true}`), `unknown field "cheap"`},
		"invents a kind of error":   {speaks(`{"spillway":1,"error":{"kind":"sold-out"}}`), `"sold-out" is none of`},
		"answers an empty create":   {speaks(`{"spillway":1}`), "handle: missing"},
		"prints a list":             {speaks(`[]`), "cannot unmarshal"},
		"hangs":                     {"cat >/dev/null; sleep 60", "no answer after 3s"},
		"hangs with a child":        {"sleep 60 & cat >/dev/null; wait", "no answer after 3s"},
		"dies":                      {"cat >/dev/null; echo 'no licence' >&2; exit 3", "exit status 3: no licence"},
		"is killed":                 {"kill -9 $$", "signal: killed"},
		"never stops talking":       {"yes", "more than an answer may have"},
		"does not read its request": {"exit 0", "it wrote nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			c := script(t, tt.script)
			_, err := c.Create(t.Context(), launchOf(c))
			var e *bridge.CloudError
			if !errors.As(err, &e) || e.Kind.Refused() || !strings.Contains(err.Error(), tt.says) || e.Cloud != "shed" {
				t.Errorf("create: %v, want a cloud's error that refuses nothing and says %q", err, tt.says)
			}
			if l, err := c.List(t.Context(), "s", "c"); err == nil && name != "answers an empty create" || l.Complete {
				t.Errorf("list: complete %t, %v", l.Complete, err)
			}
		})
	}
}

func launchOf(c *plugin.Cloud) bridge.Launch {
	return bridge.Launch{Token: "t", Count: 1, Pool: bridge.Pool{Cloud: c.Name(), Type: "gpu8", Market: bridge.OnDemand}, Tags: map[string]string{bridge.TagStore: "s"}}
}

// TestWrongOffersAndMachinesAreNotBelieved changes one field at a time of an
// answer that is right.
func TestWrongOffersAndMachinesAreNotBelieved(t *testing.T) {
	offer := `{"type":"gpu8","market":"spot","cpus":8,"memory_mib":64000,"gpus":8,"gpu_type":"a100","rate":{"amount":"12.80","currency":"USD"},"sampled_at":"2026-11-30T12:00:00Z","max_age":"5m","boot":"10m"}`
	machine := `{"id":"i-1","type":"gpu8","market":"spot","state":"running","rate":{"amount":12.8,"currency":"USD"},"launched":"2026-11-30T12:00:00Z"}`
	for name, tt := range map[string]struct{ from, to, says string }{
		"as it should be":         {"", "", ""},
		"a price of nothing":      {`"12.80"`, `"0"`, "no price of a machine-hour"},
		"a price below nothing":   {`"12.80"`, `"-1"`, "no price"},
		"a price that is no word": {`"12.80"`, `"cheap"`, "invalid number"},
		"a price beyond all":      {`"12.80"`, `"1e40"`, "no price"},
		"no currency":             {`"currency":"USD"},"sampled`, `"currency":""},"sampled`, "no price"},
		"no time of the price":    {`"sampled_at":"2026-11-30T12:00:00Z",`, "", "sampled_at: missing"},
		"no age of the price":     {`"max_age":"5m",`, "", "max_age: missing"},
		"a market of its own":     {`"spot","cpus"`, `"flash","cpus"`, "neither on-demand nor spot"},
		"no type":                 {`"type":"gpu8","market":"spot","cpus"`, `"type":"","market":"spot","cpus"`, "type: missing"},
		"GPUs of no type":         {`,"gpu_type":"a100"`, "", "gpu_type"},
		"fewer CPUs than one":     {`"cpus":8`, `"cpus":0`, "cpus"},
		"a boot before its time":  {`"boot":"10m"`, `"boot":"-1m"`, "boot: less than nothing"},
		"a machine without id":    {`"i-1"`, `""`, "id: missing"},
		"a state of its own":      {`"running"`, `"warming"`, "none of pending"},
		"a stop before the start": {`"launched":"2026-11-30T12:00:00Z"`, `"launched":"2026-11-30T12:00:00Z","stopped":"2026-11-30T11:00:00Z"`, "before it was launched"},
	} {
		t.Run(name, func(t *testing.T) {
			o, m := strings.Replace(offer, tt.from, tt.to, 1), strings.Replace(machine, tt.from, tt.to, 1)
			c := script(t, `q=$(cat); case "$q" in
*'"call":"offers"'*) echo '{"spillway":1,"offers":[`+o+`]}' ;;
*) echo '{"spillway":1,"complete":true,"machines":[`+m+`]}' ;;
esac`)
			offers, offersErr := c.Offers(t.Context())
			_, listErr := c.List(t.Context(), "s", "c")
			err := errors.Join(offersErr, listErr)
			if tt.says == "" {
				if err != nil || len(offers) != 1 || offers[0].Rate.Micro != 12_800_000 || offers[0].Available != -1 || !offers[0].Fresh(offers[0].SampledAt) {
					t.Errorf("%+v, %v", offers, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want what says %q", err, tt.says)
			}
		})
	}
}

// TestWhatItSaysOfErrorsIsKept: kind, code, message and pause are the plugin's.
func TestWhatItSaysOfErrorsIsKept(t *testing.T) {
	c := script(t, speaks(`{"spillway":1,"error":{"kind":"no-capacity","code":"E17","message":"no A100 left","retry_after":"90s"}}`))
	_, err := c.Create(t.Context(), launchOf(c))
	var e *bridge.CloudError
	if !errors.As(err, &e) || e.Kind != bridge.CloudNoCapacity || e.Code != "E17" || e.Message != "no A100 left" || e.RetryAfter != 90*time.Second {
		t.Errorf("%#v", err)
	}
}

// TestAPluginThatIsNotThereMadeNothing: what was never started has no effect.
func TestAPluginThatIsNotThereMadeNothing(t *testing.T) {
	for name, command := range map[string]string{"no file": "/no/such/plugin", "no program": "/etc/hostname"} {
		c, err := plugin.New(plugin.Config{Name: "shed", Command: []string{command}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Create(t.Context(), launchOf(c)); !bridge.KindOf(err).Refused() || !strings.Contains(err.Error(), command) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAListWithHolesAllowsNoCreate: where each create makes machines, one is only
// sent when a whole list shows that it was not made before.
func TestAListWithHolesAllowsNoCreate(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made")
	c := script(t, `q=$(cat); case "$q" in
*'"call":"describe"'*) echo '{"spillway":1,"describe":{"name":"shed","version":"1","idempotency":"none"}}' ;;
*'"call":"list"'*) echo '{"spillway":1,"complete":false}' ;;
*) echo made > `+made+`; echo '{"spillway":1,"handle":"h"}' ;;
esac`)
	_, err := c.Create(t.Context(), launchOf(c))
	if bridge.KindOf(err) != bridge.CloudThrottled {
		t.Errorf("create: %v, want one that is asked again", err)
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("the create was sent")
	}
}

// TestItGetsOnlyWhatItIsGiven: no secret of the daemon is in a plugin's
// environment, and settings arrive as they are.
func TestItGetsOnlyWhatItIsGiven(t *testing.T) {
	t.Setenv("SLACK_BOT_TOKEN", "xoxb-secret")
	t.Setenv("SHED_KEY", "open")
	out := filepath.Join(t.TempDir(), "seen")
	path := filepath.Join(t.TempDir(), "plugin")
	text := "#!/bin/sh\n{ cat; env; } > " + out + "\necho '{\"spillway\":1}'\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := plugin.New(plugin.Config{Name: "shed", Command: []string{path}, Env: []string{"SHED_KEY"}, Settings: json.RawMessage(`{"region":"bj-1"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Offers(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	seen, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"xoxb": false, "SHED_KEY=open": true, `"settings":{"region":"bj-1"}`: true, "PATH=": true} {
		if strings.Contains(string(seen), text) != want {
			t.Errorf("%q is there: %t; the plugin saw:\n%s", text, !want, seen)
		}
	}
}

package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge/config/strict"
	"spillway.sh/spillway/bridge/config/strict/stricttest"
)

// TestMistakes reads files with one mistake each. No file they name is looked
// at, so that the complaints are the same everywhere.
func TestMistakes(t *testing.T) {
	stricttest.Mistakes(t, "testdata/mistakes", 25, "spillway.yaml", func(data []byte) error {
		_, err := Parse("spillway.yaml", data)
		return err
	})
}

func TestExample(t *testing.T) {
	c, err := Parse("example.yaml", Example())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(DefaultLimits(), c.Limits); diff != "" {
		t.Errorf("the example's limits are not the defaults (-default +example):\n%s", diff)
	}
	if len(c.Clusters) != 1 || len(c.Clouds) != 3 || len(c.Clusters[0].Slurm.Workflows) != 2 {
		t.Fatalf("want one cluster with two workflow managers and three clouds, have %+v", c)
	}
	want := &Plugin{
		Command: []string{"/usr/lib/spillway/shed", "--account", "lab"}, Settings: map[string]string{"region": "bj-1"}, Env: []string{"SHED_KEY_FILE"}, Timeout: time.Minute,
	}
	if diff := cmp.Diff(want, c.Clouds[2].Plugin); diff != "" {
		t.Errorf("plugin (-want +got):\n%s", diff)
	}
	if s := c.Slack; s == nil || s.Channel != "C0123ABCD" || s.Users["T0123ABCD/U0456EFGH"] != "mei" || s.Groups["S0123ABCD"] != "gpu-approvers" || s.Local != "" {
		t.Errorf("the example's Slack is %+v", s)
	}
}

func TestSlackWithoutATokenIsLocal(t *testing.T) {
	for text, want := range map[string]string{"slack: {}": DefaultLocalSlack, "slack: {local: 127.0.0.1:7999}": "127.0.0.1:7999"} {
		c, err := Parse("least.yaml", []byte("version: 1\nstate_dir: state\nclusters: [{name: main, slurm: {}}]\n"+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if c.Slack == nil || c.Slack.Local != want {
			t.Errorf("%s: %+v, want it at %s", text, c.Slack, want)
		}
	}
}

func TestDefaults(t *testing.T) {
	c, err := Parse("least.yaml", []byte("version: 1\nstate_dir: state\nclusters: [{name: main, slurm: {}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	monday := time.Monday
	want := &Config{
		StateDir: "/state", Socket: "/run/spillway/spillway.sock", Cycle: time.Second,
		Clusters: []Cluster{{Name: "main", Slurm: &Slurm{Read: "text"}}},
		Reports:  Reports{Daily: &Clock{Hour: 9}, Weekly: &Clock{Hour: 9, Weekday: &monday}},
		Limits:   DefaultLimits(), Log: Log{Level: slog.LevelInfo, Format: "text"},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("least configuration (-want +got):\n%s", diff)
	}
}

// site writes a configuration with the files it names.
func site(t *testing.T, text string, files map[string]os.FileMode) string {
	t.Helper()
	dir := t.TempDir()
	for name, mode := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("hush\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "spillway.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const small = `version: 1
state_dir: state
policy: policy.yaml
clusters:
  - name: main
    slurm: {bin_dir: bin, munge_key_file: munge.key}
clouds:
  - name: north
    local: {url: "http://127.0.0.1:7070", token_file: north.token}
enrol: {listen: "127.0.0.1:7443"}
`

func TestLoadFiles(t *testing.T) {
	all := map[string]os.FileMode{"policy.yaml": 0o644, "bin/squeue": 0o755, "munge.key": 0o400, "north.token": 0o600}
	without := func(name string, more ...string) map[string]os.FileMode {
		out := map[string]os.FileMode{}
		for k, v := range all {
			if k != name {
				out[k] = v
			}
		}
		for _, m := range more {
			out[m] = 0o644
		}
		return out
	}
	cases := map[string]struct {
		files map[string]os.FileMode
		want  []string // one part of each fault, in order; none: it loads
	}{
		"all there":                 {all, nil},
		"no policy":                 {without("policy.yaml"), []string{":3:9: policy: \"policy.yaml\": there is no "}},
		"no folder of commands":     {without("bin/squeue"), []string{":6:22: clusters[0].slurm.bin_dir: \"bin\": there is no "}},
		"a file for a folder":       {without("bin/squeue", "bin"), []string{"bin is not a folder"}},
		"a folder for a file":       {without("munge.key", "munge.key/x"), []string{"munge.key is not a file"}},
		"token for all to read":     {without("north.token", "north.token"), []string{":9:55: clouds[0].local.token_file: \"north.token\": "}},
		"several missing, all told": {nil, []string{"policy.yaml", "bin", "munge.key", "north.token"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Load(site(t, small, c.files))
			if len(c.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				if token, err := got.Clouds[0].Local.Token.Reveal(); token != "hush" || err != nil {
					t.Errorf("token %q, %v", token, err)
				}
				return
			}
			var faults strict.Faults
			if !errors.As(err, &faults) || len(faults) != len(c.want) {
				t.Fatalf("want %d faults, have %v", len(c.want), err)
			}
			for i, part := range c.want {
				if !strings.Contains(faults[i].Error(), part) {
					t.Errorf("fault %q lacks %q", faults[i], part)
				}
			}
		})
	}
}

func TestLoadMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.yaml")
	if _, err := Load(path); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("want the path and that it does not exist, have %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("CREDENTIALS_DIRECTORY", "/run/credentials")
	t.Setenv("NORTH_TOKEN", " hush ")
	text := strings.Replace(small, "token_file: north.token", "token_env: NORTH_TOKEN", 1)
	text = strings.Replace(text, "munge.key", `"${CREDENTIALS_DIRECTORY}/munge"`, 1)
	c, err := Parse("spillway.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Clusters[0].Slurm.MungeKeyFile; got != "/run/credentials/munge" {
		t.Errorf("munge_key_file is %s", got)
	}
	if got, err := c.Clouds[0].Local.Token.Reveal(); got != "hush" || err != nil {
		t.Errorf("token %q, %v", got, err)
	}
	t.Setenv("NORTH_TOKEN", "")
	_, err = Load(site(t, text, map[string]os.FileMode{"policy.yaml": 0o644, "bin/squeue": 0o755}))
	if err == nil || !strings.Contains(err.Error(), `"NORTH_TOKEN": the environment has no such variable`) {
		t.Errorf("an empty variable was taken for a secret: %v", err)
	}
}

// TestSecretNeverShown prints a secret in every way a program prints things.
func TestSecretNeverShown(t *testing.T) {
	type holder struct {
		Name  string
		Token Secret
		inner Secret
	}
	for name, s := range map[string]Secret{"by value": SecretValue("hush"), "in a file": SecretFile(os.DevNull), "none": {}} {
		t.Run(name, func(t *testing.T) {
			h := holder{"north", s, s}
			var out bytes.Buffer
			slog.New(slog.NewJSONHandler(&out, nil)).Info("cloud", "token", s, "holder", h)
			slog.New(slog.NewTextHandler(&out, nil)).Info("cloud", "token", s, "holder", h)
			fmt.Fprintf(&out, "%v %+v %#v %s %q %x %d %v\n", s, s, s, s, s, s, s, h)
			fmt.Fprintf(&out, "%+v %#v %v\n", h, h, &h)
			data, err := json.Marshal(h)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(data)
			if strings.Contains(out.String(), "hush") || strings.Contains(out.String(), fmt.Sprintf("%x", "hush")) {
				t.Errorf("the secret is shown:\n%s", out.String())
			}
			if !strings.Contains(out.String(), `"Token":"\u003credacted\u003e"`) {
				t.Errorf("JSON does not say that it is redacted: %s", data)
			}
		})
	}
	if _, err := (Secret{}).Reveal(); !errors.Is(err, ErrNoSecret) {
		t.Errorf("no secret reveals %v", err)
	}
	if _, err := SecretFile(os.DevNull).Reveal(); !errors.Is(err, ErrEmptySecret) {
		t.Errorf("an empty file reveals %v", err)
	}
}

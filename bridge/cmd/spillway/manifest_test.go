package main

import (
	"os"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bot"
)

// The manifest that people paste asks for what the bot needs and no more, and
// keeps Slack's limits.
func TestManifestAsksForWhatTheBotNeeds(t *testing.T) {
	text, err := os.ReadFile("../../../deploy/slack/manifest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Metadata struct {
			Version int `yaml:"major_version"`
		} `yaml:"_metadata"`
		Display struct {
			Name        string `yaml:"name"`
			Description string `yaml:"description"`
			Color       string `yaml:"background_color"`
		} `yaml:"display_information"`
		Features struct {
			Home struct {
				Tab      bool `yaml:"home_tab_enabled"`
				Messages bool `yaml:"messages_tab_enabled"`
				ReadOnly bool `yaml:"messages_tab_read_only_enabled"`
			} `yaml:"app_home"`
			Bot struct {
				Name   string `yaml:"display_name"`
				Online bool   `yaml:"always_online"`
			} `yaml:"bot_user"`
			Commands []struct {
				Command     string `yaml:"command"`
				Description string `yaml:"description"`
				Hint        string `yaml:"usage_hint"`
				Escape      bool   `yaml:"should_escape"`
			} `yaml:"slash_commands"`
		} `yaml:"features"`
		OAuth struct {
			Scopes struct {
				Bot []string `yaml:"bot"`
			} `yaml:"scopes"`
		} `yaml:"oauth_config"`
		Settings struct {
			Events struct {
				Bot []string `yaml:"bot_events"`
			} `yaml:"event_subscriptions"`
			Interactivity struct {
				Enabled bool `yaml:"is_enabled"`
			} `yaml:"interactivity"`
			Org      bool `yaml:"org_deploy_enabled"`
			Socket   bool `yaml:"socket_mode_enabled"`
			Rotation bool `yaml:"token_rotation_enabled"`
		} `yaml:"settings"`
	}
	if err := yaml.UnmarshalWithOptions(text, &m, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(bot.Scopes, m.OAuth.Scopes.Bot); diff != "" {
		t.Errorf("scopes (-bot +manifest):\n%s", diff)
	}
	var commands []string
	for _, c := range m.Features.Commands {
		commands = append(commands, c.Command)
		if !c.Escape || utf8.RuneCountInString(c.Description) > 2000 || utf8.RuneCountInString(c.Hint) > 1000 || len(c.Command) > 32 {
			t.Errorf("%s: %+v", c.Command, c)
		}
	}
	if diff := cmp.Diff([]string{"/rent", "/release"}, commands); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	for _, e := range []string{"app_home_opened", "user_change", "subteam_members_changed", "subteam_updated", "tokens_revoked", "app_uninstalled"} {
		if !slices.Contains(m.Settings.Events.Bot, e) {
			t.Errorf("the event %s is missing: the bot would go on believing what has changed", e)
		}
	}
	if !m.Settings.Socket || !m.Settings.Interactivity.Enabled || !m.Features.Home.Tab || m.Settings.Rotation || len(m.Display.Name) > 35 || len(m.Display.Description) > 140 {
		t.Errorf("%+v %+v", m.Settings, m.Display)
	}
}

package slackd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// Every message, form and home tab that the bot is known to draw passes the
// judge, whose limits were written without it.
func TestTheBotsCardsAreTaken(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "card", "testdata", "*.json"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d golden files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var card struct {
				Type   string  `json:"type"`
				Text   string  `json:"text"`
				Blocks rawJSON `json:"blocks"`
			}
			if err := json.Unmarshal(text, &card); err != nil {
				t.Fatal(err)
			}
			if card.Type == "modal" || card.Type == "home" {
				if _, flaws := judgeView(text); len(flaws) > 0 {
					t.Error(flaws)
				}
				return
			}
			flaws, long := judgeMessage(card.Blocks)
			if len(flaws) > 0 || long || card.Text == "" || runes(card.Text) > maxUpdateText {
				t.Errorf("flaws %v, too long %v, text of %d", flaws, long, runes(card.Text))
			}
		})
	}
}

// The app of the default workspace is the one that is shipped: what works here
// with its scopes works there.
func TestTheDefaultAppIsTheShippedOne(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "slack", "manifest.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Features struct {
			Commands []Command `yaml:"slash_commands"`
		}
		OAuth struct {
			Scopes struct{ Bot []string }
		} `yaml:"oauth_config"`
		Settings struct {
			Events struct {
				Bot []string `yaml:"bot_events"`
			} `yaml:"event_subscriptions"`
		}
	}
	if err := yaml.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	a := DefaultWorkspace().App
	if diff := cmp.Diff(m.Features.Commands, a.Commands); diff != "" {
		t.Errorf("commands: %s", diff)
	}
	if diff := cmp.Diff(m.OAuth.Scopes.Bot, a.Scopes); diff != "" {
		t.Errorf("scopes: %s", diff)
	}
	if diff := cmp.Diff(m.Settings.Events.Bot, a.Events); diff != "" {
		t.Errorf("events: %s", diff)
	}
}

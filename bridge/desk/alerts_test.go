package desk

import (
	"strings"
	"testing"

	"spillway.sh/spillway/bridge"
)

// Who spends from a project hears of its budget, and who approves above one
// hears of that one; strangers hear nothing of either.
func TestWhoHearsOfABudget(t *testing.T) {
	d, w := newWorld(t)
	for _, account := range []bridge.Account{"site", "site/ai/nlp"} {
		w.tell([]bridge.News{{Kind: bridge.NewsAlert, Text: string(account), Alert: &bridge.Alert{Scope: bridge.Scope{Account: account}}}})
	}
	for who, want := range map[string]string{"ana": "site/ai/nlp", "mei": "site/ai/nlp", "tom": "site site/ai/nlp", "root": "site site/ai/nlp", "eve": ""} {
		a, err := d.News(t.Context(), d.as(who), NewsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range a.News {
			got = append(got, n.Text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s hears of %q, want %q", who, got, want)
		}
	}
}

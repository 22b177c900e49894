package card_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"spillway.sh/spillway/bot/card"
)

func TestSealOpens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[rq]-[a-z0-9./-]{1,20}`).Draw(t, "id")
		want := card.Value{ID: id, Revision: rapid.Int64().Draw(t, "revision"), Verb: rapid.SampledFrom([]card.Verb{card.Approve, card.Deny, card.Release, card.Rent}).Draw(t, "verb")}
		sealed := card.Seal(key, want.ID, want.Revision, want.Verb)
		if got, err := card.Open(key, sealed); err != nil || got != want {
			t.Fatalf("%q opens as %+v, %v; want %+v", sealed, got, err, want)
		}
		at := rapid.IntRange(0, len(sealed)-1).Draw(t, "at")
		forged := sealed[:at] + string(sealed[at]^1) + sealed[at+1:]
		if got, err := card.Open(key, forged); !errors.Is(err, card.ErrSeal) {
			t.Fatalf("%q, forged, opens as %+v", forged, got)
		}
	})
}

func TestForgedValues(t *testing.T) {
	sealed := card.Seal(key, "r-0013", 1, card.Deny)
	for name, value := range map[string]string{
		"nothing":                       "",
		"no seal":                       "v1.r-0013.1.approve",
		"an empty seal":                 "v1.r-0013.1.approve.",
		"another verb":                  strings.Replace(sealed, "deny", "approve", 1),
		"another revision":              strings.Replace(sealed, ".1.", ".2.", 1),
		"another rental":                strings.Replace(sealed, "r-0013", "r-0024", 1),
		"another key":                   card.Seal([]byte("another"), "r-0013", 1, card.Deny),
		"cut":                           sealed[:len(sealed)-1],
		"longer":                        sealed + "A",
		"a field more":                  "v1.r-0013.1.deny." + sealed,
		"the seal of another, appended": sealed + "." + sealed[strings.LastIndex(sealed, ".")+1:],
	} {
		if got, err := card.Open(key, value); !errors.Is(err, card.ErrSeal) {
			t.Errorf("%s opens as %+v", name, got)
		}
	}
	if _, err := card.OpenAs(key, sealed, card.Approve); !errors.Is(err, card.ErrSeal) {
		t.Error("the value of Deny passes for Approve")
	}
	for _, none := range [][]byte{nil, {}} {
		if s := card.Seal(none, "r-0013", 1, card.Deny); s != "" {
			t.Errorf("sealed without a key: %q", s)
		}
		if _, err := card.Open(none, sealed); !errors.Is(err, card.ErrSeal) {
			t.Error("opened without a key")
		}
	}
	if strings.ContainsAny(sealed, "$") || strings.Contains(sealed, "USD") {
		t.Errorf("an amount in %q", sealed)
	}
}

package say

import (
	"reflect"
	"regexp"
	"slices"
	"testing"
)

var slot = regexp.MustCompile(`\{\w+\}`)

// Both languages say everything, with the same facts.
func TestBothLanguagesSayTheSame(t *testing.T) {
	en, zh := reflect.ValueOf(english), reflect.ValueOf(chinese)
	for i := range en.NumField() {
		name := en.Type().Field(i).Name
		if en.Field(i).Kind() == reflect.Map {
			for _, k := range en.Field(i).MapKeys() {
				if v := zh.Field(i).MapIndex(k); !v.IsValid() || v.String() == "" {
					t.Errorf("%s has no Chinese for %s", name, k)
				}
			}
			continue
		}
		a, b := en.Field(i).String(), zh.Field(i).String()
		if a == "" || b == "" && name != "Gap" {
			t.Errorf("%s is not said in both languages: %q, %q", name, a, b)
		}
		x, y := slot.FindAllString(a, -1), slot.FindAllString(b, -1)
		slices.Sort(x)
		slices.Sort(y)
		if !slices.Equal(x, y) {
			t.Errorf("%s has the facts %v in English and %v in Chinese", name, x, y)
		}
	}
}

func TestLinesOfTheCommandLineBecomeOnesThatCanBeTypedHere(t *testing.T) {
	for try, want := range map[string]string{
		"spillway rent 8xh100 for 2h":      "/rent 8xh100 for 2h",
		"spillway quote 8xh100 for 2h":     "/rent quote 8xh100 for 2h",
		"spillway rentals":                 "/rent ls",
		"spillway rentals --all":           "/rent ls",
		"spillway rentals r-0013":          "/rent status r-0013",
		"spillway release r-0013 --now":    "/release r-0013 now",
		"spillway spend site/ai/nlp":       "/rent spend nlp",
		"spillway whoami":                  "/rent whoami",
		"spillway extend r-0013 2h":        "/rent extend r-0013 2h",
		"/release r-0013":                  "/release r-0013",
		"systemctl start spillway":         "",
		"spillway doctor":                  "",
		"another --key":                    "",
		"":                                 "",
		"spillway release --by-tag r-0013": "/release by-tag r-0013",
	} {
		if got := slashed(try); got != want {
			t.Errorf("%q became %q, want %q", try, got, want)
		}
	}
}

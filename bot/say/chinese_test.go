package say

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// What a Chinese text may hold of English: commands to type and wishes as they
// were typed, names, and what people wrote.
var (
	notOurs   = regexp.MustCompile(`/(rent|release)[ -~]*|(job \d+ for )?\d+(xh100|h project)[ -~]*|<[^>]*>|stratus (us|eu)-(east|west)-1a|Use the queue, it starts at 03:10\.`)
	anEnglish = regexp.MustCompile(`[A-Za-z]{2,}[a-z']* [a-z]{2,}`)
)

// Nothing that is said in Chinese holds an English sentence.
func TestChineseHoldsNoEnglish(t *testing.T) {
	said, err := os.ReadFile("testdata/zh.golden")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(said), "\n") {
		if strings.HasPrefix(line, "== ") || strings.HasPrefix(line, "[") {
			continue // a name of the scene, or of a surface
		}
		if s := anEnglish.FindString(notOurs.ReplaceAllString(line, "")); s != "" {
			t.Errorf("line %d says %q in %q", i+1, s, line)
		}
	}
}

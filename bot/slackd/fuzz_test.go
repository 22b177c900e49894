package slackd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The judge reads what anybody sends: it may refuse everything, but it may not
// fall over, and blocks it takes survive being given ids.
func FuzzJudge(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("..", "card", "testdata", "*.json"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var card struct {
			Blocks rawJSON `json:"blocks"`
		}
		if json.Unmarshal(text, &card) == nil {
			f.Add([]byte(card.Blocks))
		}
		f.Add(text)
	}
	for name := range limitRows {
		raw, err := json.Marshal(limitRows[name].build(limitRows[name].limit))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := &Server{clock: newClock(nil, 1)}
		if v, flaws := judgeView(text); len(flaws) == 0 {
			v.Blocks = s.nameBlocks(v.Blocks)
			v.filled(viewState{})
			v.missing()
		}
		if flaws, _ := judgeMessage(text); len(flaws) > 0 {
			return
		}
		named := s.nameBlocks(text)
		if named == nil {
			return
		}
		if flaws, _ := judgeMessage(named); len(flaws) > 0 {
			t.Errorf("with ids: %v", flaws)
		}
	})
}

package honest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// typed begins the TypeScript file. The package knows no data_visualization
// yet, so that one block is let through as it is.
const typed = `import type { KnownBlock, View } from "@slack/types";
type Chart = { type: "data_visualization"; block_id?: string; title: string; chart: { type: string } & Record<string, unknown> };
type Drawn = KnownBlock | Chart;
`

// typescript is the golden messages as constants of Slack's own types.
func typescript(t *testing.T, golden map[string][]byte) string {
	t.Helper()
	var out strings.Builder
	out.WriteString(typed)
	n := 0
	for name, text := range golden {
		var drawn map[string]json.RawMessage
		if err := json.Unmarshal(text, &drawn); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		n++
		if drawn["type"] != nil {
			fmt.Fprintf(&out, "// %s\nexport const g%d: View = %s;\n", name, n, text)
			continue
		}
		fmt.Fprintf(&out, "// %s\nexport const g%d: Drawn[] = %s;\n", name, n, drawn["blocks"])
	}
	return out.String()
}

func goldenMessages(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(golden + "/*.json")
	if err != nil || len(files) < 40 {
		t.Fatalf("find golden messages: %d, %v", len(files), err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		if out[filepath.Base(f)], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// check is what the TypeScript compiler says of the golden messages.
func check(t *testing.T, golden map[string][]byte) (string, error) {
	t.Helper()
	dir := workshop(t)
	if err := os.WriteFile(filepath.Join(dir, "golden.ts"), []byte(typescript(t, golden)), 0o600); err != nil {
		t.Fatal(err)
	}
	return try(t, dir, nil, 2*time.Minute, node(t), "node_modules/typescript/bin/tsc",
		"--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--moduleResolution", "nodenext", "golden.ts")
}

func TestGoldenMessagesHaveSlacksTypes(t *testing.T) {
	if out, err := check(t, goldenMessages(t)); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// What Slack would refuse has to be refused here.
func TestTypesRefuseWrongMessages(t *testing.T) {
	card := `{"text": "x", "blocks": [{"type": "actions", "elements": [{"type": "button", "action_id": "a", "text": {"type": "plain_text", "text": "Go"}, "style": "primary"}]}]}`
	cases := map[string]struct{ from, to, says string }{
		"a style there is not":        {`"primary"`, `"loud"`, `"loud"`},
		"a field there is not":        {`"action_id"`, `"actionId"`, "actionId"},
		"a text that is markdown":     {`"plain_text"`, `"markdown"`, `"markdown"`},
		"a block there is not":        {`"actions"`, `"buttons"`, `"buttons"`},
		"an element in a wrong place": {`"button"`, `"divider"`, `"divider"`},
	}
	wrong := map[string][]byte{}
	for name, c := range cases {
		wrong[name] = bytes.Replace([]byte(card), []byte(c.from), []byte(c.to), 1)
	}
	out, err := check(t, wrong)
	if err == nil {
		t.Fatal("the compiler finds nothing wrong")
	}
	for name, c := range cases {
		if !strings.Contains(out, c.says) {
			t.Errorf("%s: the compiler does not name %s:\n%s", name, c.says, out)
		}
	}
}

package chart

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/go-analyze/charts"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// saidInChinese are the characters of every text that people read in Chinese.
func saidInChinese(t *testing.T) map[rune]string {
	t.Helper()
	out := map[rune]string{}
	files := 0
	for _, top := range []string{"../../../bot", "../../desk", "../../report"} {
		err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			if strings.HasSuffix(path, "_zh.go") {
				files++
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && (lit.Kind == token.STRING || lit.Kind == token.CHAR) {
					text, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatalf("%s: %v", path, err)
					}
					if strings.HasSuffix(path, "_zh.go") || strings.ContainsFunc(text, func(c rune) bool { return unicode.Is(unicode.Han, c) }) {
						for _, c := range text {
							if !unicode.IsSpace(c) && unicode.IsPrint(c) {
								out[c] = path
							}
						}
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 6 || len(out) < 400 {
		t.Fatalf("only %d characters in %d files of Chinese texts", len(out), files)
	}
	return out
}

// glyph is the picture of one character.
func glyph(t *testing.T, c rune) string {
	t.Helper()
	k := newCanvas(charts.ChartOutputPNG, Size{Width: 28, Height: 32, Text: 20}, Light)
	k.text(string(c), 2, 24, 20, ink, left)
	png, err := k.p.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return string(png)
}

// Tofu is a box in place of a character: every character has a picture of its
// own, which is neither that box nor nothing.
func TestEveryCharacterOfOurTextsHasAPictureOfItsOwn(t *testing.T) {
	tofu, empty := glyph(t, '\U000F0000'), glyph(t, ' ')
	if has('\U000F0000') || tofu == empty {
		t.Fatal("the box itself cannot be told from nothing")
	}
	drawn := map[string]rune{}
	for c, file := range saidInChinese(t) {
		if !has(c) {
			t.Errorf("%c (%U) of %s is not in the font: run font/build.py with that file", c, c, file)
			continue
		}
		switch g := glyph(t, c); {
		case g == tofu:
			t.Errorf("%c of %s is drawn as a box", c, file)
		case g == empty:
			t.Errorf("%c (%U) of %s is drawn as nothing", c, c, file)
		case drawn[g] != 0:
			t.Errorf("%c and %c have the same picture", c, drawn[g])
		default:
			drawn[g] = c
		}
	}
}

// What font/build.py says is in the font is in it.
func TestTheFontHasWhatItsScriptSays(t *testing.T) {
	decode := simplifiedchinese.HZGB2312.NewDecoder()
	han := 0
	for row := byte(0x30); row < 0x78; row++ {
		for cell := byte(0x21); cell < 0x7F; cell++ {
			text, err := decode.String("~{" + string([]byte{row, cell}) + "~}")
			c, _ := firstRune(text)
			if err != nil || !unicode.Is(unicode.Han, c) {
				continue
			}
			han++
			if !has(c) {
				t.Errorf("%c of GB 2312 is missing", c)
			}
		}
	}
	if han != 6763 {
		t.Errorf("%d Han in GB 2312", han)
	}
	for c := rune(' '); c < 0x250; c++ {
		if unicode.IsPrint(c) && !has(c) && c < 0x180 {
			t.Errorf("%c (%U) is missing", c, c)
		}
	}
	if lost := lacking("–—…“”‘’×·≤≥±≈€¥αμ−，。：；！？（）、《》【】％", has); lost != "" {
		t.Errorf("%s are missing", lost)
	}
	if n := len(fontFile); n > 3<<20 {
		t.Errorf("the font has %d bytes", n)
	}
}

func firstRune(s string) (rune, bool) {
	for _, c := range s {
		return c, true
	}
	return 0, false
}

func TestTextsThatCannotBeDrawnAreInEnglish(t *testing.T) {
	log := logged(t)
	if got := drawn(&chinese, has); got != &chinese || log.Len() > 0 {
		t.Errorf("the font has all of it, and the texts are not Chinese: %s", log)
	}
	without := func(c rune) bool { return c != '弹' && has(c) }
	if got := drawn(&chinese, without); got != &english {
		t.Error("a character is missing, and the texts are not in English")
	}
	if !strings.Contains(log.String(), "弹") {
		t.Errorf("nothing is said of it: %s", log)
	}
}

func TestNamesThatCannotBeDrawnHaveQuestionMarks(t *testing.T) {
	log := logged(t)
	r := sample(t)
	r.Top.Projects[0].Name = "llm-🚀"
	if _, alt, err := PNG(Top, r, "en", Light); err != nil || !strings.Contains(alt, "llm-🚀") {
		t.Errorf("the description has another name: %q, %v", alt, err)
	}
	if !strings.Contains(log.String(), "🚀") {
		t.Errorf("nothing is said of it: %q", log)
	}
	c := newCanvas(charts.ChartOutputPNG, Chat, Light)
	if got := c.drawable("llm-🚀"); got != "llm-?" {
		t.Errorf("drawn as %q", got)
	}
	svg, err := SVG(Top, r, "en", Wide, "x")
	if err != nil || !strings.Contains(svg, ">llm-🚀<") {
		t.Errorf("a page's fonts draw it: %v", err)
	}
}

// logged is what is logged from here on.
func logged(t *testing.T) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return &out
}

func TestCutKeepsWidthAndWords(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"acme/nlp", 400, "acme/nlp"},
		{"acme/a-project-with-a-long-name", 200, "acme/a-project…"},
		{"acme/机器人与具身智能", 160, "acme/机器…"},
		{"acme", 5, "…"},
	} {
		k := newCanvas(charts.ChartOutputPNG, Chat, Light)
		got := k.cut(c.text, 24, c.width)
		if got != c.want {
			t.Errorf("%q in %d is %q, want %q", c.text, c.width, got, c.want)
		}
		if got != "…" && widthOf(got, 24) > c.width {
			t.Errorf("%q is %d wide, more than %d", got, widthOf(got, 24), c.width)
		}
	}
}

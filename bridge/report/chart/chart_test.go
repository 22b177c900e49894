package chart

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-analyze/charts"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/report"
	"spillway.sh/spillway/bridge/report/reporttest"
)

var update = flag.Bool("update", false, "write the kept pictures anew")

var all = []Kind{Spend, Month, Demand, Top}

func TestTheSampleHasEveryChart(t *testing.T) {
	if got := Kinds(sample(t)); !slices.Equal(got, all) {
		t.Errorf("%v, want %v", got, all)
	}
}

func decoded(t testing.TB, text []byte) *image.RGBA {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	out := image.NewRGBA(img.Bounds())
	draw.Draw(out, out.Rect, img, image.Point{}, draw.Src)
	return out
}

// half is a picture as it is shown: each pixel is the mean of four.
func half(img *image.RGBA) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, img.Rect.Dx()/2, img.Rect.Dy()/2))
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			from, to := img.PixOffset(2*x, 2*y), out.PixOffset(x, y)
			for i := range 4 {
				sum := 0
				for _, k := range []int{0, 4, img.Stride, img.Stride + 4} {
					sum += int(img.Pix[from+k+i])
				}
				out.Pix[to+i] = uint8(sum / 4)
			}
		}
	}
	return out
}

// different is how many pixels of ten thousand differ so that it is seen.
func different(a, b *image.RGBA) int {
	if a.Rect != b.Rect {
		return 10_000
	}
	off := 0
	for p := 0; p < len(a.Pix); p += 4 {
		for i := range 3 {
			if d := int(a.Pix[p+i]) - int(b.Pix[p+i]); d > 24 || d < -24 {
				off++
				break
			}
		}
	}
	return off * 10_000 / (len(a.Pix) / 4)
}

// tolerance of pictures, in ten thousandths of their pixels: other processors
// round otherwise, and a figure that is another is more.
const tolerance = 5

var photographed = []struct {
	lang  report.Lang
	theme Theme
}{{report.English, Light}, {report.Chinese, Dark}}

func TestChartsAreTheKeptPictures(t *testing.T) {
	r := sample(t)
	for _, k := range all {
		for _, as := range photographed {
			text, _, err := PNG(k, r, as.lang, as.theme)
			if err != nil {
				t.Fatal(err)
			}
			got := half(decoded(t, text))
			file := filepath.Join("testdata", "pictures", fmt.Sprintf("%s.%s.%s.png", k, as.lang, as.theme))
			if *update {
				var b bytes.Buffer
				if err := png.Encode(&b, got); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
				continue
			}
			kept, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if n := different(got, decoded(t, kept)); n > tolerance {
				t.Errorf("%s: %d of 10,000 pixels are others: look, then run with -update", file, n)
			}
		}
	}
}

// A comparison that never fails keeps nothing: one figure of each chart changes.
func TestKeptPicturesNoticeAnotherFigure(t *testing.T) {
	for k, change := range map[Kind]func(r *report.Report){
		Spend:  func(r *report.Report) { r.Spend.Days[2].Spot.Micro += 60 * bridge.Micro },
		Month:  func(r *report.Report) { r.Spend.Forecast.High.Micro += 400 * bridge.Micro },
		Demand: func(r *report.Report) { r.Mix.Classes[0].Sets[0].Best++ },
		Top:    func(r *report.Report) { r.Top.Projects[1].Cost.Micro += 30 * bridge.Micro },
	} {
		r := sample(t)
		before, _, err := PNG(k, r, report.English, Light)
		if err != nil {
			t.Fatal(err)
		}
		change(r)
		after, _, err := PNG(k, r, report.English, Light)
		if err != nil {
			t.Fatal(err)
		}
		if n := different(half(decoded(t, before)), half(decoded(t, after))); n <= tolerance {
			t.Errorf("%s: another figure, and only %d of 10,000 pixels are others", k, n)
		}
	}
}

func TestAPictureIsSmallAndHasItsNumbersInWords(t *testing.T) {
	r := sample(t)
	numbers := map[Kind][]string{
		Spend:  {"2026-11-16", "2302.86", "212.40", "180.22", "377.66", "4106.94"},
		Month:  {"8010.62", "11360.62", "10410.62", "12610.62", "14000.00"},
		Demand: {"h100", "8", "4", "l40s", "32"},
		Top:    {"acme/nlp", "1902.11", "46.3", "251.51"},
	}
	for _, k := range all {
		for _, as := range photographed {
			text, alt, err := PNG(k, r, as.lang, as.theme)
			if err != nil {
				t.Fatal(err)
			}
			if b := decoded(t, text).Bounds(); b.Dx() != 1400 || b.Dy() != 720 {
				t.Errorf("%s: %v", k, b)
			}
			if len(text) > 200_000 {
				t.Errorf("%s, %s, %s: %d bytes", k, as.lang, as.theme, len(text))
			}
			for _, n := range numbers[k] {
				if !strings.Contains(alt, n) {
					t.Errorf("%s, %s: the description has no %s: %s", k, as.lang, n, alt)
				}
			}
			if k != Demand && !strings.Contains(alt, "USD") {
				t.Errorf("%s, %s: no unit in %s", k, as.lang, alt)
			}
		}
	}
}

// Several at once draw what one does.
func TestAPictureIsTheSameEveryTime(t *testing.T) {
	r := sample(t)
	want := map[Kind][]byte{}
	two := []Kind{Spend, Demand}
	for _, k := range two {
		text, _, err := PNG(k, r, report.Chinese, Dark)
		if err != nil {
			t.Fatal(err)
		}
		want[k] = text
	}
	var wg sync.WaitGroup
	for range 2 {
		for _, k := range two {
			wg.Go(func() {
				text, _, err := PNG(k, r, report.Chinese, Dark)
				if err != nil || !bytes.Equal(text, want[k]) {
					t.Errorf("%s is another picture the second time, %v", k, err)
				}
			})
		}
	}
	wg.Wait()
}

func TestWhatCannotBeDrawnIsAnError(t *testing.T) {
	empty := &report.Report{}
	for _, k := range append(slices.Clone(all), "pie") {
		if _, _, err := PNG(k, empty, report.English, Light); err == nil {
			t.Errorf("%s of nothing is drawn", k)
		}
		if _, err := SVG(k, empty, report.English, Wide, "x"); err == nil {
			t.Errorf("%s of nothing is drawn", k)
		}
	}
	if _, _, err := PNG(Spend, sample(t), report.English, "sepia"); err == nil {
		t.Error("there is no theme sepia")
	}
}

// written is a text of a picture and where it is.
type written struct {
	text string
	box
}

var textOf = regexp.MustCompile(`<text (?:text-anchor="(middle|end)" )?x="(-?\d+)" y="(-?\d+)" style="[^"]*font-size:([\d.]+)px[^"]*"[^>]*>([^<]*)</text>`)

// textsIn are those of an SVG, as high as capitals, in a font that much wider
// than ours.
func textsIn(t *testing.T, svg string, wider float64) []written {
	t.Helper()
	var out []written
	for _, m := range textOf.FindAllStringSubmatch(svg, -1) {
		x, errX := strconv.Atoi(m[2])
		y, errY := strconv.Atoi(m[3])
		size, errS := strconv.ParseFloat(m[4], 64)
		if errX != nil || errY != nil || errS != nil {
			t.Fatalf("read %q", m[0])
		}
		wide := widthOf(m[5], size*wider)
		switch m[1] {
		case "middle":
			x -= wide / 2
		case "end":
			x -= wide
		}
		out = append(out, written{m[5], box{x, y - int(size*0.72), x + wide, y}})
	}
	if len(out) < 4 || len(out) != strings.Count(svg, "<text") {
		t.Fatalf("only %d texts of %d are understood", len(out), strings.Count(svg, "<text"))
	}
	return out
}

// Reports that strain the layout.
var strained = map[string]func(r *report.Report){
	"as it is": func(*report.Report) {},
	"millions": func(r *report.Report) {
		for i := range r.Spend.Days {
			r.Spend.Days[i].OnDemand.Micro *= 4000
		}
		r.Top.Projects[0].Cost.Micro *= 4000
		r.Spend.Budgets[0].Limit.Micro *= 1000
	},
	"cents": func(r *report.Report) {
		for i := range r.Spend.Days {
			d := &r.Spend.Days[i]
			d.OnDemand.Micro, d.Spot.Micro, d.Kept.Micro = 10_000, 20_000, 0
		}
	},
	"credits": func(r *report.Report) {
		r.Spend.Days[0].OnDemand.Micro = -900 * bridge.Micro
		r.Spend.Month[3].SoFar.Micro = -5 * bridge.Micro
		r.Top.Projects[4].Cost.Micro = -12 * bridge.Micro
	},
	"nothing spent": func(r *report.Report) {
		for i := range r.Spend.Days {
			d := &r.Spend.Days[i]
			d.OnDemand.Micro, d.Spot.Micro, d.Kept.Micro = 0, 0, 0
		}
		r.Spend.Forecast = nil
		r.Spend.Budgets = nil
		r.Spend.ElasticPM = nil
	},
	"one day, one class": func(r *report.Report) {
		r.Spend.Days = r.Spend.Days[:1]
		r.Spend.Month = r.Spend.Month[:1]
		r.Mix.Classes = r.Mix.Classes[:1]
		r.Top.Projects = r.Top.Projects[:1]
	},
	"two classes": func(r *report.Report) { r.Mix.Classes = r.Mix.Classes[:2] },
	"many classes": func(r *report.Report) {
		for i := range 6 {
			m := r.Mix.Classes[0]
			m.GPU = fmt.Sprintf("h200-141gb-nvlink-%d", i)
			r.Mix.Classes = append(r.Mix.Classes, m)
		}
	},
	"a whole month": func(r *report.Report) {
		for d := 23; d <= 30; d++ {
			r.Spend.Month = append(r.Spend.Month, report.MonthDay{Date: fmt.Sprintf("2026-11-%d", d), SoFar: r.Spend.Month[21].SoFar})
		}
	},
	"long names": func(r *report.Report) {
		for i := range r.Top.Projects {
			r.Top.Projects[i].Name = strings.Repeat("很长的项目名称", 8)
			r.Top.Projects[i].Others = 0
		}
		r.Mix.Classes[0].GPU = strings.Repeat("a very long class ", 6)
	},
}

func TestTextsNeitherOverlapNorLeaveThePicture(t *testing.T) {
	reports := map[string]*report.Report{"as it is made": new(reporttest.Report())}
	for name, strain := range strained {
		reports[name] = sample(t)
		strain(reports[name])
	}
	for name, r := range reports {
		for _, k := range Kinds(r) {
			for _, g := range []report.Lang{report.English, report.Chinese} {
				for _, size := range []Size{Chat, Wide, Narrow} {
					p, err := pictureOf(k, r, g)
					if err != nil {
						t.Fatal(err)
					}
					svg, err := render(&p, k, charts.ChartOutputSVG, size, Light)
					if err != nil {
						t.Fatal(err)
					}
					wider := 1.0
					if size.Page {
						wider = 1.14 // DejaVu Sans is the widest of usual fonts
					}
					found := textsIn(t, string(svg), wider)
					size = p.fit(size)
					for i, a := range found {
						if a.left < 0 || a.top < 0 || a.right > size.Width || a.bottom > size.Height {
							t.Errorf("%s, %s, %s, %d: %q leaves the picture: %v", name, k, g, size.Width, a.text, a.box)
						}
						for _, b := range found[:i] {
							if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
								t.Errorf("%s, %s, %s, %d: %q and %q overlap", name, k, g, size.Width, a.text, b.text)
							}
						}
					}
				}
			}
		}
	}
}

func TestAnSVGIsThePagesInColourAndType(t *testing.T) {
	r := sample(t)
	for _, k := range all {
		svg, err := SVG(k, r, report.Chinese, Narrow, "narrow")
		if err != nil {
			t.Fatal(err)
		}
		for _, never := range []string{"rgb(", "font-family", "<style", "script"} {
			if strings.Contains(svg, never) {
				t.Errorf("%s: %s in the picture", k, never)
			}
		}
		for _, want := range []string{`role="img"`, `<title id="` + string(k) + `-narrow-title">`, "<desc ", "var(--chart-ink)"} {
			if !strings.Contains(svg, want) {
				t.Errorf("%s: no %s", k, want)
			}
		}
		for _, m := range regexp.MustCompile(`var\((--chart-[a-z-]+)\)`).FindAllStringSubmatch(svg, -1) {
			if !strings.Contains(Variables(Dark), m[1]+":#") {
				t.Errorf("%s: %s is not declared", k, m[1])
			}
		}
	}
}

func BenchmarkPNG(b *testing.B) {
	r := sample(b)
	for _, k := range all {
		b.Run(string(k), func(b *testing.B) {
			for b.Loop() {
				if _, _, err := PNG(k, r, report.Chinese, Light); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

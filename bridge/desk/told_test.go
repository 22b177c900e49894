package desk

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"spillway.sh/spillway/bridge"
)

func TestNewsAreToldInChinese(t *testing.T) {
	for text, want := range map[string]string{
		"resumed at step 1200 (checkpoint age 4m12s)":               "从第 1200 步继续（检查点写于被中断前 4m12s）",
		"began anew: it wrote step 3 after a restart beside step 9": "已从头开始：重启时已有第 9 步，之后写出第 3 步",
		"6 launches in the last 10m0s never joined":                 "最近 10m0s 内有 6 次启动未能加入",
		"the price list looks wrong":                                "the price list looks wrong", // a person's
		"":                                                          "",
	} {
		if got := Chinese.Told(text); got != want {
			t.Errorf("%q is told as %q, want %q", text, got, want)
		}
		if got := English.Told(text); got != text {
			t.Errorf("%q is told as %q in English", text, got)
		}
	}
	for _, n := range chineseNews {
		all := strings.NewReplacer("%d", "7", "%s", "x").Replace(n.english)
		if got := Chinese.Told(all); got == all || strings.Contains(got, "%!") {
			t.Errorf("%q is told as %q", all, got)
		}
	}
}

func TestAlertsAreToldInChinese(t *testing.T) {
	for want, a := range map[string]bridge.Alert{
		"acme on north：2026-11 已记账 82.50 USD，限额 100.00 USD（82 %）":               {Measure: bridge.OfPosted, Percent: 80, Amount: usd(82.5)},
		"acme on north：已用完：2026-11 已记账和冻结 100.00 USD，限额 100.00 USD；限额为硬性，不再租用":  {Measure: bridge.OfHeld, Percent: 100, Amount: usd(100), Hard: true},
		"acme on north：超出 20.00 USD：预计到 2026-11 结束将花费 120.00 USD，限额 100.00 USD": {Measure: bridge.OfForecast, Percent: 100, Amount: usd(120), Hard: true},
	} {
		a.Scope, a.Period, a.Limit = bridge.Scope{Account: "acme", Cloud: "north"}, "2026-11", usd(100)
		n := bridge.News{Kind: bridge.NewsAlert, Text: a.String(), Alert: &a}
		if got := Chinese.News(&n); got != want {
			t.Errorf("told as %q,\nwant %q", got, want)
		}
		if English.News(&n) != n.Text {
			t.Errorf("English: %q", English.News(&n))
		}
	}
}

// Whoever words news anew finds here that its Chinese is lost.
func TestNewsInChineseHaveAnEnglishOriginal(t *testing.T) {
	var source strings.Builder
	for _, pattern := range []string{"../*.go", "../engine/*.go", "../store/*.go", "../cmd/spillway/*.go", "../bill/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(text)
		}
	}
	all := regexp.MustCompile(`"\s*\+\s*"`).ReplaceAllString(source.String(), "")
	for _, n := range chineseNews {
		for part := range strings.SplitSeq(strings.TrimPrefix(n.english, "%s"), "%s") {
			if !strings.Contains(all, part) {
				t.Errorf("nothing says %q any more", n.english)
			}
		}
	}
}

package main

import (
	"fmt"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/bill"
	"spillway.sh/spillway/bridge/desk"
)

// billOf is an answer with what was read; the lines themselves are the file.
type billOf struct {
	desk.BillAnswer
	Read billRead `json:"read"`
}

type billRead struct {
	Rows     int           `json:"rows"`
	Loose    []bill.Sum    `json:"loose"`
	Encoding bill.Encoding `json:"encoding"`
	FOCUS    bool          `json:"focus"`
}

func readOf(a desk.BillAnswer, f *bill.File) billOf {
	return billOf{a, billRead{f.Rows, f.Loose, f.Encoding, f.FOCUS}}
}

// billWords are the words of one language around the figures of a bill.
type billWords struct {
	lines, rentals, made func(n int) string

	reading, unreadable, more, confirm, done     string
	title, totals, read, nothing                 string
	differing, waiting, missing, stray, notOurs  string
	heading, lineHeading                         string
	matched, loose, sum, corrected, wouldCorrect string
}

// counted counts things in a language without plurals.
func counted(format string) func(int) string {
	return func(n int) string { return fmt.Sprintf(format, n) }
}

// plural counts things in English.
func plural(one string) func(int) string {
	return func(n int) string { return countWith(int64(n), one, one+"s") }
}

var billTexts = map[desk.Lang]billWords{
	desk.English: {
		lines: plural("line"), rentals: plural("rental"), made: plural("correction"),
		reading: "%s read", unreadable: "%s was not read, and nothing was stored:", more: "and more",
		confirm: "Store %s and make %s, %s together?",
		done:    "%s stored (%d known before), %s made, %s together.",
		title:   "Bill of %s, %s to %s:", totals: "Books %s, billed %s.", read: "%s read (%s), %d of rentals.",
		nothing: "Nothing differs.", matched: "Agrees with the books: %s.",
		differing: "Differ:", waiting: "Wait:", missing: "Without a line:", stray: "Lines that belong to no rental for certain (never settled by themselves):",
		notOurs: "Not ours:", loose: "Without a machine or a tag:", sum: "  %s: %s, %s",
		heading: "RENTAL\tACCOUNT\tBOOKS\tBILLED\tDIFFERENCE\tWHY, PERHAPS", lineHeading: "LINE\tINVOICE\tRENTAL\tMACHINE\tAMOUNT\tWHY",
		corrected: "%s stored (%d known before), %s made: %s.", wouldCorrect: "An import would store %s (%d known before) and make %s: %s.",
	},
	desk.Chinese: {
		lines: counted("%d 行"), rentals: counted("%d 个租用"), made: counted("%d 笔更正"),
		reading: "已读取 %s", unreadable: "%s 未能读取，没有保存任何内容：", more: "还有更多",
		confirm: "保存 %s 并作 %s，共 %s？",
		done:    "已保存 %s（另有 %d 行早已保存），已作 %s，共 %s。",
		title:   "%s 的账单，%s 至 %s：", totals: "账上 %s，账单 %s。", read: "读取 %s（%s），其中 %d 行属于租用。",
		nothing: "没有差异。", matched: "与账目一致：%s。",
		differing: "有差异：", waiting: "等待：", missing: "没有明细：", stray: "不能确定属于哪个租用的明细（不会自动入账）：",
		notOurs: "不属于我们：", loose: "没有机器或标签：", sum: "  %s：%s，%s",
		heading: "租用\t账户\t账上\t账单\t差额\t可能的原因", lineHeading: "行\t发票\t租用\t机器\t金额\t原因",
		corrected: "已保存 %s（另有 %d 行早已保存），已作 %s：%s。", wouldCorrect: "导入将保存 %s（另有 %d 行早已保存）并作 %s：%s。",
	},
}

// sayBill prints a bill next to the books.
func sayBill(p *page, a *desk.BillAnswer, f *bill.File, lang desk.Lang) {
	w := billTexts[lang]
	p.line(w.title, a.Cloud, desk.Clock(a.From), desk.Clock(a.To))
	if f != nil {
		p.line(w.read, w.lines(f.Rows), f.Encoding, a.Lines)
	}
	p.line(w.totals, a.Was, a.Billed)
	if len(a.Matched) > 0 {
		p.line(w.matched, w.rentals(len(a.Matched)))
	}
	for _, part := range []struct {
		title string
		cases []bill.Case
	}{{w.differing, a.Differing}, {w.waiting, a.Waiting}, {w.missing, a.Missing}} {
		if len(part.cases) > 0 {
			p.line("")
			p.line("%s", part.title)
			p.table(w.heading, caseRows(part.cases, lang))
		}
	}
	sayStrays(p, a, lang)
	saySums(p, w.notOurs, a.NotOurs, lang)
	if f != nil {
		saySums(p, w.loose, f.Loose, lang)
	}
	p.line("")
	switch {
	case a.Done:
		p.line(w.corrected, w.lines(a.Added), a.Known, w.made(a.Corrected), signed(a.Change))
	case a.Added > 0 || a.Corrected > 0:
		p.line(w.wouldCorrect, w.lines(a.Added), a.Known, w.made(a.Corrected), signed(a.Change))
	default:
		p.line("%s", w.nothing)
	}
}

func caseRows(cases []bill.Case, lang desk.Lang) []string {
	rows := make([]string, 0, len(cases))
	for i := range cases {
		c := &cases[i]
		rows = append(rows, row(c.Rental, c.Account, c.Was, c.Billed, signed(c.Difference), lang.Guess(c.Why)))
	}
	return rows
}

// mostStrays is how many lines are printed one by one.
const mostStrays = 50

func sayStrays(p *page, a *desk.BillAnswer, lang desk.Lang) {
	if len(a.Stray) == 0 {
		return
	}
	w := billTexts[lang]
	p.line("")
	p.line("%s", w.stray)
	var rows []string
	for i := range a.Stray {
		if i == mostStrays {
			break
		}
		s := &a.Stray[i]
		line := ""
		if s.Row > 0 {
			line = fmt.Sprint(s.Row)
		}
		rental := string(s.Rental)
		if s.Other != "" {
			rental += " / " + string(s.Other)
		}
		rows = append(rows, row(line, s.Invoice, rental, s.Machine, s.Amount, lang.Stray(s.Why)))
	}
	p.table(w.lineHeading, rows)
	if more := len(a.Stray) - mostStrays; more > 0 {
		p.line("… +%d", more)
	}
}

func saySums(p *page, title string, sums []bill.Sum, lang desk.Lang) {
	if len(sums) == 0 {
		return
	}
	p.line("")
	p.line("%s", title)
	for i := range sums {
		p.line(billTexts[lang].sum, lang.BillKind(sums[i].Kind), billTexts[lang].lines(sums[i].Lines), sums[i].Amount)
	}
}

// signed prints a difference with its sign.
func signed(m bridge.Money) string {
	if m.Micro > 0 {
		return "+" + m.String()
	}
	return m.String()
}

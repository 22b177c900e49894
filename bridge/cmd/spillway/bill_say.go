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
	reading, unreadable, more, confirm, done     string
	title, totals, read, nothing                 string
	differing, waiting, missing, stray, notOurs  string
	heading, lineHeading                         string
	matched, loose, sum, corrected, wouldCorrect string
}

var billTexts = map[desk.Lang]billWords{
	desk.English: {
		reading: "%d lines read", unreadable: "%s was not read, and nothing was stored:", more: "and more",
		confirm: "Store %d lines and make %d corrections, %s together?",
		done:    "%d lines stored (%d were known), %d corrections made, %s together.",
		title:   "Bill of %s, %s to %s:", totals: "Books %s, billed %s.", read: "%d lines read (%s), %d of them of rentals.",
		nothing: "Nothing differs.", matched: "%d rentals are billed as metered.",
		differing: "Differ:", waiting: "Wait:", missing: "Without a line:", stray: "Lines that belong to no rental for certain (never settled by themselves):",
		notOurs: "Not ours:", loose: "Without a machine or a tag:", sum: "  %s: %d lines, %s",
		heading: "RENTAL\tACCOUNT\tBOOKS\tBILLED\tDIFFERENCE\tWHY, PERHAPS", lineHeading: "LINE\tINVOICE\tRENTAL\tMACHINE\tAMOUNT\tWHY",
		corrected: "%d lines stored (%d were known). %d corrections made: %s.", wouldCorrect: "An import would store %d lines (%d are known) and make %d corrections: %s.",
	},
	desk.Chinese: {
		reading: "已读取 %d 行", unreadable: "%s 未能读取，没有保存任何内容：", more: "还有更多",
		confirm: "保存 %d 行并作 %d 笔更正，共 %s？",
		done:    "已保存 %d 行（%d 行已有），已更正 %d 笔，共 %s。",
		title:   "%s 的账单，%s 至 %s：", totals: "账上 %s，账单 %s。", read: "读取 %d 行（%s），其中 %d 行属于租用。",
		nothing: "没有差异。", matched: "%d 个租用与计量一致。",
		differing: "有差异：", waiting: "等待：", missing: "没有明细：", stray: "不能确定属于哪个租用的明细（不会自动入账）：",
		notOurs: "不属于我们：", loose: "没有机器或标签：", sum: "  %s：%d 行，%s",
		heading: "租用\t账户\t账上\t账单\t差额\t可能的原因", lineHeading: "行\t发票\t租用\t机器\t金额\t原因",
		corrected: "已保存 %d 行（%d 行已有），已更正 %d 笔：%s。", wouldCorrect: "导入将保存 %d 行（%d 行已有）并更正 %d 笔：%s。",
	},
}

// sayBill prints a bill next to the books.
func sayBill(p *page, a *desk.BillAnswer, f *bill.File, lang desk.Lang) {
	w := billTexts[lang]
	p.line(w.title, a.Cloud, desk.Clock(a.From), desk.Clock(a.To))
	if f != nil {
		p.line(w.read, f.Rows, f.Encoding, a.Lines)
	}
	p.line(w.totals, a.Was, a.Billed)
	if len(a.Matched) > 0 {
		p.line(w.matched, len(a.Matched))
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
		p.line(w.corrected, a.Added, a.Known, a.Corrected, signed(a.Change))
	case a.Added > 0 || a.Corrected > 0:
		p.line(w.wouldCorrect, a.Added, a.Known, a.Corrected, signed(a.Change))
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
		p.line(billTexts[lang].sum, lang.BillKind(sums[i].Kind), sums[i].Lines, sums[i].Amount)
	}
}

// signed prints a difference with its sign.
func signed(m bridge.Money) string {
	if m.Micro > 0 {
		return "+" + m.String()
	}
	return m.String()
}

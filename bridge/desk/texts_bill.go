package desk

import (
	"fmt"

	"spillway.sh/spillway/bridge/bill"
)

// guesses say why a bill may differ, in a few words of each language.
var guesses = map[bill.Guess]map[Lang]string{
	bill.GuessEqual:    {English: "as metered", Chinese: "与计量一致"},
	bill.GuessRounding: {English: "rounding", Chinese: "舍入"},
	bill.GuessPrice:    {English: "another price", Chinese: "单价不同"},
	bill.GuessLonger:   {English: "billed for longer than it ran", Chinese: "计费时间长于运行时间"},
	bill.GuessShorter:  {English: "billed for less time", Chinese: "计费时间较短"},
	bill.GuessMinimum:  {English: "a minimum charge or a longer step", Chinese: "最低收费或更长的计费步长"},
	bill.GuessCredit:   {English: "a credit or refund", Chinese: "优惠或退款"},
	bill.GuessTax:      {English: "tax", Chinese: "税费"},
	bill.GuessExtra:    {English: "other charges (disk, address, traffic)", Chinese: "其他费用（磁盘、地址、流量）"},
	bill.GuessExchange: {English: "another exchange rate", Chinese: "汇率不同"},
	bill.GuessDone:     {English: "corrected by these lines already", Chinese: "已按这些明细更正"},
	bill.GuessOpen:     {English: "not ended: its books are open", Chinese: "尚未结束：账目未关闭"},
	bill.GuessPart:     {English: "not billed whole yet", Chinese: "账单尚不完整"},
	bill.GuessBelow:    {English: "credits are more than it cost", Chinese: "优惠超过其费用"},
	bill.GuessNoLine:   {English: "no bill line yet", Chinese: "尚无账单明细"},
}

// strays say why a line belongs to no rental for certain.
var strays = map[bill.Stray]map[Lang]string{
	bill.StrayUnknown:   {English: "its tag names a rental that is not known", Chinese: "标签所指的租用不存在"},
	bill.StrayDisagree:  {English: "its tag names one rental, its machine another", Chinese: "标签与机器所属的租用不一致"},
	bill.StrayCloud:     {English: "of a rental in another cloud", Chinese: "属于另一个云的租用"},
	bill.StrayNeverMade: {English: "of a rental that never had machines", Chinese: "所属租用从未有过机器"},
}

// billKinds are the kinds of lines.
var billKinds = map[string]map[Lang]string{
	bill.KindUsage:  {English: "usage", Chinese: "使用"},
	bill.KindCredit: {English: "credit", Chinese: "优惠"},
	bill.KindRefund: {English: "refund", Chinese: "退款"},
	bill.KindTax:    {English: "tax", Chinese: "税费"},
	bill.KindOther:  {English: "other", Chinese: "其他"},
}

// chineseFaults are the twins of what bill.Fault says in English: the first
// fact is what is there, the second what would be right.
var chineseFaults = map[bill.FaultKind]string{
	bill.FaultMalformed: "不是一行 CSV：%[1]s",
	bill.FaultEncoding:  "不是 %[2]s 编码的文字；请用 --encoding 指定",
	bill.FaultColumn:    "没有 %[1]s 列；有：%[2]s",
	bill.FaultTwice:     "有两列都叫 %[1]s",
	bill.FaultEmpty:     "没有填写",
	bill.FaultAmount:    "%[1]q 不是金额：应为 12.34 这样的数字",
	bill.FaultCurrency:  "%[1]q 不是 ISO 4217 货币",
	bill.FaultTime:      "%[1]q 不是时间：应为 %[2]s",
	bill.FaultReversed:  "结束时间 %[1]s 不晚于开始时间 %[2]s",
	bill.FaultFuture:    "%[1]s 在将来：请在账期结束后再导出",
	bill.FaultKindWord:  "不认识的费用类型 %[1]q；已知：%[2]s",
	bill.FaultNegative:  "使用费为 %[1]s：只有优惠、退款和税费可以小于零",
	bill.FaultTags:      "不是标签列表：%[1]s",
	bill.FaultDuplicate: "与第 %[2]s 行是同一笔费用",
	bill.FaultMost:      "超过 %[2]s 行，不予读取：请只导出租用所用的账号",
	bill.FaultNothing:   "没有可读的明细行",
	bill.FaultRate:      "%[1]s 没有汇率：%[2]s",
}

// Guess says why a bill may differ.
func (l Lang) Guess(g bill.Guess) string { return guesses[g][l] }

// Stray says why a line is nobody's for certain.
func (l Lang) Stray(s bill.Stray) string { return strays[s][l] }

// BillKind says a kind of line.
func (l Lang) BillKind(kind string) string { return billKinds[kind][l] }

// BillFault says what is wrong with a file, and where.
func (l Lang) BillFault(f *bill.Fault) string {
	if l != Chinese {
		return f.Error()
	}
	place := ""
	if f.Line > 0 {
		place = fmt.Sprintf("第 %d 行", f.Line)
		if f.Column > 0 {
			place += fmt.Sprintf("第 %d 列", f.Column)
		}
		if f.Name != "" {
			place += fmt.Sprintf("（%s）", f.Name)
		}
		place += "："
	}
	return place + f.Words(chineseFaults[f.Kind])
}

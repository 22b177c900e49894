package desk

import (
	"fmt"
	"regexp"
	"strings"

	"spillway.sh/spillway/bridge"
)

// chineseNews are the twins of what news say in words of ours, by the English
// format, in the order in which they are tried.
var chineseNews = []struct{ english, chinese string }{
	{"%s of cloud %s ends on %s: jobs that need it go elsewhere from then on, unless it is renewed", "云 %[2]s 的 %[1]s 将于 %[3]s 到期：若不续期，需要它的作业届时将改用别处"},
	{"%s of cloud %s ended on %s: jobs that need it go elsewhere", "云 %[2]s 的 %[1]s 已于 %[3]s 到期：需要它的作业改用别处"},
	{"starts again from the beginning: no complete checkpoint was found", "没有找到完整的检查点，从头重新运行"},
	{"runs again beside a complete checkpoint that gives no step: whether it resumed is not known", "已再次运行；旁边完整的检查点没有步数，无法得知是否从中继续"},
	{"resumed at step %d (checkpoint age %s)", "从第 %s 步继续（检查点写于被中断前 %s）"},
	{"began anew: it wrote step %d after a restart beside step %d", "已从头开始：重启时已有第 %[2]s 步，之后写出第 %[1]s 步"},
	{"%d of %d machines vanished at once", "%[2]s 台机器中有 %[1]s 台同时消失"},
	{"%d launches in the last %s never joined", "最近 %[2]s 内有 %[1]s 次启动未能加入"},
	{"%s: rented for this cluster by another store; nothing of it is touched. If that store is lost, stop the daemon and run `spillway adopt`; if another daemon has it, stop one of the two. Then `spillway thaw`", "%s：由另一个数据库为本集群租用，不会触动。若该数据库已丢失，请停止守护进程并运行 `spillway adopt`；若由另一个守护进程使用，请停止其中一个。然后运行 `spillway thaw`"},
	{"%s: rented by this store, which knows nothing of it, so it is a copy from before. Stop the daemon and run `spillway adopt`, then `spillway thaw`", "%s：由本数据库租用，但其中没有记录，说明这是较早的副本。请停止守护进程并运行 `spillway adopt`，然后运行 `spillway thaw`"},
	{"region %s of cloud %s is set aside and asked again now and then, everything else goes on: %s", "云 %[2]s 的区域 %[1]s 暂不使用，之后不时再试，其余照常：%[3]s"},
	{"cloud %s is set aside and asked again now and then, everything else goes on: %s", "云 %s 暂不使用，之后不时再试，其余照常：%s"},
	{"its cloud gives no answer that can be understood and lists nothing of it, so another pool is asked: %s", "云的回答无法理解，列表中也没有机器，因此改向其他池申请：%s"},
	{"the breaker has cooled down", "保护时间已过"},
	{"%s: the cloud says that this machine is more likely than usual to be taken back", "%s：云提示这台机器比平时更可能被收回"},
	{"takes no more jobs: %s", "不再接收作业：%s"},
	{"its time limit was raised outside; the machines are paid for until %s", "其时限在外部被提高；机器的费用只付到 %s"},
	{"its machines end at %s, in less than %s", "其机器将于 %s 结束，不到 %s"},
	{"the scheduler set it aside (%s) when it was requeued, though nodes that fit it are there; asked to look anew, %d of %d", "重新排队时被调度器搁置（%s），但有合适的节点；已要求重新查看，第 %s 次，共 %s 次"},
	{"cost %s is beyond the hold of %s by %s", "费用 %s 超出冻结额 %s，多 %s"},
	{"the books do not balance (%d findings, the first: %s); see: spillway ledger check", "账目不平（%s 处，第一处：%s）；请运行 spillway ledger check"},
	{"was %s, now %s, by bill %s of %s", "原为 %s，现为 %s，依据 %[4]s 的账单 %[3]s"},
	{"the budget of %s is over-committed: %s in %s, and %s are spent and held already; what runs goes on, nothing new is rented in it", "预算 %s 超额占用：%[3]s 上限 %[2]s，已记账和冻结共 %[4]s；运行中的继续，不再租用新的"},
	{"goes back at %s unless a job comes, or: spillway keep %s 1h", "除非有新作业，将于 %s 归还；要保留请运行：spillway keep %s 1h"},
	{"nobody owns it; goes back at %s unless a job comes, or: spillway keep %s 1h", "无人认领；除非有新作业，将于 %s 归还；要保留请运行：spillway keep %s 1h"},
	{"nobody owns it, and its money is answered for by %s; goes back at %s unless a job comes, or: spillway keep %s 1h", "无人认领，费用由 %s 负责；除非有新作业，将于 %s 归还；要保留请运行：spillway keep %s 1h"},
	{"spent by %s in %s, of %s, over by %s; not final, still open: %s", "%s 在 %s 的花费，限额 %s，超出 %s；尚未最终确定，未结租用：%s"},
	{"spent by %s in %s, of %s; not final, still open: %s", "%s 在 %s 的花费，限额 %s；尚未最终确定，未结租用：%s"},
	{"spent by %s in %s, of %s, over by %s", "%s 在 %s 的花费，限额 %s，超出 %s"},
	{"spent by %s in %s, of %s", "%s 在 %s 的花费，限额 %s"},
	{"until %s", "直到 %s"},
}

var newsForms = func() []*regexp.Regexp {
	out := make([]*regexp.Regexp, 0, len(chineseNews))
	for _, n := range chineseNews {
		form := strings.NewReplacer("%d", `(\d+)`, "%s", `(.+)`).Replace(regexp.QuoteMeta(n.english))
		out = append(out, regexp.MustCompile(`^`+form+`$`))
	}
	return out
}()

// News says the words of news in a language: those of an alert by what it is
// about, all others by their text.
func (l Lang) News(n *bridge.News) string {
	if l == Chinese && n.Kind == bridge.NewsAlert && n.Alert != nil {
		return chineseAlert(n.Alert)
	}
	return l.Told(n.Text)
}

// chineseAlert is the twin of bridge.Alert.String.
func chineseAlert(a *bridge.Alert) string {
	text := a.Scope.String() + "："
	switch over, err := a.Amount.Sub(a.Limit); {
	case err == nil && over.Micro > 0:
		text += fmt.Sprintf("超出 %s：", over)
	case err == nil && over.IsZero():
		text += "已用完："
	}
	text += map[bridge.Measure]string{
		bridge.OfPosted: a.Period + " 已记账", bridge.OfHeld: a.Period + " 已记账和冻结", bridge.OfForecast: "预计到 " + a.Period + " 结束将花费",
	}[a.Measure] + fmt.Sprintf(" %s，限额 %s", a.Amount, a.Limit)
	if a.Amount.Micro < a.Limit.Micro {
		text += fmt.Sprintf("（%d %%）", a.Share())
	}
	if a.Hard && a.Percent >= 100 && a.Measure != bridge.OfForecast {
		text += "；限额为硬性，不再租用"
	}
	return text
}

// Told says the text of news in a language. What a person wrote, and what has
// no other words, stays as it is.
func (l Lang) Told(text string) string {
	if l != Chinese {
		return text
	}
	for i, form := range newsForms {
		if facts := form.FindStringSubmatch(text); facts != nil {
			args := make([]any, 0, len(facts)-1)
			for _, f := range facts[1:] {
				args = append(args, f)
			}
			return fmt.Sprintf(chineseNews[i].chinese, args...)
		}
	}
	return text
}

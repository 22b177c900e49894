package desk

import (
	"strconv"
	"strings"
)

// results words every outcome of an answer once; {name} is a fact of it, and a
// part in [brackets] is left out when its fact is not known.
var results = map[Lang]map[ResultKind]string{
	English: {
		ResultApproved:   "{rental} is approved: at most {hold} is held, and its machines are being rented.",
		ResultExtended:   "{rental} is approved: at most {hold} more is held, and {detail} lives longer.",
		ResultAgreed:     "You said yes to {rental}. It needs {needs} persons, {given} so far.",
		ResultDenied:     "{rental} is denied. Nothing was held.",
		ResultRepeated:   "You said so before. Nothing changed.",
		ResultAlready:    "{rental} was already approved[ by {who}] at {at}; nothing changed",
		ResultRefused:    "{rental} was already denied[ by {who}] at {at}; nothing changed",
		ResultLapsed:     "too late: the question {rental} lapsed at {at}; nothing changed",
		ResultWithdrawn:  "too late: the question {rental} was withdrawn[ by {who}] at {at}; nothing changed",
		ResultSuperseded: "{rental} has changed since you saw it[: it was at most {was}, now it is {hold}]: look again",
		ResultOwn:        "you asked for {rental}, so somebody else has to decide; approvers: {approvers}",
		ResultNotAllowed: "you are no approver for {account}; approvers: {approvers}",
		ResultOther:      "{rental} exceeds the budget of {account} too, and you are no approver of that one; approvers: {approvers}",
		ResultAuthority:  "you may say yes to {limit} at most, and {rental} may cost {hold}; approvers: {approvers}",
		ResultDearer:     "it is dearer than asked for now: {detail}",
		ResultHard:       "the budget of {account} is hard, no approval may exceed it[: {limit} left, at most {hold} needed]",
		ResultStopped:    "{detail}",
		ResultIdle:       "{rental} asks nothing: it is {detail}",
	},
	Chinese: {
		ResultApproved:   "{rental} 已批准：最多冻结 {hold}，正在租用机器。",
		ResultExtended:   "{rental} 已批准：最多再冻结 {hold}，{detail} 延长。",
		ResultAgreed:     "您已同意 {rental}。需要 {needs} 人同意，目前 {given} 人。",
		ResultDenied:     "{rental} 已拒绝，没有冻结任何款项。",
		ResultRepeated:   "您已答复过，没有变化。",
		ResultAlready:    "{rental} 已[由 {who} ]于 {at} 批准；没有变化",
		ResultRefused:    "{rental} 已[由 {who} ]于 {at} 拒绝；没有变化",
		ResultLapsed:     "已过期：询问 {rental} 于 {at} 失效；没有变化",
		ResultWithdrawn:  "已撤回：询问 {rental} 已[由 {who} ]于 {at} 撤回；没有变化",
		ResultSuperseded: "{rental} 已有变化[：原来最多 {was}，现在 {hold}]，请重新查看",
		ResultOwn:        "{rental} 是您自己申请的，须由他人决定；审批人：{approvers}",
		ResultNotAllowed: "您不是 {account} 的审批人；审批人：{approvers}",
		ResultOther:      "{rental} 同时超出 {account} 的预算，而您不是它的审批人；审批人：{approvers}",
		ResultAuthority:  "您最多可批准 {limit}，而 {rental} 最多可能花费 {hold}；审批人：{approvers}",
		ResultDearer:     "现在的价格高于申请时：{detail}",
		ResultHard:       "{account} 的预算是硬性的，不可审批超出[：剩余 {limit}，最多需要 {hold}]",
		ResultStopped:    "{detail}",
		ResultIdle:       "{rental} 没有待决的询问：状态为 {detail}",
	},
}

// Result says what came of an answer, in one sentence. All wording of it comes
// from here.
func (l Lang) Result(r *Result) string {
	table := results[English]
	nobody := "nobody is set in the policy"
	if l == Chinese {
		table, nobody = results[Chinese], "策略中没有指定"
	}
	f := map[string]string{
		"rental": string(r.Rental), "who": r.Who, "at": Clock(r.At), "account": string(r.Account), "detail": r.Detail,
		"given": strconv.Itoa(r.Given), "needs": strconv.Itoa(r.Needs), "approvers": nobody,
	}
	if r.Scope != nil {
		f["account"] = l.Scope(*r.Scope)
	}
	if len(r.Approvers) > 0 {
		f["approvers"] = strings.Join(r.Approvers, ", ")
	}
	if r.Hold.Currency != "" {
		f["hold"] = r.Hold.String()
	}
	if r.Was.Currency != "" {
		f["was"] = r.Was.String()
	}
	if r.Limit.Currency != "" {
		f["limit"] = r.Limit.Floor()
	}
	return fill(table[r.Kind], f)
}

package desk

var cloudWordsChinese = map[string]string{
	string(CloudAnswers): "正常回应",
	string(CloudFails):   "出错",
	string(CloudEmpty):   "没有可租的机器",
	string(CloudUnasked): "尚未询问",

	"pool-ready":       "可用",
	"pool-resting":     "暂停 {span}",
	"pool-sold-out":    "售罄",
	"pool-no-quota":    "配额用尽",
	"pool-no-price":    "价格过旧",
	"pool-not-offered": "未提供",

	"fails-offers": "读不到它的报价[，连续 {times} 次][，最近一次在 {ago} 前]：{kind}[（{code}）][：{said}]。[{span} 后再问。][上次读到是在 {good} 前。]",
	"fails-both":   "既读不到它的报价，也列不出它的机器[，连续 {times} 次][，最近一次在 {ago} 前]：{kind}[（{code}）][：{said}]。[{span} 后再问。][上次读到是在 {good} 前。]",
	"fails-list":   "列不出它的机器[，连续 {times} 次][，最近一次在 {ago} 前]：{kind}[（{code}）][：{said}]。[{span} 后再问。][上次列出是在 {good} 前。]",

	"refused":       "{pool}：{kind}[（{code}）][，连续 {times} 次][，最近一次在 {ago} 前]；{span} 后再试。",
	"licence-soon":  "{name}[（{number}）]将于 {day} 到期，还有 {span}：请续期，否则需要它的作业将改用别处。",
	"licence-ended": "{name}[（{number}）]已于 {day} 到期：需要它的作业改用别处。",
	"no-fresh":      "没有一个价格新到可以据以购买。",

	"all": "{of} 全部",

	"market-spot": "竞价", "market-on-demand": "按需", "market-reserved": "预留",

	"no-capacity": "售罄", "quota": "达到配额", "price": "高于价格上限", "denied": "没有权限",
	"invalid": "请求无效", "mismatch": "令牌已用于别的请求", "throttled": "请求过于频繁",
	"not-found": "不存在", "unknown": "没有明确答复",
}

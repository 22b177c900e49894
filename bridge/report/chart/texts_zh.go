package chart

// chinese is the twin of english: the same texts, the same facts.
var chinese = texts{
	Kept: "自有与预留", OnDemand: "按需", Spot: "竞价",
	Stop: "。", Gap: "，",

	Spend: "每日支出（{currency}）", SpendSub: "{week}：共 {total}，其中弹性 {elastic}（{share} %）",
	SpendSubAll: "{week}：共 {total}，其中弹性 {elastic}",
	SpendDay:    "{day}：自有与预留 {kept}，按需 {demand}，竞价 {spot}",
	Weekdays:    [7]string{"周日", "周一", "周二", "周三", "周四", "周五", "周六"},

	Demand: "GPU 需求（张），从最忙的小时排起", DemandAxis: "需求不低于该数的小时占比（%）",
	DemandClass: "{gpu}：最佳 {best}，现有 {have}", DemandClassOnly: "{gpu}：现有 {have}",
	Reserve: "预留（按最佳数量）", Rent: "超出部分租用", Wanted: "需求", Best: "K*，最佳预留数量", Have: "现有自有与预留",
	Further:   "另有 {n} 种见表格",
	DemandAlt: "{gpu}：最多需要 {peak}，一半时间不少于 {median}，现有自有与预留 {have}", DemandAltBest: "，最佳 {best}",

	Month: "{month} 弹性支出（{currency}）", MonthSub: "{date}：{sofar}",
	MonthForecast: "预测 {likely}（{low} 至 {high}）", MonthLimit: "预算 {limit}", MonthAlt: "截至 {date} 共 {sofar}",
	SoFar: "截至目前", Expected: "预测", Band: "十次中八次落在此范围", Limit: "预算",

	Top: "各项目弹性支出（{currency}）", TopSub: "{week}：{elastic}", TopLine: "{name} {cost}（{share} %）", Others: "其他 {n} 项", NoProject: "（无）",
}

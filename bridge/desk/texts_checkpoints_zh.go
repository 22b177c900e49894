package desk

var checkpointWordsChinese = map[string]string{
	"newest":  "最新的完整检查点是 {place}[，第 {step} 步]，写于 {age} 之前[（{framework}）]。",
	"none":    "在 {place} 中没有找到完整的检查点。",
	"no-rule": "策略没有说明此作业的检查点存放在哪里，因此无从知晓。",

	"unsaid":     "作业没有说明检查点的位置（{place} 由作业注释填写，例如 sbatch --comment=ckpt=run7）。",
	"outside":    "检查点应在 {place}，但它不在策略列出的目录之内、位于链接之后，或不对作业用户本人开放。",
	"unmounted":  "{place} 所在的存储不存在：未挂载、为空，或没有这个存储桶。",
	"denied":     "Spillway 无权读取 {place}。",
	"stale":      "{place} 所在的文件系统报错;之前已知的结果仍然有效。",
	"slow":       "{place} 所在的存储没有及时响应;之前已知的结果仍然有效。",
	"too-many":   "{place} 中的内容超过一次查看所能读取的数量。",
	"no-storage": "{place} 在对象存储中，而配置里没有 storage 一节。",

	"empty":      "其中有空文件[：{detail}]",
	"truncated":  "文件不完整[：{detail}]",
	"shard":      "缺少一部分[：{detail}]",
	"marker":     "尚未写完[：{detail}]",
	"unsettled":  "可能仍在增长[：{detail}]",
	"temporary":  "仍是临时文件名[：{detail}]",
	"unreadable": "无法读取[：{detail}]",
	"foreign":    "是链接，或不属于该作业[：{detail}]",
	"unknown":    "无法判断是否完整[：{detail}]",

	"spot-yes":                "可以：检查点的新鲜程度符合策略[（两次之间最多损失 {most} 的工作）]。",
	"spot-no-rule":            "可以：策略不要求检查点。",
	"spot-none-needed":        "可以：首次运行之前策略不要求检查点。",
	"spot-policy":             "不可以：策略不允许它使用竞价实例。",
	"spot-not-restartable":    "不可以：调度器不能将它重新排队（sbatch --requeue）。",
	"spot-reclaimed":          "不可以：它的机器已被收回 {n} 次，因此改用按需实例。",
	"spot-no-checkpoint":      "不可以：策略要求先有一个完整的检查点。",
	"spot-checkpoint-too-old": "不可以：会损失超过 {most} 的工作。",

	"advice":         "建议每 {best} 写一次：写一次需要 {save}，预计每 {between}[（{nodes} 台机器）]会被收回一次（{pool}）。",
	"advice-sooner":  "建议更频繁地写：每 {best} 一次，而不是 {every}。写一次需要 {save}，预计每 {between}[（{nodes} 台机器）]会被收回一次（{pool}）。",
	"advice-later":   "建议减少写的次数：每 {best} 一次，而不是 {every}。写一次需要 {save}，预计每 {between}[（{nodes} 台机器）]会被收回一次（{pool}）。",
	"advice-well":    "每 {every} 写一次是合适的：损失最小的间隔是 {best}。写一次需要 {save}，预计每 {between}[（{nodes} 台机器）]会被收回一次（{pool}）。",
	"advice-no-save": "预计每 {between}[（{nodes} 台机器）]会被收回一次（{pool}）;写一次检查点需要多久尚不清楚。",
	"advice-no-spot": "它不在竞价实例上，目前也没有合适的竞价实例可用。",
}

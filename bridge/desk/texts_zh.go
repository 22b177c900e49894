package desk

import "spillway.sh/spillway/bridge"

// chinese is the twin of english: the same reasons, the same facts.
var chinese = map[bridge.Reason]wording{
	bridge.ReasonCheapest: {
		"正在租用",
		"本地没有可用节点，可租用合适的机器[：{pool}][，最多 {cost}]。", "无需操作：正在租用。",
	},
	bridge.ReasonRoute: {
		"使用空闲机器",
		"已租的一台合适机器空闲[（{rental}）]，作业将在那里运行。", "无需操作：几秒内开始。",
	},
	bridge.ReasonUnderway: {
		"机器准备中",
		"机器已租，正在准备[（{rental}）][，来自 {pool}]。", "无需操作：全部加入后开始。",
	},

	bridge.ReasonOverBudget: {
		"超预算：需批准",
		"费用超过预算剩余[：最多 {cost}][，而 {limit} 只剩 {left}]。", "由审批人同意，或等预算的下一周期。",
	},
	bridge.ReasonAskAbove: {
		"策略要求批准",
		"在预算内，但费用超过策略允许的自动额度[：最多 {cost}]。", "由审批人同意。",
	},
	bridge.ReasonAsked: {
		"等待批准",
		"租用[ {rental}] 等待批准[，最多 {cost}]。", "[审批人执行：spillway approve {rental}]",
	},

	bridge.ReasonWaitPolicy: {
		"按策略等待",
		"策略[（规则 {rule}）]要求先等本地节点[，直到 {until}]。", "等待结束仍无本地节点时，开始租用。",
	},
	bridge.ReasonStartsSoon: {
		"本地更快",
		"调度器预计[在 {until}]本地启动，比机器开机更快。", "无需操作，除非预计时间变化。",
	},
	bridge.ReasonSoon: {
		"即将可运行",
		"稍后[（{until}）]即可再次运行；机器为它保留。", "无需操作。",
	},
	bridge.ReasonStale: {
		"队列状态过旧",
		"调度器近来没有回应；不会依据旧状态购买。", "调度器恢复回应；用 spillway status 查看。",
	},
	bridge.ReasonFrozen: {
		"已冻结",
		"新支出已被人工冻结。", "管理员执行：spillway thaw",
	},
	bridge.ReasonProtected: {
		"保护模式",
		"近来启动失败过多，暂停新的租用。", "排除原因（spillway status），或等暂停自动结束。",
	},
	bridge.ReasonPoolsDown: {
		"售罄",
		"合适的机型目前都售罄或被拒[；最接近的是 {pool}][，{until} 再试]。", "云上重新有货，或策略允许更多云或市场。",
	},
	bridge.ReasonNoPrice: {
		"没有新价格",
		"合适的机型都没有足够新的价格[；最接近的是 {pool}]。", "重新读到价格；用 spillway status 查看。",
	},
	bridge.ReasonImplausible: {
		"价格不可信",
		"最接近的报价[（{pool}）]价格不可信，不按此购买[：{detail}]。", "云的价格恢复正常，或在策略文件的 prices 中写明本站此类机器的价格范围。",
	},
	bridge.ReasonNoExchange: {
		"没有汇率",
		"最接近的报价[（{pool}）]与预算币种不同，且没有已知汇率[：{detail}]。", "管理员在策略文件的 exchange 中加入汇率；绝不按 1:1 计。",
	},
	bridge.ReasonOldExchange: {
		"汇率过期",
		"最接近的报价[（{pool}）]与预算币种不同，而汇率早于策略允许的时间[：{detail}]。", "在策略文件的 exchange 或其汇率文件中更新汇率。",
	},
	bridge.ReasonEndsFirst: {
		"合约先到期",
		"已付费的机器合适[（{pool}）]，但作业会在合约到期之后才结束[：{detail}]。", "缩短申请时长，或有更晚到期且有余量的合约。",
	},
	bridge.ReasonMost: {
		"机器数上限",
		"项目已租的机器数达到策略上限[：{detail}]。", "归还一台，或策略提高上限。",
	},
	bridge.ReasonNoBudget: {
		"预算用完",
		"费用超过硬性预算剩余[：最多 {cost}][，而 {limit} 只剩 {left}]；不可审批超出。", "等下一周期、冻结款返还，或提高上限。",
	},
	bridge.ReasonDenied: {
		"被拒绝",
		"[{rental} ]被人拒绝。", "[{until} 之后会再次询问；][也可手动：spillway rent job {job}]",
	},
	bridge.ReasonLapsed: {
		"无人答复",
		"询问未在期限内得到答复。", "[{until} 之后会再次询问。]",
	},
	bridge.ReasonLocalFree: {
		"本地有空闲",
		"本地有合适的空闲节点，调度器会在那里启动。", "无需操作。",
	},
	bridge.ReasonAhead: {
		"排在其后",
		"目前可租的给了排在前面的作业[：{detail}]。", "前面的得到满足后立即重新考虑。",
	},

	bridge.ReasonObserve: {
		"仅观察",
		"Spillway 在此仅观察：策略尚不允许租用。", "管理员在策略文件中设预算并写 burst: true；用 spillway check-config 检查。",
	},
	bridge.ReasonOptOut: {
		"已选择不参与",
		"已选择不参与[（规则 {rule}）][：{detail}]。", "从作业注释或策略中去掉该选择。",
	},
	bridge.ReasonNoRule: {
		"没有规则",
		"策略中没有适用的规则。", "管理员添加规则；用 spillway check-config 检查。",
	},
	bridge.ReasonRuleFailed: {
		"规则无法判断",
		"策略规则的条件[（{rule}）]对它无法计算[：{detail}]。", "管理员修正规则；用 spillway check-config 检查。",
	},
	bridge.ReasonUnfunded: {
		"没有预算",
		"付款账户没有预算[：{detail}]；没有预算不租用。", "管理员在策略文件中设预算。",
	},
	bridge.ReasonReserved: {
		"P0：仅自有",
		"类别为 P0，只用自有和预留的机器[（规则 {rule}）][：{detail}]。", "有合适的预留机器空出，或改变其类别。",
	},
	bridge.ReasonSitePolicy: {
		"站点限制",
		"受站点限制[：{detail}]；增加机器没有帮助。", "提高限制，或同一用户的其他作业结束。",
	},
	bridge.ReasonUserHold: {
		"用户保留",
		"被其所有者保留[：{detail}]。", "保留、依赖或开始时间结束。",
	},
	bridge.ReasonSiteConfig: {
		"集群配置",
		"被集群配置阻止[：{detail}]；增加机器没有帮助。", "集群管理员检查所指的分区、QOS 或节点。",
	},
	bridge.ReasonDoubtful: {
		"原因不明",
		"不能确定增加机器有帮助[（{detail}）]，因此不购买。", "调度器给出其他等待原因。",
	},
	bridge.ReasonUnplaceable: {
		"无法安置",
		"所需条件没有租用机器能确保满足[：{detail}]。", "修改作业请求[（见：{detail}）]。",
	},
	bridge.ReasonWorkflow: {
		"工作流管理器",
		"属于只看自己分区的工作流管理器[：{detail}]；此类作业不处理。", "改用普通 sbatch 提交。",
	},
	bridge.ReasonNoOffer: {
		"无合适机型",
		"允许的云中没有合适的机器[：{detail}][；最接近的是 {pool}]。", "减少请求，或策略允许有此类机器的云。",
	},
	bridge.ReasonTooDear: {
		"超过价格上限",
		"合适的机型超过策略的价格上限[：{pool}][，最多 {cost}]。", "价格下降，或策略提高上限。",
	},
	bridge.ReasonLate: {
		"交付太晚",
		"合适的机型[（{pool}）]交付太晚，赶不上截止时间[：{detail}]。", "更快交付的云有货，或修改截止时间或时限。",
	},
	bridge.ReasonLacks: {
		"供应商缺少所需资质",
		"合适机型的供应商缺少策略要求的资质[：{detail}]。", "在配置中更新供应商的许可证或认证，或策略降低要求。",
	},
	bridge.ReasonNetwork: {
		"网络太慢",
		"合适的机型[（{pool}）]网络达不到策略要求[：{detail}]。", "策略降低网络要求，或允许网络更快的云。",
	},
	bridge.ReasonDeadline: {
		"截止时间太近",
		"截止时间早于开机并运行所需的时间。", "修改截止时间或时限。",
	},
	bridge.ReasonNoAccount: {
		"无账户付款",
		"策略没有把它对应到可付款的账户[：{detail}]。", "作业指明账户（sbatch -A），或策略加上对应。",
	},
	bridge.ReasonNotRestartable: {
		"不可重排",
		"只允许竞价机器，但机器被收回时它不可重新排队。", "用 sbatch --requeue 提交，或策略允许按需机器。",
	},
	bridge.ReasonNoCheckpoint: {
		"尚无检查点",
		"只允许竞价机器，但没有找到它的完整检查点。", "作业在策略指定处写检查点（spillway checkpoints JOB），或策略允许按需机器。",
	},
	bridge.ReasonOldCheckpoint: {
		"检查点间隔太长",
		"只允许竞价机器，但在其上会损失太多工作[：{detail}]。", "作业更频繁地写检查点（spillway checkpoints JOB），或策略允许按需机器。",
	},
	bridge.ReasonLocalOnly: {
		"等待本地节点",
		"它失去的租用机器太多[：{detail}]，因此等待本地节点。", "本地节点空出，或策略允许更多次收回。",
	},
	bridge.ReasonLooking: {
		"正在查找检查点",
		"它用哪种机器取决于最新的检查点，正在查找。", "查找几秒内完成。",
	},
	bridge.ReasonAheadOfPace: {
		"进度领先于截止时间",
		"进度领先于截止时间的要求，因此等待竞价机器[，直到 {until}]。", "出现竞价机器，或进度落后而改用按需机器。",
	},

	bridge.ReasonCreated:      {"已创建", "云已创建机器。", ""},
	bridge.ReasonRefused:      {"被拒", "云拒绝了[：{detail}]。", ""},
	bridge.ReasonUnknown:      {"结果未知", "云的回应丢失；先查明再继续。", ""},
	bridge.ReasonLaunchLate:   {"启动超时", "启动超过时限。", ""},
	bridge.ReasonJoinLate:     {"加入超时", "并非所有机器都按时加入。", ""},
	bridge.ReasonWrongShape:   {"低于所付规格", "机器注册的规格低于声明。", ""},
	bridge.ReasonAdmitted:     {"全部加入", "所有机器已加入并一次性接纳。", ""},
	bridge.ReasonIdle:         {"空闲", "机器在空闲时限内没有作业。", ""},
	bridge.ReasonExpired:      {"时间到", "已付的时间结束。", ""},
	bridge.ReasonAskedRelease: {"应要求", "有人提出要求。", ""},
	bridge.ReasonDemandGone:   {"作业已不在", "对应的作业已不再等待。", ""},
	bridge.ReasonUnfit:        {"未通过检查", "机器在接收作业前未通过检查，已退还。", ""},
	bridge.ReasonNotice:       {"收回通知", "云通知将收回机器。", ""},
	bridge.ReasonReclaimed:    {"已收回", "云收回了机器。", ""},
	bridge.ReasonDied:         {"机器故障", "机器自行终止。", ""},
	bridge.ReasonOrphan:       {"孤儿机器", "机器不属于任何租用。", ""},
	bridge.ReasonRebuilt:      {"已重建", "账本丢失后，已按机器标签重建。", ""},
	bridge.ReasonGangBroken:   {"成组不全", "同组剩余机器不足。", ""},
}

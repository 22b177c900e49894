package say

import "spillway.sh/spillway/bridge"

// chinese is the twin of english: the same texts, the same facts.
var chinese = texts{
	Stop: "。", Gap: "", None: "无", Nobody: "策略中没有指定", More: "另有 {n} 项未显示。",

	Understood: "我的理解：{words}。", Try: "可以这样写：{try}", Read: "（“{typed}”读作 {as}）",
	Stranger: "未做任何操作。{why}",
	NotOurs:  "这个按钮不是我们的，或来自旧的安装。未做任何操作。请使用 /rent 或 /release。",

	Rented: "{id} · {what} {market}，{for}，{place}，由 {project} 付款。预计 {expected}，最多 {most}（按 {life} 冻结，含启动和结束）。{keeps}。现在启动；就绪后通知您{boot}。{idle}",
	Boot:   "（约 {for}）", IdleIs: "空闲 {for} 即归还。",
	Keeps: "{project} 在 {period} 还剩 {left}，限额 {limit}", Over: "{project} 在 {period} 超出限额 {limit} 达 {over}，已获批准",
	Short:         "{project} 只剩 {left}，超出 {over}",
	ShortOver:     "{project} 已超出 {gone}，加上这次共超出 {over}",
	Waits:         "{id} 需要批准。预计 {expected}（{market}），最多 {most}；{left}。已询问：{who}。截止 {until}（{for}）。其间不冻结任何款项。",
	InChannel:     "询问在 {channel}。",
	Repeated:      "您刚刚提过同样的请求：{id}，{state}。要再租一份：{try}",
	Confirm:       "这将最多冻结 {most}，预计 {expected}：{what} {market}，{for}，{place}，由 {project} 付款。{keeps}。尚未租用；价格有效至 {until}。",
	ConfirmButton: "租用，最多 {most}", RentIt: "租用第一项：{try}",
	TellMe: "请说明要什么、多久、由哪个项目付款。例如：/rent 8xh100 for 6h spot project nlp。或：/rent help",
	Have:   "已知：{words}。{question}可以这样写：{try}", SizeFor: "{what}，由 {project} 付款",
	WhatMachines: "要什么机器，多少？", HowLong: "要多久？", WhichProject: "由哪个项目付款？您可用：{projects}。",
	OnMachines: "{what}（{n} 台机器）", Spot: "竞价", OnDemand: "按需",

	Stands:      "{id} {state}，已 {ran}，共 {of}，{place}（{market}）。目前 {cost}，最多 {most}。",
	StandsUntil: "结束于 {at}。", StandsIdle: "已空闲 {for}。",
	StandsWaiting:  "{id} 等待批准至 {until}：最多 {most}。没有冻结款项。",
	StandsEnded:    "{id} {state}，{at}。费用 {cost}。",
	NothingForJob:  "没有为作业 {job} 租用机器。可以这样写：/rent job {job}",
	Extended:       "{id} 延长 {by}。预计再加 {expected}，最多再加 {more}（另行冻结）。{keeps}。现在结束于 {until}。",
	ExtendWaits:    "{id} 延长 {by} = 预计再加 {expected}，最多再加 {more}；{left}：已作为 {question} 送交批准。已询问：{who}。若无人答复，{id} 仍于 {was} 结束。",
	ExtendAsked:    "{question} 已在为 {id} 申请延长，截止 {until}。要撤回：/rent cancel {question}",
	ExtendedBefore: "您刚刚已将 {id} 延长同样时间：结束于 {until}。要再延长一次：{try}",
	ExtendHow:      "延长多久？可以这样写：/rent extend {id} 2h",
	Extends:        "为 {id} 延长时间：批准之前，原结束时间不变。",
	Cancelled:      "{id} 已撤回。没有租用，也没有冻结款项。", CancelledBefore: "{id} 已于 {at} 关闭。没有变化。",
	NoneSuch: "您没有可用于 {verb} 的租用。可以这样写：/rent ls", WhichRental: "哪一个？例如：{try}",
	Snoozed: "我会在 {at} 提醒您 {id}。", SnoozeFull: "您已有 {n} 个提醒，请等其中一个到时。",
	Kept:     "{id} 保留。长时间空闲或到时后，策略仍会归还。",
	Released: "{id} 已由 {who} 归还。目前费用 {cost}（以账单为准）。", ReleasedBack: "最多 {rest} 退回 {project}。",
	ReleasedBefore: "{id} 已于 {at} 归还，费用 {cost}。没有机器在运行。", ReleasingBefore: "{id} 已在归还中。没有变化。",
	NeverRented: "{id} 从未租用。", ReleasedAt: "{id} 将在 {release}、其作业结束后归还。",
	Draining: "{id} 现在归还：没有作业在运行。目前费用 {cost}（以账单为准）。", DrainingJobs: "{id} 将在作业结束后归还：{jobs}。要立即归还：/release {id} now",
	NothingMine: "没有以您的名义租用的机器。",
	NoQuestions: "没有等待您决定的询问。", DenyHow: "请说明原因：/rent deny {id} because …",

	Spent: "{project}，{from} 至 {to}（{zone}）：已入账 {posted}，冻结 {held}", SpentOf: "，剩余 {left}，限额 {limit}（已用 {percent} %）",
	Forecast:   "预计到 {to} 结束：{likely}（范围 {low} 至 {high}）。",
	NoForecast: "无法预测：数据不足（14 天中有 {seen} 天）。",
	NotFinal:   "尚未最终：已入账款项中 {open} 属于仍在运行的租用。", NoDays: "其间没有产生费用。",
	Room: "{project} 可立即租用 {room}。", NoRoom: "{project} 没有余额：任何租用都需批准。", NoBudget: "{project} 没有预算；没有预算不租用。",
	Above: "超出 {account} 时：{who}。", Holding: "冻结于：{rentals}。", NothingHeld: "没有冻结款项。",
	Prices: "{at} 的价格，从低到高：", NoPrices: "没有这样的机器。", Price: "{what}（{type}）{market}，{place}：每小时 {rate}",
	PerGPU: "，每块 GPU {rate}", SoldOut: "，售罄", OldPrice: "，价格过旧",
	WhoAmI: "您在集群上是 {name}（{roles}）。Slack：{slack}。您的时区：{zone}。", WhoSpends: "您可租用的项目：{projects}。", WhoApproves: "您可审批：{projects}。",
	Frozen: "已冻结：不再租用新机器，归还照常。解除：/rent thaw", FrozenBefore: "之前已冻结。",
	Thawed: "已解冻：在策略和预算内继续支出。", ThawedBefore: "之前没有冻结。",

	TellApproved: "{id} 已由 {who} 批准：最多冻结 {most}，正在租用机器。",
	TellDenied:   "{id} 被 {who} 拒绝。{because}没有冻结款项。", TellBecause: "原因：{text} ",
	TellLapsed:   "{id} 已失效：无人及时答复。再次申请：/rent again {id}",
	TellReady:    "{id} 已就绪：机器已加入。结束于 {until}。",
	TellSettled:  "{id} 已归还，费用 {cost}。冻结款中 {rest} 已退回 {project}。",
	TellExtended: "{who} 已批准延长 {extends}：最多再冻结 {most}。", TellNotExtended: "延长 {extends} 未获批准。{because}原结束时间不变。",

	States: map[bridge.State]string{
		bridge.StateWaiting: "等待批准", bridge.StateLaunching: "启动中", bridge.StateJoining: "启动中", bridge.StateAdmitted: "运行中",
		bridge.StateDraining: "排空中", bridge.StateReleasing: "归还中", bridge.StateSettled: "已归还", bridge.StateClosed: "已关闭",
	},
	Roles: map[string]string{"member": "成员", "approver": "审批人", "admin": "管理员"},
}

package desk

// chineseErrors are the twins of what errors say, by the English format; the
// facts come in the same order, or are numbered.
var chineseErrors = map[string]string{ //nolint:gosec // No credentials: words.
	// What to rent, and for how long.
	"say what, for how long, and for which project":                     "请说明要什么、多久、由哪个项目付款",
	"for how long? A duration is never guessed":                         "要多久？时长从不猜测",
	"%s what? Say %sm for minutes, %sh for hours, or %sxh100 for GPUs":  "%s 是什么单位？请写 %sm（分钟）、%sh（小时），或 %sxh100（GPU 数量）",
	"%s is money: say what it is for":                                   "%s 是金额：请说明用途",
	"the word %q means nothing here":                                    "不认识 %q",
	"the word %q means nothing here; did you mean %s?":                  "不认识 %q；是否指 %s？",
	"%s of which name? A word is missing after %q":                      "%s 的名称是什么？%q 后面缺少一个词",
	"no GPU or machine type is called %q; known: %s":                    "没有名为 %q 的 GPU 或机型；已知：%s",
	"no GPU or machine type is called %q; did you mean %s? Known: %s":   "没有名为 %q 的 GPU 或机型；是否指 %s？已知：%s",
	"no %s is called %q; known: %s":                                     "没有名为 %[2]q 的 %[1]s；已知：%[3]s",
	"no market is called %q; there are spot and on-demand":              "没有名为 %q 的市场；只有 spot 和 on-demand",
	"%s is not a number of things one can rent (1 to %d)":               "%s 不是可租用的数量（1 到 %d）",
	"%s%s is not an amount":                                             "%s%s 不是数量",
	"how many? A number is missing after %q":                            "多少？%q 后面缺少数字",
	"%d is no smaller size than %d":                                     "%d 不小于 %d",
	"a number in the request is out of range: %d":                       "请求中的数字超出范围：%d",
	"a cloud or region is missing after %q":                             "%q 后面缺少云或区域",
	"no cloud, region or zone is called %q; known: %s":                  "没有名为 %q 的云、区域或可用区；已知：%s",
	"no cloud, region or zone is called %q; did you mean %s? Known: %s": "没有名为 %q 的云、区域或可用区；是否指 %s？已知：%s",
	"the %s is given twice: %s and %s":                                  "%s 给了两次：%s 和 %s",
	"the line is longer than %d characters":                             "这一行超过 %d 个字符",

	// Money.
	"how much? An amount is missing after %q":          "多少钱？%q 后面缺少金额",
	"%q is not an amount of money":                     "%q 不是金额",
	"%s may be yuan or yen: say 100cny or 100jpy":      "%s 可能是人民币或日元：请写 100cny 或 100jpy",
	"%s names two currencies":                          "%s 含两种货币",
	"%s of which currency? Say $%s or %scny":           "%s 是哪种货币？请写 $%s 或 %scny",
	"%s does not fit: at most six decimals":            "%s 无法表示：最多六位小数",
	"such a long time has no price: %s":                "这么长的时间没有价格：%s",
	"the hold of %s cannot be added to that of %s: %s": "%s 的冻结款不能加到 %s 上：%s",

	// Times.
	"until when? A time is missing after %q":                       "到什么时候？%q 后面缺少时间",
	"at what time on %s?":                                          "%s 的几点？",
	"%q is no time; say 18:00, fri 18:00, 2026-12-01 09:00 or eod": "%q 不是时间；请写 18:00、fri 18:00、2026-12-01 09:00 或 eod",
	"there is no %s in %s: the clocks are put forward then":        "%s 在 %s 不存在：那时时钟拨快",
	"%s has passed: it is %s now":                                  "%s 已过：现在是 %s",
	"no time zone is called %q":                                    "没有名为 %q 的时区",

	// Who pays.
	"which project pays? You have no job in the queue that would tell":                   "由哪个项目付款？队列中没有您的作业可以推断",
	"which project pays? You spend from %s":                                              "由哪个项目付款？您可用：%s",
	"which project? You spend from none yet":                                             "哪个项目？您还没有可用的项目",
	"which project? You spend from %s":                                                   "哪个项目？您可用：%s",
	"policy knows no project %q":                                                         "策略中没有项目 %q",
	"policy knows no project %q; did you mean %s?":                                       "策略中没有项目 %q；是否指 %s？",
	"%q may be any of %s":                                                                "%q 可能是其中之一：%s",
	"you do not spend from %s: no job of yours uses it, and you are not in the group %s": "您不能使用 %s：您没有作业使用它，也不在组 %s 中",
	"you neither spend from %s nor approve for it":                                       "您既不使用 %s，也不为它审批",
	"for which cluster? There are %s":                                                    "在哪个集群？有：%s",
	"no cluster %q is watched; watched: %s":                                              "没有监视集群 %q；监视中：%s",
	"no cluster has been seen yet":                                                       "还没有看到任何集群",

	// Jobs.
	"which job? Its id is missing":                                "哪个作业？缺少编号",
	"no job %s waits in the queue":                                "队列中没有等待的作业 %s",
	"no job %s waits or runs":                                     "没有等待或运行中的作业 %s",
	"no job %s waits or runs, and nothing was ever rented for it": "没有等待或运行中的作业 %s，也从未为它租用过",
	"job %s is in more than one cluster: %s":                      "作业 %s 在多个集群中：%s",
	"job %s is not yours":                                         "作业 %s 不是您的",
	"nothing is rented for job %s":                                "没有为作业 %s 租用机器",
	"rental %s is for job %s already; it is %s":                   "租用 %s 已用于作业 %s；状态为 %s",
	"nobody looks for checkpoints here":                           "这里不查找检查点",

	// What can be had.
	"no cloud has offered anything yet":                             "还没有云提供任何机器",
	"no machine on offer fits %s":                                   "没有合适的机器：%s",
	"policy does not allow this cloud, region or market: %s":        "策略不允许此云、区域或市场：%s",
	"policy lets machines live %s at most":                          "策略只允许机器最多存活 %s",
	"policy lets machines live %s at most; %s would reach %s":       "策略只允许机器最多存活 %s；%s 将达到 %s",
	"it may cost up to %s, more than the %s you gave":               "最多可能花费 %s，超过您给出的 %s",
	"prices moved: it is now at most %s, you were shown %s":         "价格已变：现在最多 %s，您看到的是 %s",
	"it is at most %s more now, you were shown %s":                  "现在最多再加 %s，您看到的是 %s",
	"nothing was rented: %s":                                        "没有租用：%s",
	"the key %q was used for something else, %s":                    "键 %q 已用于别的请求 %s",
	"you have asked for nothing yet that could be asked for again":  "您还没有可以再次申请的请求",
	"%s was not asked for by you in words that could be said again": "%s 不是您用文字申请的，无法重复",
	"prices are of a GPU or a place, and %q is more than that":      "价格按 GPU 或地点查询，%q 不只是这些",

	// Quotes.
	"%q is no id of a quote":                                                     "%q 不是报价编号",
	"no quote %s is open; quotes are good for %s":                                "没有有效的报价 %s；报价有效 %s",
	"quote %s was given to somebody else":                                        "报价 %s 是给别人的",
	"quote %s was good until %s; ask for the prices of now":                      "报价 %s 有效至 %s；请查询现在的价格",
	"quote %s has %d offers":                                                     "报价 %s 有 %d 项",
	"%q means nothing behind a quote; only the number of an offer may follow it": "报价后面不能有 %q；只能写第几项",

	// Budgets.
	"no budget covers %s":                                                             "没有预算覆盖 %s",
	"no budget is set for account %q or below it":                                     "账户 %q 及其下没有设预算",
	"the budget went to somebody else meanwhile: %s":                                  "预算其间已被占用：%s",
	"the budget of %s is in another currency, and no rate is ever guessed":            "%s 的预算是另一种货币，从不猜测汇率",
	"the budget of %s is hard, no approval may exceed it: %s left, at most %s needed": "%s 的预算是硬性的，不可审批超出：剩余 %s，最多需要 %s",
	"%s has %s left, at most %s is needed, and policy lets nobody be asked":           "%s 剩余 %s，最多需要 %s，而策略不允许询问审批人",
	"the answer does not fit the budget: %s":                                          "答复与预算不符：%s",
	"new spending is frozen; an admin lets it go on with spillway thaw":               "新支出已冻结；管理员可用 spillway thaw 解除",
	"nothing new is rented for now: %s":                                               "暂不租用新机器：%s",

	// Rentals.
	"%s is no id of a rental: %s":                "%s 不是租用编号：%s",
	"%q is no rental; did you mean %s?":          "%q 不是租用编号；是否指 %s？",
	"%q is no rental; its id is like %s":         "%q 不是租用编号；编号形如 %s",
	"there is no rental %s":                      "没有租用 %s",
	"rental %s is not yours":                     "租用 %s 不是您的",
	"rental %s keeps changing; nothing was done": "租用 %s 不断变化；未做任何操作",
	"%s keeps changing; nothing was done":        "%s 不断变化；未做任何操作",
	"a rental that is %s cannot %s":              "状态为 %s 的租用不能 %s",
	"what about %s? A verb is missing":           "%s 要怎样？缺少动词",
	"one rental at a time, and these are %d":     "一次只能一个租用，这里有 %d 个",
	"which question? Its version is missing":     "哪个询问？缺少版本",

	// More time.
	"by how long? A duration is never guessed":                            "延长多久？时长从不猜测",
	"an extension is of time alone, and %q is more than that":             "延长只涉及时间，%q 不只是时间",
	"rental %s belongs to %s; only they or an admin may extend it":        "租用 %s 属于 %s；只有本人或管理员可以延长",
	"%s still waits for a yes; there is nothing to extend yet":            "%s 仍在等待批准；还没有可延长的",
	"%s is %s and cannot be kept":                                         "%s 当前为 %s，无法保留",
	"rental %s belongs to %s; only they or an admin may keep it":          "租用 %s 属于 %s；只有本人或管理员可以保留它",
	"what is kept is kept for a time, and %q is more than that":           "保留只需说明时间，而 %q 还有其他内容",
	"%s is %s and cannot be extended":                                     "%s 状态为 %s，不能延长",
	"%s is only being launched and has no end yet; ask again in a minute": "%s 正在启动，还没有结束时间；请一分钟后再试",
	"%s lives until %s already":                                           "%s 本来就到 %s",

	// Giving back, and taking back.
	"giving machines back has a command of its own":                                 "归还机器有单独的命令",
	"say one of: a rental, --job, --node, or --all for all of yours":                "请说明其一：租用编号、--job、--node，或 --all（您的全部）",
	"say one of: rentals, a job, a node, or all":                                    "请说明其一：租用编号、作业、节点，或 all",
	"which %s? Its name is missing":                                                 "哪个 %s？缺少名称",
	"no rented machine is called %s":                                                "没有名为 %s 的租用机器",
	"%s is one of %s of %s, which are given back together":                          "%s 属于 %[3]s 的 %[2]s，一起归还",
	"rental %s belongs to %s; only they or an admin may give it back":               "租用 %s 属于 %s；只有本人或管理员可以归还",
	"release of %s was not stored: %s":                                              "%s 的归还没有存下：%s",
	"the word %q means nothing in a release; it may be now, drain or at and a time": "归还中不认识 %q；可用 now、drain，或 at 加时间",
	"now and drain contradict each other":                                           "now 与 drain 矛盾",
	"now and at contradict each other":                                              "now 与 at 矛盾",
	"%s ends at %s anyway":                                                          "%s 本来就在 %s 结束",
	"disks go back with their machines; nothing of them can be kept":                "磁盘随机器归还，无法保留",
	"%s does not wait for an answer: it is %s, and holds money":                     "%s 不在等待答复：状态为 %s，并冻结着款项",
	"%s was asked for by %s; only they or an admin may take it back":                "%s 由 %s 申请；只有本人或管理员可以撤回",
	"its machines belong to a contract that ends at %s":                             "其机器属于 %s 到期的合约",
	"%s takes no more words, and %q means nothing here":                             "%s 后面没有别的词，不认识 %q",

	// Bills.
	"the bill of which cloud? Its name is missing":                                              "哪个云的账单？缺少名称",
	"no cloud is called %q; there are %s":                                                       "没有名为 %q 的云；有：%s",
	"a tolerance below zero means nothing":                                                      "容差不能小于零",
	"%q is no month":                                                                            "%q 不是月份",
	"of which month? There are no lines that would tell":                                        "哪个月份？没有可以推断的明细行",
	"more than %d lines of machines are not read":                                               "机器明细超过 %d 行，不予读取",
	"line %d of the bill has no key, or a time that cannot be":                                  "账单第 %d 行没有键，或时间不可能",
	"line %d of the bill is there twice":                                                        "账单第 %d 行重复",
	"the bill cannot be compared: %s":                                                           "无法比对账单：%s",
	"this store keeps no bills":                                                                 "此存储不保存账单",
	"line %d of the bill was imported before, in invoice %s, as %s; now it is %s in invoice %s": "账单第 %d 行曾导入：发票 %s，金额 %s；现在是 %s，发票 %s",

	// The daemon.
	"the daemon is not running, so nothing can be changed":         "守护进程没有运行，无法更改",
	"the daemon is not running, so the queue is not being watched": "守护进程没有运行，没有监视队列",
	"the first look at the queue is not finished yet":              "对队列的第一次查看尚未完成",
	"the store cannot be read: %s":                                 "无法读取存储：%s",
	"that was not stored: %s":                                      "没有存下：%s",
	"only the role %s may %s; you are %s":                          "只有角色 %s 可以%s；您是 %s",
}

// chineseRights are the twins of the rights.
var chineseRights = map[Right]string{
	SeeAll:      "查看所有人的作业、租用和支出",
	ReleaseAny:  "归还他人的租用",
	StopMoney:   "冻结和解冻支出",
	CheckLedger: "核对账目",
	SettleBills: "导入账单",
}

package desk

import "spillway.sh/spillway/bridge"

// wording says one reason to a person: Short in a table, Why as a sentence,
// Change as what would make it different. {name} is a fact of the verdict; a
// part in [brackets] is left out when its fact is not known.
type wording struct{ Short, Why, Change string }

// english has every reason once, in the order of bridge/reason.go; its twin is
// chinese in texts_zh.go.
var english = map[bridge.Reason]wording{
	bridge.ReasonCheapest: {
		"renting",
		"No local node can start it, and a machine that fits may be rented[: {pool}][, at most {cost}].", "Nothing to do: the rental is being made.",
	},
	bridge.ReasonRoute: {
		"takes an idle machine",
		"A rented machine that fits is idle[ ({rental})]; the job is sent there.", "Nothing to do: it starts within seconds.",
	},
	bridge.ReasonUnderway: {
		"machines on their way",
		"Its machines are rented and on their way[ ({rental})][, from {pool}].", "Nothing to do: it starts when all of them have joined.",
	},

	bridge.ReasonOverBudget: {
		"over budget: ask",
		"It costs more than the budget has left[: at most {cost}][, and {limit} has {left}].", "An approver says yes, or the budget's next period begins.",
	},
	bridge.ReasonAskAbove: {
		"policy wants a yes",
		"It is within budget, but costs more than policy lets pass without a person[: at most {cost}].", "An approver says yes.",
	},
	bridge.ReasonAsked: {
		"waiting for a yes",
		"Its rental[ {rental}] waits for a person to approve it[, at most {cost}].", "[An approver runs: spillway approve {rental}]",
	},

	bridge.ReasonWaitPolicy: {
		"waits, as policy says",
		"Policy[ (rule {rule})] lets it wait for local nodes first[, until {until}].", "It is rented for when that wait is over, if no local node is free by then.",
	},
	bridge.ReasonStartsSoon: {
		"starts sooner here",
		"The scheduler expects to start it locally[ at {until}], sooner than a machine could boot.", "Nothing to do, unless that estimate moves.",
	},
	bridge.ReasonSoon: {
		"eligible in a moment",
		"It is eligible again in a moment[ ({until})]; machines for it are kept.", "Nothing to do.",
	},
	bridge.ReasonStale: {
		"queue not seen lately",
		"The scheduler has not answered lately, and nothing is bought on an old view.", "The scheduler answers again; spillway status shows since when it does not.",
	},
	bridge.ReasonFrozen: {
		"frozen",
		"New spending is frozen by a person.", "An admin runs: spillway thaw",
	},
	bridge.ReasonProtected: {
		"protected",
		"Too many launches went wrong lately, so nothing new is rented.", "The cause is fixed (spillway status), or the pause ends by itself.",
	},
	bridge.ReasonPoolsDown: {
		"sold out",
		"Every offer that fits is sold out or refusing just now[; the nearest is {pool}][, tried again at {until}].", "The cloud has machines again, or policy allows more clouds or markets.",
	},
	bridge.ReasonNoPrice: {
		"no fresh price",
		"No offer that fits has a price fresh enough to buy at[; the nearest is {pool}].", "The cloud's price list is read again; spillway status shows its age.",
	},
	bridge.ReasonImplausible: {
		"price not plausible",
		"The price of the nearest offer[, {pool},] cannot be right, so it is not bought at[: {detail}].", "The cloud's prices are right again, or the policy file says under prices what such machines cost here.",
	},
	bridge.ReasonNoExchange: {
		"no exchange rate",
		"The nearest offer[, {pool},] is in another currency than the budgets, and no exchange rate is known[: {detail}].", "An admin adds the rate under exchange in the policy file; it is never taken as 1:1.",
	},
	bridge.ReasonOldExchange: {
		"old exchange rate",
		"The nearest offer[, {pool},] is in another currency than the budgets, and the exchange rate is older than policy allows[: {detail}].", "A newer rate is put under exchange in the policy file, or into its rates file.",
	},
	bridge.ReasonEndsFirst: {
		"contract ends first",
		"Machines that are paid for anyway fit[: {pool}], but it would not end before them[: {detail}].", "It asks for less time, or a contract that lasts longer has room.",
	},
	bridge.ReasonMost: {
		"machine limit",
		"The project has as many rented machines as policy allows[: {detail}].", "One of them is given back, or policy allows more.",
	},
	bridge.ReasonNoBudget: {
		"budget spent",
		"It costs more than a hard budget has left[: at most {cost}][, and {limit} has {left}]; no approval may exceed it.", "The budget's next period begins, held money comes back, or the limit is raised.",
	},
	bridge.ReasonDenied: {
		"denied",
		"A person said no[ to {rental}].", "[It is asked again after {until}; ][ask sooner by hand: spillway rent job {job}]",
	},
	bridge.ReasonLapsed: {
		"not answered",
		"The question was not answered in time.", "[It is asked again after {until}.]",
	},
	bridge.ReasonLocalFree: {
		"a local node is free",
		"A free local node fits; the scheduler starts it there.", "Nothing to do.",
	},
	bridge.ReasonAhead: {
		"behind others",
		"Jobs ahead of it get what can be rented now[: {detail}].", "It is looked at again as soon as one of them is served.",
	},

	bridge.ReasonObserve: {
		"observing only",
		"Spillway only observes here: policy lets nothing be rented yet.", "An admin sets a budget and burst: true in the policy file; spillway check-config checks it.",
	},
	bridge.ReasonOptOut: {
		"opted out",
		"It is opted out[ by rule {rule}][: {detail}].", "The opt-out is removed from the job's comment, or from policy.",
	},
	bridge.ReasonNoRule: {
		"no rule for it",
		"No rule of the policy speaks of it.", "An admin adds a rule; spillway check-config checks it.",
	},
	bridge.ReasonRuleFailed: {
		"rule cannot be judged",
		"The condition of a policy rule[ ({rule})] could not be worked out for it[: {detail}].", "An admin mends the rule; spillway check-config checks it.",
	},
	bridge.ReasonUnfunded: {
		"no budget",
		"No budget covers the account that would pay[: {detail}], and without one nothing is rented.", "An admin sets a budget in the policy file.",
	},
	bridge.ReasonReserved: {
		"P0: reserved only",
		"Its class is P0, which runs on the site's own and reserved machines alone[ (rule {rule})][: {detail}].", "A reserved machine that fits has room, or its class is changed.",
	},
	bridge.ReasonSitePolicy: {
		"a site limit",
		"A limit of the site holds it back[: {detail}]; more machines would not help.", "The limit is raised, or other jobs of the same owner end.",
	},
	bridge.ReasonUserHold: {
		"held by its owner",
		"Its owner holds it back[: {detail}].", "The hold, dependency or begin time ends.",
	},
	bridge.ReasonSiteConfig: {
		"cluster configuration",
		"The cluster's configuration stops it[: {detail}]; more machines would not help.", "The cluster's admin looks at the partition, QOS or node it names.",
	},
	bridge.ReasonDoubtful: {
		"reason unclear",
		"It is not certain that more machines would help[ ({detail})], so nothing is bought.", "The scheduler gives another reason for its waiting.",
	},
	bridge.ReasonUnplaceable: {
		"cannot be placed",
		"It asks for something no rented machine is certain to give[: {detail}].", "The request is changed[ (see: {detail})].",
	},
	bridge.ReasonWorkflow: {
		"workflow manager",
		"A workflow manager owns it and watches its own partition[: {detail}]; such jobs are left alone.", "It is sent with plain sbatch.",
	},
	bridge.ReasonNoOffer: {
		"no offer fits",
		"No machine of any allowed cloud has its shape[: {detail}][; the nearest is {pool}].", "It asks for less, or policy allows a cloud that has such machines.",
	},
	bridge.ReasonTooDear: {
		"above price ceiling",
		"What fits is dearer than policy allows[: {pool}][, at most {cost}].", "Prices fall, or policy raises the ceiling.",
	},
	bridge.ReasonLate: {
		"delivered too late",
		"What fits[, {pool},] would come too late for its deadline[: {detail}].", "A faster cloud has machines, or its deadline or time limit is changed.",
	},
	bridge.ReasonLacks: {
		"provider lacks what is asked for",
		"The provider of what fits lacks what policy asks for[: {detail}].", "The provider's licence or certificate is renewed in the configuration, or policy asks for less.",
	},
	bridge.ReasonNetwork: {
		"network too slow",
		"What fits[, {pool},] is not joined as fast as policy asks for[: {detail}].", "Policy asks for a slower class of network, or allows a cloud with a faster one.",
	},
	bridge.ReasonDeadline: {
		"deadline too near",
		"Its deadline is nearer than a machine could boot and run it.", "Its deadline or time limit is changed.",
	},
	bridge.ReasonNoAccount: {
		"no account pays",
		"Policy maps it to no account that could pay[: {detail}].", "The job names an account (sbatch -A), or policy maps this one.",
	},
	bridge.ReasonNotRestartable: {
		"may not be requeued",
		"Only spot machines are allowed for it, and it may not be requeued when one is taken back.", "It is sent with sbatch --requeue, or policy allows on-demand machines.",
	},
	bridge.ReasonNoCheckpoint: {
		"no checkpoint yet",
		"Only spot machines are allowed for it, and no complete checkpoint of it is known.", "It writes one where policy looks (spillway checkpoints JOB), or policy allows on-demand machines.",
	},
	bridge.ReasonOldCheckpoint: {
		"checkpoints too far apart",
		"Only spot machines are allowed for it, and it would lose too much on one[: {detail}].", "It writes checkpoints more often (spillway checkpoints JOB), or policy allows on-demand machines.",
	},
	bridge.ReasonLocalOnly: {
		"waits for local nodes",
		"It lost too many rented machines[: {detail}], so it waits for local nodes.", "A local node comes free, or policy allows more reclaims.",
	},
	bridge.ReasonLooking: {
		"looking for its checkpoint",
		"Its market depends on its newest checkpoint, which is being looked for.", "The look comes back, in seconds.",
	},
	bridge.ReasonAheadOfPace: {
		"ahead of its deadline",
		"It is ahead of the pace its deadline asks for, so it waits for a spot machine[ until {until}].", "A spot machine can be had, or it falls behind and goes on demand.",
	},

	bridge.ReasonCreated:      {"created", "The cloud made the machines.", ""},
	bridge.ReasonRefused:      {"refused", "The cloud refused[: {detail}].", ""},
	bridge.ReasonUnknown:      {"outcome unknown", "The cloud's answer was lost; it is found out before anything else is done.", ""},
	bridge.ReasonLaunchLate:   {"launch took too long", "The launch passed its time limit.", ""},
	bridge.ReasonJoinLate:     {"did not join in time", "Not all machines joined in time.", ""},
	bridge.ReasonWrongShape:   {"less than was paid for", "A machine registered with less than was declared.", ""},
	bridge.ReasonAdmitted:     {"all joined", "All machines joined and were admitted at once.", ""},
	bridge.ReasonIdle:         {"idle", "The machines had no job for the idle time.", ""},
	bridge.ReasonExpired:      {"time over", "The paid time is over.", ""},
	bridge.ReasonAskedRelease: {"asked for", "A person asked for it.", ""},
	bridge.ReasonDemandGone:   {"job gone", "The job it was for no longer waits.", ""},
	bridge.ReasonUnfit:        {"failed its checks", "A machine failed the checks before its first job and is given back.", ""},
	bridge.ReasonNotice:       {"notice", "The cloud announced that it takes the machine back.", ""},
	bridge.ReasonReclaimed:    {"taken back", "The cloud took the machine back.", ""},
	bridge.ReasonDied:         {"machine died", "The machine ended by itself.", ""},
	bridge.ReasonOrphan:       {"orphan", "The machine belonged to no rental.", ""},
	bridge.ReasonRebuilt:      {"rebuilt", "The store was lost; it was rebuilt from its machines' tags.", ""},
	bridge.ReasonGangBroken:   {"gang broken", "Too few of the gang's machines were left.", ""},
}

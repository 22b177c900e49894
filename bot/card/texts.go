package card

import "spillway.sh/spillway/bridge"

// words are all texts of cards; {slots} are filled with facts. Both languages
// have every one of them.
type words struct {
	Nobody     string
	Machines   string
	OnMachines string
	Back       string
	More       string

	AskTitle      string
	AskOver       string
	AskLonger     string
	AskText       string
	Who           string
	What          string
	Where         string
	For           string
	Pays          string
	Expected      string
	AtMost        string
	Left          string
	LeftOf        string
	OverBy        string
	Jobs          string
	Why           string
	Says          string
	OpenUntil     string
	Urgent        string
	TwoNeeded     string
	OneOfTwo      string
	Rev           string
	WasApproved   string
	WasDenied     string
	WasLapsed     string
	WasWithdrawn  string
	WasGone       string
	WasSuperseded string
	WasOther      string
	Reason        string
	Approve       string
	Deny          string
	Details       string
	Cancel        string
	ApproveTitle  string
	ApproveBody   string
	CancelTitle   string
	CancelBody    string
	Requested     string
	Reminder      string
	Escalated     string

	GrantStarting  string
	GrantRunning   string
	GrantDraining  string
	GrantReleasing string
	GrantReleased  string
	GrantNever     string
	Joined         string
	SoFar          string
	Ends           string
	EndsIn         string
	Idle           string
	State          string
	Total          string
	TotalNow       string
	GoesBack       string
	By             string
	ExtendB        string
	ReleaseB       string
	ReleaseNow     string
	ReleaseAfter   string
	KeepB          string
	ReleaseTitle   string
	ReleaseNowBody string
	ReleaseAsk     string
	JobsRun        string

	Overrun   string
	Warning   string
	Notice    string
	NoticeAt  string
	Reclaimed string
	CalledOff string
	Requeued  string
	Resumed   string
	LostWork  string
	IdleAlert string
	Frozen    string
	Thawed    string
	Protected string
	Orphan    string
	Changed   string
	Agreed    string
	Extended  string

	QueueIf     string
	QueueIfAt   string
	QueueStarts string
	QueueWaits  string
	QueueFree   string
	ForUntil    string

	MachinesTitle string
	Unheard       string
	JobOn         string
	JobOff        string
	Use           string
	UseNot        string
	Checking      string
	Unfit         string
	ChecksOf      string
	CheckNot      string
	StageDone     string
	StageNot      string

	InsteadB string

	QuoteTitle string
	QuoteGood  string
	QuoteLine  string
	QuoteBoot  string
	QuoteNone  string
	AsksFirst  string
	AsksPolicy string
	RentB      string
	RentTitle  string
	RentBody   string
	RentAsk    string

	ColID          string
	ColWhat        string
	ColAge         string
	ColUse         string
	RentalsIdle    string
	ColState       string
	ColEnds        string
	ColCost        string
	ColMost        string
	RentalsNone    string
	RentalsFoot    string
	RentalsNothing string
	HistoryTitle   string

	SpendTitle  string
	SpendLine   string
	SpendOver   string
	SpendHard   string
	SpendNone   string
	ChartTitle  string
	ChartPosted string
	ChartHeld   string
	ChartLeft   string

	HelpTitle string
	HelpMain  string
	HelpMore  string
	HelpAll   string
	HelpMoney string
	HelpWords string

	FormRentTitle   string
	FormSend        string
	FormClose       string
	FieldJob        string
	FieldJobHint    string
	FieldCount      string
	FieldGPU        string
	FieldMachines   string
	FieldFor        string
	FieldForHint    string
	FieldMarket     string
	MarketAny       string
	MarketSpot      string
	MarketOnDemand  string
	FieldProject    string
	FieldMax        string
	FieldMaxHint    string
	FieldReason     string
	Choose          string
	FormDenyTitle   string
	FormDenyB       string
	FormDenyWhat    string
	FieldSuggest    string
	Suggest1        string
	Suggest2        string
	Suggest3        string
	FieldDeny       string
	DenyShort       string
	FormExtendTitle string
	FormExtendB     string
	FormExtendWhat  string
	FieldExtend     string

	HomeTitle     string
	HomeRentals   string
	HomeNone      string
	HomeQuestions string
	HomeBudgets   string
	HomeRent      string
	HomeLine      string
	HomeWaits     string
	HomeQuestion  string
	HomeAt        string

	States   map[bridge.State]string
	Happened map[bridge.NewsKind]string // unfilled: the kind itself
}

var english = words{ //nolint:gosec // Texts, no credentials.
	Nobody:     "nobody is set in the policy",
	Machines:   "{n} × ({each})",
	OnMachines: "{what} on {n} machines",
	Back:       "Back",
	More:       "… ({n} more)",

	AskTitle:      "Approval: {what}, {for}, {project}",
	AskLonger:     "Approval: {rental} lives {for} longer, {project}",
	AskOver:       "{title}, {over} over",
	AskText:       "{rental}: {who} asks for {what}, {for}, at most {most}",
	Who:           "Who asks",
	What:          "What",
	Where:         "Where",
	For:           "For how long",
	Pays:          "Who pays",
	Expected:      "Expected",
	AtMost:        "At most",
	Left:          "Left",
	LeftOf:        "{left} of {limit} in {account}",
	OverBy:        "{over} over {account}",
	Jobs:          "Jobs",
	Why:           "Why it is asked",
	Says:          "They say: ",
	OpenUntil:     "Open until {at} ({left}). Approvers: {who}",
	Urgent:        "About to lapse: {who} are asked too.",
	TwoNeeded:     "Two persons have to say yes.",
	OneOfTwo:      "Yes by {who}, {at}; {n} more needed.",
	Rev:           "{rental}, question {n}",
	WasApproved:   ":white_check_mark: Approved by {who}, {at}.",
	WasDenied:     ":no_entry: Denied by {who}, {at}.",
	WasLapsed:     ":hourglass: Expired {at}: nobody answered in time. Ask again: `/rent again {rental}`",
	WasWithdrawn:  ":leftwards_arrow_with_hook: Cancelled by {who}, {at}.",
	WasGone:       ":leftwards_arrow_with_hook: No longer needed since {at}.",
	WasSuperseded: ":arrows_counterclockwise: Superseded {at} by a new question: at most {hold} now.",
	WasOther:      "It asks nothing any more.",
	Reason:        "Reason: ",
	Approve:       "Approve {most}",
	Deny:          "Deny…",
	Details:       "Details",
	Cancel:        "Cancel the request",
	ApproveTitle:  "Approve {rental}?",
	ApproveBody:   "{who} may spend at most {most} from {project}.",
	CancelTitle:   "Cancel {rental}?",
	CancelBody:    "Nothing was rented or held.",
	Requested:     "{rental} needs approval. Expected {expected}, at most {most}.",
	Reminder:      ":bell: {rental} still waits for a yes or a no, until {at}.",
	Escalated:     ":rotating_light: {rental} lapses {at}. {who}, please decide.",

	GrantStarting:  ":rocket: {rental}: {what} for {project} are starting",
	GrantRunning:   ":large_green_circle: {rental}: {what} for {project} are ready",
	GrantDraining:  ":large_yellow_circle: {rental}: {what} for {project} go back when their jobs end",
	GrantReleasing: ":large_yellow_circle: {rental}: {what} for {project} are going back",
	GrantReleased:  ":white_circle: {rental}: {what} for {project} were released",
	GrantNever:     ":white_circle: {rental} was never rented",
	Joined:         "{n} of {all} machines have joined",
	SoFar:          "So far",
	Ends:           "Ends",
	EndsIn:         "{at} ({left})",
	Idle:           "Idle for {for}",
	State:          "State",
	Total:          "Cost",
	TotalNow:       "{cost} (final when billed)",
	GoesBack:       "{money} back to {project}",
	By:             "Asked by",
	ExtendB:        "Extend…",
	ReleaseB:       "Release",
	ReleaseNow:     "Release now",
	ReleaseAfter:   "After the job",
	KeepB:          "Keep",
	ReleaseTitle:   "Release {rental}?",
	ReleaseNowBody: "{what} go back at once. Jobs on them are requeued where they may be.",
	ReleaseAsk:     "Release {rental} ({what}{jobs}, {left} left)?",
	JobsRun:        ", job {jobs} still running",

	Overrun:   ":rotating_light: {rental} cost {over} more than was held. {project} is charged for it.",
	Warning:   ":warning: {rental}",
	Notice:    ":warning: The cloud takes {node} of {rental} back{at}. Its jobs are asked to write their checkpoints.",
	NoticeAt:  " {at}",
	Reclaimed: ":recycle: The cloud took {node} of {rental} back.",
	CalledOff: ":relieved: The cloud lets {node} of {rental} run on after all.",
	Requeued:  ":arrows_counterclockwise: Job {job} is back in the queue after {node} was taken back.",
	Resumed:   ":arrow_forward: Job {job} runs on from its checkpoint; {cost} of work is done again.",
	LostWork:  ":warning: Job {job} runs again from the beginning; {cost} of work is lost.",
	IdleAlert: ":zzz: {rental} ({what}) has had no job for {for}, and costs {rate} an hour.",
	Frozen:    ":snowflake: {who} froze new spending. What runs goes on.",
	Thawed:    ":sunny: {who} let spending go on.",
	Protected: ":rotating_light: Nothing new is rented for now.",
	Orphan:    ":warning: A machine that no rental knows was found: {machine}",
	Changed:   ":arrows_counterclockwise: The price of {rental} has changed: it is now at most {cost}, and asked anew.",
	Agreed:    ":ballot_box_with_check: {who} said yes to {rental}; another person has to say yes, too.",
	Extended:  ":heavy_plus_sign: {rental} was extended by {who}; {cost} more is held.",

	QueueIf:     "Queue wait if denied",
	QueueIfAt:   "until {start} ({for}), the scheduler's own estimate",
	QueueStarts: "Local queue: job {job} starts {start} (in {for}), by the scheduler's own estimate.",
	QueueWaits:  "Local queue of {cluster}: {n} waiting for machines, the oldest for {for} (seen {at}). Nothing estimates a start for this size.",
	QueueFree:   "Local queue of {cluster}: no job waits for machines (seen {at}). Nothing estimates a start for this size.",
	ForUntil:    "{for}, until {at} at the latest",

	MachinesTitle: "What its machines say",
	Unheard:       "not heard of yet; GPU use not known",
	JobOn:         "a job runs",
	JobOff:        "no job",
	Use:           "GPU use {n} %",
	UseNot:        "GPU use not known",
	Checking:      "being checked",
	Unfit:         ":no_entry: not fit for jobs",
	ChecksOf:      "{n} of {all} checks passed",
	CheckNot:      "{name}: {got}",
	StageDone:     "{name} done in {for}",
	StageNot:      "{name} not yet ({for})",

	InsteadB: "Rent {what} instead ({most})",

	QuoteTitle: "Quote {id}, nothing rented: {what}",
	QuoteGood:  "Good for {for}. {account} has {left} left of {limit}.",
	QuoteLine:  "*{place}* · {what}\n{rate} an hour each: expected {expected}, at most {most}{boot}",
	QuoteBoot:  ", ready in about {for}",
	QuoteNone:  "No machine on offer fits.",
	AsksFirst:  "needs approval: {over} over",
	AsksPolicy: "needs approval",
	RentB:      "Rent",
	RentTitle:  "Rent this?",
	RentBody:   "{what} at {place}: at most {most} is held.",
	RentAsk:    "{what} at {place}: approvers are asked for at most {most}.",

	ColID:          "id",
	ColWhat:        "what",
	ColAge:         "age",
	ColUse:         "GPU use",
	RentalsIdle:    "Idle: {rental} for {for}.",
	ColState:       "state",
	ColEnds:        "ends",
	ColCost:        "so far",
	ColMost:        "at most",
	RentalsNone:    "Nothing is rented.",
	RentalsFoot:    "{running} running, {waiting} waiting; at most {held} held.",
	RentalsNothing: "{running} running, {waiting} waiting; nothing held.",
	HistoryTitle:   "What happened",

	SpendTitle:  "Spend",
	SpendLine:   "*{account}*, {period}{hard}\nposted {posted}, held {held}, left {left} of {limit} ({percent} % used)",
	SpendOver:   "*{account}*, {period}{hard}\nposted {posted}, held {held}: {over} over {limit}, as approved",
	SpendHard:   " (hard)",
	SpendNone:   "No budget of yours is set.",
	ChartTitle:  "Posted, held, left ({currency})",
	ChartPosted: "posted",
	ChartHeld:   "held",
	ChartLeft:   "left",

	HelpTitle: "Spillway rents machines in the cloud, inside a budget",
	HelpMain:  "`/rent 8xh100 for 6h spot project nlp` asks for machines; words come in any order\n`/rent quote 8xh100 for 6h` shows what it would cost; nothing is rented\n`/rent status {rental}` shows what is rented; `/rent extend {rental} 2h` keeps it longer\n`/rent spend month nlp` shows the money; `/rent report week nlp` day by day\n`/release {rental}` gives it back",
	HelpMore:  "`/rent help money` explains expected, at most, held and left. More: `/rent help words`, `/rent help all`",
	HelpAll:   "`/rent ls`, `/rent status {rental}`: what is rented\n`/rent job 4711`: machines for a waiting job\n`/rent again {rental}`: the same once more\n`/rent cancel {rental}`: take a question back\n`/rent snooze {rental} 30m`: be reminded\n`/rent approve {rental}`, `/rent deny {rental} because …`: answer a question\n`/rent budget nlp`, `/rent prices h100`: what there is to spend, and on what\n`/rent whoami`: who you are taken for\n`/rent freeze because …`, `/rent thaw`: stop new spending (admins)\n`/release {rental}`, `all`, `job 4711`, `node NAME`; then `now`, `drain` or `at 18:00`",
	HelpMoney: "*expected* is the likely cost at today's price\n*at most* is the worst case; this much is held as long as the machines run\n*posted* is what was metered so far\n*held* is set aside for what runs now\n*left* is the limit less posted less held\nAbove the budget an approver is asked; the requester never decides.",
	HelpWords: "What: `8xh100`, `h100:8`, `2 machines`, `job 4711`\nHow long: `for 6h`, `for 90m`, `until 18:00`. A duration is never guessed\nMarket: `spot`, `on-demand`\nMoney: `max $120`\nWho pays: `project nlp`\nWhere: `in us-east-1`\nWhy: `because \"paper deadline\"`",

	FormRentTitle:   "Rent machines",
	FormSend:        "Send",
	FormClose:       "Close",
	FieldJob:        "For a job of yours in the queue",
	FieldJobHint:    "Its size and time are taken, unless you give others.",
	FieldCount:      "How many GPUs",
	FieldGPU:        "Which GPU",
	FieldMachines:   "Or how many machines",
	FieldFor:        "For how long",
	FieldForHint:    "6h, 90m, 2d, or a time of day such as 18:00",
	FieldMarket:     "Market",
	MarketAny:       "what policy prefers",
	MarketSpot:      "spot: cheaper, may be taken back",
	MarketOnDemand:  "on demand",
	FieldProject:    "Who pays",
	FieldMax:        "At most",
	FieldMaxHint:    "$120; it stops itself there",
	FieldReason:     "Why",
	Choose:          "Choose",
	FormDenyTitle:   "Deny {rental}",
	FormDenyB:       "Deny",
	FormDenyWhat:    "{who} asks for {what}, {for}, at most {most}.",
	FieldSuggest:    "A usual reason",
	Suggest1:        "Wait for the queue: it is short now.",
	Suggest2:        "Use fewer GPUs or a shorter time.",
	Suggest3:        "This is the wrong project to pay for it.",
	FieldDeny:       "Why; the requester reads it",
	DenyShort:       "Say why in 10 to 500 characters, or choose a usual reason.",
	FormExtendTitle: "Extend {rental}",
	FormExtendB:     "Extend",
	FormExtendWhat:  "It ends {at}. More time is a new hold: {rate} for each hour at most.",
	FieldExtend:     "How much longer",

	HomeTitle:     "Spillway",
	HomeRentals:   "My rentals",
	HomeNone:      "Nothing of yours is rented.",
	HomeQuestions: "Waiting for your decision",
	HomeBudgets:   "Budgets",
	HomeRent:      "Rent machines…",
	HomeLine:      "*{rental}* · {what} · {state}\n{where}; so far {cost}, at most {most}; ends {ends}",
	HomeWaits:     "*{rental}* · {what} · {state}\n{where}; at most {most}; open until {at}",
	HomeQuestion:  "*{rental}* · {who} · {what}, {for}\n{place} for {project}: at most {most}; open until {at}",
	HomeAt:        "As of {at}",

	Happened: map[bridge.NewsKind]string{
		"notice-called-off": "notice called off", "foreign-job": "a job of others", "lost-work": "work lost", "timed": "end set",
	},
	States: map[bridge.State]string{"waiting": "waits for a yes", "launching": "starting", "joining": "starting", "admitted": "running", "draining": "draining", "releasing": "going back", "settled": "released", "closed": "never rented"},
}

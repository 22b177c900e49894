package reporttest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/report"
)

// Zone is that of the site.
const Zone = "Asia/Shanghai"

// Week is what a report of 2026-W48 is made of: four weeks of use of 8 owned
// and 8 reserved H100 and of rented ones, with every kind of thing in the last
// that a report speaks of.
func Week() report.Input {
	zone, err := time.LoadLocation(Zone)
	if err != nil {
		panic(err) // the zones are part of the binary
	}
	w := &week{zone: zone, monday: time.Date(2026, 11, 23, 0, 0, 0, 0, zone).UTC()}
	w.in = report.Input{
		Week: report.WeekOf(w.monday, zone), Made: w.at(7*24 + 9), Currency: "USD", Offers: w.offers(),
		Capacity: []bridge.Capacity{
			{Name: "machine-hall", Kind: bridge.Owned, GPU: "h100", GPUs: 8, Rate: usdRate(1.3)},
			{Name: "north-2026", Kind: bridge.Contract, GPU: "h100", GPUs: 8, Rate: usdRate(1.45), Cloud: "north", Type: "h100x8", Machines: 1},
		},
		Forecast: &report.Forecast{
			Month: "2026-11", Low: usd(9_100), Likely: usd(9_345.67), High: usd(9_800), Days: 28,
		},
	}
	undelivered := 2
	w.in.Undelivered = &undelivered
	w.rentals()
	w.usage()
	w.questions()
	w.books()
	return w.in
}

// Report is that week's.
func Report() report.Report {
	in := Week()
	return report.Make(&in)
}

type week struct {
	in     report.Input
	zone   *time.Location
	monday time.Time
}

// at is an hour of the week.
func (w *week) at(hour float64) time.Time {
	return w.monday.Add(time.Duration(hour * float64(time.Hour)))
}

func usd(units float64) bridge.Money {
	return bridge.Money{Micro: int64(math.Round(units * bridge.Micro)), Currency: "USD"}
}

func usdRate(units float64) bridge.Rate { return bridge.Rate(usd(units)) }

func pool(kind string, m bridge.Market) bridge.Pool {
	return bridge.Pool{Cloud: "north", Region: "north-1", Zone: "north-1a", Type: kind, Market: m}
}

func (w *week) offers() []bridge.Offer {
	return []bridge.Offer{
		{Pool: pool("h100x8", bridge.OnDemand), Shape: bridge.Shape{GPUType: "h100", GPUs: 8}, Rate: usdRate(25.6), SampledAt: w.at(7*24 + 8.9), MaxAge: time.Hour},
		{Pool: pool("h100x8", bridge.Spot), Shape: bridge.Shape{GPUType: "h100", GPUs: 8}, Rate: usdRate(11.2), SampledAt: w.at(7*24 + 8.5), MaxAge: 15 * time.Minute},
		{Pool: pool("a100x8", bridge.OnDemand), Shape: bridge.Shape{GPUType: "a100", GPUs: 8}, Rate: usdRate(14.4), SampledAt: w.at(7*24 + 8.9), MaxAge: time.Hour},
	}
}

// usage is a working week's demand, a little more of it each week. In the week
// itself rented GPUs are those of its rentals.
func (w *week) usage() {
	for h := -21 * 24; h < 7*24; h++ {
		day, hour := ((h%168)+168)%168/24, ((h%24)+24)%24
		want := 18 + 2*((h+21*24)/168)
		if day < 5 && hour >= 9 && hour < 22 {
			want += 8 + hour%5
		}
		owned := min(want, 16) // the reserved machine is a node as well
		u := bridge.Usage{Hour: w.at(float64(h)), Cluster: "hall", GPU: "h100", Seconds: 3600, Owned: 16 * 3600, OwnedBusy: int64(owned) * 3600}
		if h < 0 {
			u.Rented, u.RentedBusy = int64(want-owned+4)*3600, int64(want-owned)*3600
		} else {
			w.rented(&u)
		}
		u.Waiting, u.Measured, u.Useful = u.RentedBusy/2, u.RentedBusy*5/6, u.RentedBusy*7/12
		w.in.Usage = append(w.in.Usage, u)
	}
}

// rented fills in what the week's rentals of H100 did in an hour.
func (w *week) rented(u *bridge.Usage) {
	end := u.Hour.Add(time.Hour)
	within := func(from, to time.Time) int64 {
		return int64(max(earlier(to, end).Sub(later(from, u.Hour)), 0) / time.Second)
	}
	began := map[bridge.JobID]time.Time{}
	for i := range w.in.News {
		n := &w.in.News[i]
		switch k := slices.IndexFunc(w.in.Rentals, func(r bridge.Rental) bool { return r.ID == n.Rental }); {
		case k < 0 || w.in.Rentals[k].Shape.GPUType != "h100":
		case n.Kind == bridge.NewsStarted:
			began[n.Job] = n.At
		case n.Kind == bridge.NewsFinished:
			u.RentedBusy += within(began[n.Job], n.At) * int64(8*len(w.in.Rentals[k].Machines))
		}
	}
	for i := range w.in.Rentals {
		for _, m := range w.in.Rentals[i].Machines {
			if !m.Joined.IsZero() && w.in.Rentals[i].Shape.GPUType == "h100" {
				stop := m.Stopped
				if stop.IsZero() {
					stop = end
				}
				u.Rented += within(m.Joined, stop) * 8
			}
		}
	}
}

// rental is a rental of n machines with one life, in hours of the week.
func (w *week) rental(num int, account, who string, p bridge.Pool, rate float64, n int, from, until float64) *bridge.Rental {
	gpus, gpu := 8, p.Type[:4]
	r := bridge.Rental{
		ID: bridge.RentalID(fmt.Sprintf("r-%04d", num)), State: bridge.StateSettled, Since: w.at(until + 0.1), Cluster: "hall",
		Account: bridge.Account(account), Requester: who, Class: bridge.P2, Gang: n, Count: n, Pool: p, Shape: bridge.Shape{CPUs: 96, GPUs: gpus, GPUType: gpu},
		Rate: usdRate(rate), MaxRate: usdRate(rate * 1.2), Life: 24 * time.Hour, Created: w.at(from - 0.05), Why: bridge.ReasonIdle,
	}
	for i := range n {
		m := bridge.Machine{
			Ordinal: i, State: bridge.MachineGone, ID: fmt.Sprintf("i-%04d-%d", num, i), Node: fmt.Sprintf("sw-%04d-%d", num, i), Rate: r.Rate,
			Started: w.at(from), Joined: w.at(from + 0.1), Stopped: w.at(until),
		}
		r.Machines = append(r.Machines, m)
	}
	hours := (until - from) * float64(n)
	r.Cost, r.Hold = usd(rate*hours), usd(rate*hours*1.7)
	w.in.Rentals = append(w.in.Rentals, r)
	w.tell(bridge.News{At: w.at(until - 0.1), Kind: bridge.NewsReleasing, Rental: r.ID})
	return &w.in.Rentals[len(w.in.Rentals)-1]
}

func (w *week) tell(n bridge.News) {
	n.Cluster = "hall"
	list := &w.in.News
	if n.At.Before(w.monday) {
		list = &w.in.Earlier
	}
	*list = append(*list, n)
}

// job runs on a rental; its own cluster would have started it home hours after
// it was submitted, and says nothing of it where that is negative.
func (w *week) job(r *bridge.Rental, id string, submitted, started, finished, home float64) {
	r.Jobs = append(r.Jobs, bridge.JobID(id))
	n := bridge.News{At: w.at(started), Kind: bridge.NewsStarted, Rental: r.ID, Job: bridge.JobID(id), Submitted: w.at(submitted), GPUs: r.Shape.GPUs * len(r.Machines)}
	if home >= 0 {
		n.Estimate = w.at(submitted + home)
	}
	w.tell(n)
	w.tell(bridge.News{At: w.at(finished), Kind: bridge.NewsFinished, Rental: r.ID, Job: bridge.JobID(id)})
}

func (w *week) rentals() {
	spot, demand := pool("h100x8", bridge.Spot), pool("h100x8", bridge.OnDemand)
	for d := range 5 {
		h := float64(24 * d)
		r := w.rental(101+d, "site/ai/nlp/ana", "ana", spot, 11.2, 1, h+9.5, h+18)
		w.job(r, fmt.Sprint(4101+d), h+9.2, h+9.65, h+17.5, 6.5+float64(d))
	}
	r := w.rental(110, "site/ai/vision/bo", "bo", demand, 25.6, 1, 33, 41)
	w.job(r, "4200", 32.7, 33.2, 37, 3)
	w.job(r, "4201", 32.8, 38.2, 40.5, 1) // an hour of nothing before it, and sooner at home
	r = w.rental(111, "site/ai/vision/bo", "bo", demand, 25.6, 2, 57, 65)
	w.job(r, "4202", 56.7, 57.2, 64.7, -1)
	w.rental(112, "site/ai/vision/cy", "cy", demand, 25.6, 1, 80, 82.5) // by hand, and never a job
	r = w.rental(113, "site/ai/nlp/dee", "dee", pool("a100x8", bridge.OnDemand), 14.4, 1, 100, 106)
	w.job(r, "4300", 99.5, 100.2, 102, 20)
	r.Why = bridge.ReasonExpired
	r = w.rental(114, "site/ai/nlp/ana", "ana", spot, 11.2, 1, 122, 122.5) // never joined
	r.Machines[0].Joined, r.Why = time.Time{}, bridge.ReasonJoinLate
	r = w.rental(115, "site/ai/vision/bo", "bo", demand, 25.6, 1, 160, 177) // runs still
	w.job(r, "4400", 159.7, 160.3, 165, 12)
	r.State, r.IdleSince, r.Why = bridge.StateAdmitted, w.at(165), bridge.ReasonAdmitted
	r.Machines[0].State, r.Machines[0].Stopped = bridge.MachineJoined, time.Time{}
	w.in.News = w.in.News[:len(w.in.News)-3]
	w.job(r, "4400", 159.7, 160.3, 165, 12)
	p := spot
	w.tell(bridge.News{At: w.at(40), Kind: bridge.NewsReclaimed, Rental: "r-0102", Pool: &p})
	w.tell(bridge.News{At: w.at(41), Kind: bridge.NewsResumed, Rental: "r-0102", Job: "4102", Pool: &p, Took: 12 * time.Minute, Cost: usd(2.24)})
	w.tell(bridge.News{At: w.at(65), Kind: bridge.NewsReclaimed, Rental: "r-0103", Pool: &p})
	w.tell(bridge.News{At: w.at(66), Kind: bridge.NewsLost, Rental: "r-0103", Job: "4103", Pool: &p, Took: 2 * time.Hour, Cost: usd(22.4)})
	w.tell(bridge.News{At: w.at(90), Kind: bridge.NewsOrphan, Rental: "r-0099", Machine: "i-0099-0", Why: bridge.ReasonOrphan})
}

func (w *week) questions() {
	ask := func(id string, at, answer float64, kind bridge.NewsKind, why bridge.Reason, cost float64) {
		w.tell(bridge.News{At: w.at(at), Kind: bridge.NewsAsked, Rental: bridge.RentalID(id), Why: why, Cost: usd(cost)})
		if kind != "" {
			w.tell(bridge.News{At: w.at(answer), Kind: kind, Rental: bridge.RentalID(id), Cost: usd(cost)})
		}
	}
	ask("r-0110", 32, 32.5, bridge.NewsApproved, bridge.ReasonOverBudget, 348.16)
	ask("r-0111", 56, 56.1, bridge.NewsApproved, bridge.ReasonAskAbove, 696.32)
	ask("r-0116", 70, 71, bridge.NewsDenied, bridge.ReasonOverBudget, 2000)
	ask("r-0117", 71, 95, bridge.NewsLapsed, bridge.ReasonOverBudget, 100)
	ask("r-0118", 160, 0, "", bridge.ReasonAskAbove, 640)
	ask("r-0098", -5, 2, bridge.NewsApproved, bridge.ReasonAskAbove, 90)
	w.in.Billed = []bridge.Rental{w.in.Rentals[0], w.in.Rentals[1]}
	w.in.Billed[0].Cost = usd(95.2 + 1.5)
	w.in.Corrections = []bridge.Correction{
		{Key: "b/1", Rental: "r-0101", Kind: bridge.ByBill, Amount: usd(1.5)}, {Key: "b/2", Rental: "r-0102", Kind: bridge.ByBill, Amount: usd(0)},
	}
}

// books are what the rentals cost, by day and by week, as posted.
func (w *week) books() {
	days := w.in.Week.Days()
	this := report.Posted{Name: w.in.Week.Name, From: w.in.Week.From, To: w.in.Week.To}
	for d := range days[:7] {
		p := report.Posted{Name: days[d].In(w.zone).Format(time.DateOnly), From: days[d], To: days[d+1]}
		for i := range w.in.Rentals {
			r := &w.in.Rentals[i]
			micro := int64(0)
			for k := range r.Machines {
				m := &r.Machines[k]
				stop := m.Stopped
				if stop.IsZero() {
					stop = w.in.Made
				}
				from, to := later(m.Started, days[d]), earlier(stop, days[d+1])
				if to.After(from) {
					micro += int64(float64(r.Rate.Micro) * to.Sub(from).Hours())
				}
			}
			if micro > 0 {
				p.Sums = append(p.Sums, bridge.PostedSum{Scope: r.Scope(), Amount: bridge.Money{Micro: micro, Currency: "USD"}})
			}
		}
		this.Sums = append(this.Sums, p.Sums...)
		w.in.Days = append(w.in.Days, p)
	}
	for n := 4; n >= 1; n-- {
		old := w.in.Week.Before(n)
		w.in.Weeks = append(w.in.Weeks, report.Posted{Name: old.Name, From: old.From, To: old.To, Sums: []bridge.PostedSum{
			{Scope: bridge.Scope{Account: "site/ai/nlp/ana", Cloud: "north", GPU: "h100"}, Amount: usd(700 - 40*float64(n))},
			{Scope: bridge.Scope{Account: "site/ai/vision/bo", Cloud: "north", GPU: "h100"}, Amount: usd(310.333333)},
		}})
	}
	w.in.Weeks = append(w.in.Weeks, this)
	for d := 1; d <= 29; d++ { // what is before the week came evenly
		at := time.Date(2026, 11, d, 0, 0, 0, 0, w.zone)
		p := report.Posted{Name: at.Format(time.DateOnly), From: at.UTC(), To: at.AddDate(0, 0, 1).UTC()}
		if i := d - 23; i >= 0 {
			p.Sums = w.in.Days[i].Sums
		} else {
			p.Sums = []bridge.PostedSum{{Scope: bridge.Scope{Account: "site/ai/nlp/ana", Cloud: "north", GPU: "h100"}, Amount: usd(140.1)}}
		}
		w.in.Month = append(w.in.Month, p)
	}
	w.in.Balances = []bridge.Balance{
		{Account: "site", Period: "2026-11", Limit: usd(20_000), Posted: usd(4_900.123456), Held: usd(610), Hard: true},
		{Account: "site/ai/nlp", Period: "2026-W49", Limit: usd(900), Posted: usd(0), Held: usd(120.004)},
		{Account: "site", GPU: "h100", Period: "2026-11", Limit: usd(15_000), Posted: usd(4_100), Held: usd(610)},
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

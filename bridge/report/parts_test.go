package report

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

var monday = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

func dollars(units float64) bridge.Money {
	return bridge.Money{Micro: int64(units * bridge.Micro), Currency: "USD"}
}

// plainWeek is a week of one rental of 8 GPUs for 10 USD an hour, from 10:00 to
// 20:00 on Monday, admitted after an hour and given back an hour before its end.
func plainWeek() *Input {
	at := func(h float64) time.Time { return monday.Add(time.Duration(h * float64(time.Hour))) }
	r := bridge.Rental{
		ID: "r-0013", State: bridge.StateSettled, Since: at(20), Cluster: "main", Account: "site/ai/nlp/ana", Requester: "ana", Jobs: []bridge.JobID{"7"},
		Pool: bridge.Pool{Cloud: "north", Type: "h100x8", Market: bridge.OnDemand}, Shape: bridge.Shape{GPUs: 8, GPUType: "h100"},
		Rate: bridge.Rate(dollars(10)), Cost: dollars(100), Hold: dollars(150),
		Machines: []bridge.Machine{{ID: "i-1", State: bridge.MachineGone, Started: at(10), Joined: at(11), Stopped: at(20)}},
	}
	in := &Input{
		Week: WeekOf(monday, time.UTC), Made: at(200), Currency: "USD", Rentals: []bridge.Rental{r},
		News: []bridge.News{
			{At: at(12), Kind: bridge.NewsStarted, Cluster: "main", Rental: r.ID, Job: "7", Submitted: at(9.5), Estimate: at(15), GPUs: 8},
			{At: at(16), Kind: bridge.NewsFinished, Cluster: "main", Rental: r.ID, Job: "7"},
			{At: at(19), Kind: bridge.NewsReleasing, Cluster: "main", Rental: r.ID},
		},
	}
	for d, edge := range in.Week.Days()[:7] {
		p := Posted{Name: edge.Format(time.DateOnly), From: edge, To: edge.Add(24 * time.Hour)}
		if d == 0 {
			p.Sums = []bridge.PostedSum{{Scope: r.Scope(), Amount: dollars(100)}}
		}
		in.Days = append(in.Days, p)
	}
	return in
}

func TestPaidTimeIsTakenApart(t *testing.T) {
	r := Make(plainWeek())
	want := []Unused{
		{Starting, 80, dollars(10), new(int)}, {Idling, 320, dollars(40), new(int)}, {Stopping, 80, dollars(10), new(int)}, {Failed, 0, dollars(0), new(int)},
	}
	for i, w := range want {
		if got := r.Use.Unused[i]; got.Kind != w.Kind || got.GPU != w.GPU || got.Cost != w.Cost {
			t.Errorf("%s: %s GPU-hours, %s; want %s, %s", got.Kind, got.GPU, got.Cost, w.GPU, w.Cost)
		}
	}
	if r.Use.Total.Paid != 800 || *r.Use.Total.Busy != 320 || *r.Use.Total.UtilisationPM != 400 || r.Use.Total.Source != Allocated || *r.Use.Total.PerUseful != dollars(3.13) {
		t.Errorf("use %+v, utilisation %d, %s for a useful hour", r.Use.Total, *r.Use.Total.UtilisationPM, r.Use.Total.PerUseful)
	}
	if *r.Use.UnusedPM != 600 || r.Waste.Lines[0].Kind != WasteIdle || r.Waste.Lines[0].Cost != dollars(50) {
		t.Errorf("%d thousandths unused; waste %+v", *r.Use.UnusedPM, r.Waste.Lines)
	}
}

func TestMeasuredUtilisationIsTaken(t *testing.T) {
	in := plainWeek()
	for h := 11; h < 20; h++ {
		u := bridge.Usage{Hour: monday.Add(time.Duration(h) * time.Hour), GPU: "h100", Seconds: 3600, Rented: 8 * 3600}
		if h >= 12 && h < 16 {
			u.RentedBusy, u.Measured, u.Useful = 8*3600, 4*3600, 3*3600
		}
		in.Usage = append(in.Usage, u)
	}
	c := Make(in).Use.Classes[0]
	if c.Source != Measured || c.MeasuredPM != 500 || *c.UtilisationPM != 300 || *c.PerUseful != dollars(4.17) { // 100 USD of 24 hours
		t.Errorf("%s, %d measured, %d used, %s", c.Source, c.MeasuredPM, *c.UtilisationPM, c.PerUseful)
	}
}

// The record of use has machines of contracts in it, so it does not say what
// those that cost more did.
func TestMachinesOfContractsAreNotElastic(t *testing.T) {
	in := plainWeek()
	kept := in.Rentals[0]
	kept.ID, kept.Pool.Market, kept.Cost, kept.Hold = "r-0014", bridge.Reserved, dollars(0), dollars(0)
	in.Rentals = append(in.Rentals, kept)
	for h := 11; h < 20; h++ {
		in.Usage = append(in.Usage, bridge.Usage{Hour: monday.Add(time.Duration(h) * time.Hour), GPU: "h100", Seconds: 3600, Rented: 16 * 3600, RentedBusy: 16 * 3600})
	}
	u := Make(in).Use
	if u.Total.Paid != 800 || *u.Total.Busy != 320 || u.UnusedCost != dollars(60) {
		t.Errorf("%s paid, %s busy, %s unused", u.Total.Paid, u.Total.Busy, u.UnusedCost)
	}
}

func TestAnotherCurrencyIsLeftOutAndSaid(t *testing.T) {
	in := plainWeek()
	other := in.Rentals[0]
	other.ID, other.Cost.Currency, other.Hold.Currency = "r-0014", "CNY", "CNY"
	in.Rentals = append(in.Rentals, other)
	in.Days[0].Sums = append(in.Days[0].Sums, bridge.PostedSum{Scope: other.Scope(), Amount: other.Cost})
	r := Make(in)
	said := 0
	for _, n := range r.Notes {
		if n.Code == NoteOtherCurrency && n.Facts["currency"] == "CNY" {
			said++
		}
	}
	if r.Spend.Elastic != dollars(100) || r.Use.Total.Paid != 800 || said != 2 {
		t.Errorf("%s, %s paid, said %d times", r.Spend.Elastic, r.Use.Total.Paid, said)
	}
}

func TestAMonthThatIsOverHasNoForecast(t *testing.T) {
	for made, want := range map[time.Time]NoteCode{monday.Add(200 * time.Hour): NoteMonthOver, monday.Add(170 * time.Hour): NoteNoForecast} {
		in := plainWeek()
		in.Made = made // the first is in December
		r := Make(in)
		if !slices.ContainsFunc(r.Notes, func(n Note) bool { return n.Code == want }) {
			t.Errorf("made %s: %v", made, r.Notes)
		}
	}
}

func TestWaitIsAgainstTheClustersOwnWord(t *testing.T) {
	in := plainWeek()
	at := func(h int) time.Time { return monday.Add(time.Duration(h) * time.Hour) }
	start := func(job bridge.JobID, submitted, began, home int) {
		in.News = append(in.News, bridge.News{At: at(began), Kind: bridge.NewsStarted, Cluster: "main", Rental: "r-0013", Job: job, Submitted: at(submitted), Estimate: at(home), GPUs: 4})
	}
	start("8", 10, 12, 20)
	start("9", 10, 13, 12) // sooner at home
	start("10", 10, 14, 34)
	start("11", 10, 12, 16)
	in.News = append(in.News,
		bridge.News{At: at(17), Kind: bridge.NewsStarted, Cluster: "main", Rental: "r-0013", Job: "8", Submitted: at(10), Estimate: at(99)},  // again
		bridge.News{At: at(17), Kind: bridge.NewsStarted, Cluster: "main", Rental: "r-0013", Job: "12", Submitted: at(16)},                   // no estimate
		bridge.News{At: at(17), Kind: bridge.NewsStarted, Cluster: "main", Rental: "r-9999", Job: "13", Submitted: at(16), Estimate: at(30)}, // of nobody here
	)
	w := Make(in).Wait
	// Saved 3, 8, -1, 20 and 4 hours; 100 USD of them is 2.95 for each.
	if w.Jobs != 6 || w.Known != 5 || *w.Saved != 340 || *w.SavedGPU != 1480 || w.Later != 1 || *w.PerHour != dollars(2.95) {
		t.Errorf("%d jobs, %d known, saved %s and %s, %d later, %s an hour", w.Jobs, w.Known, w.Saved, w.SavedGPU, w.Later, w.PerHour)
	}
	if *w.Median != 9000 || *w.P90 != 4*3600 || *w.LocalMedian != 6*3600 || *w.LocalP90 != 24*3600 {
		t.Errorf("wait %d and %d s, at home %d and %d s", *w.Median, *w.P90, *w.LocalMedian, *w.LocalP90)
	}
}

// Whatever is missing, a report is made in every form; what cannot be said is
// absent and has a note.
func TestAReportOfNothing(t *testing.T) {
	for name, in := range map[string]*Input{
		"nothing at all":     {Week: WeekOf(monday, time.UTC), Made: monday.Add(200 * time.Hour), Currency: "USD"},
		"the week begins":    {Week: WeekOf(monday, time.UTC), Made: monday, Currency: "USD"},
		"a rental and books": plainWeek(),
	} {
		t.Run(name, func(t *testing.T) {
			r := Make(in)
			if r.Wait.Saved == nil && !slices.ContainsFunc(r.Notes, func(n Note) bool { return n.Part == PartWait }) {
				t.Error("nothing is said of the wait")
			}
			if len(r.Mix.Classes) == 0 && !slices.ContainsFunc(r.Notes, func(n Note) bool { return n.Part == PartMix }) {
				t.Error("nothing is said of the mix")
			}
			for _, g := range []Lang{English, Chinese} {
				var b bytes.Buffer
				if err := r.Markdown(&b, g); err != nil || bytes.Contains(b.Bytes(), []byte("{")) {
					t.Errorf("%v:\n%s", err, b.String())
				}
			}
			var b bytes.Buffer
			if err := r.CSV(&b, ""); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFillMeetsItsTotal(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 5000 {
		of := make([]int64, 1+r.IntN(12))
		for i := range of {
			of[i] = r.Int64N(3_000_000) - 200_000
		}
		total, shown := parts(of)
		sum := int64(0)
		for i := range shown {
			sum += shown[i]
			if d := shown[i] - of[i]; shown[i]%cent != 0 || d <= -cent || d >= cent {
				t.Fatalf("%d of %v is shown as %d", of[i], of, shown[i])
			}
		}
		if sum != total || total%cent != 0 || total < sumOf(of) || total-sumOf(of) >= cent {
			t.Fatalf("%v: %v come to %d, shown %d", of, shown, sum, total)
		}
	}
}

func TestTextsOfPeopleAreNoMarkupAndNoFormulas(t *testing.T) {
	in := plainWeek()
	in.Days[0].Sums[0].Account = "site/ai/=HYPERLINK(1)|x<b>/@ana"
	r := Make(in)
	var md, table bytes.Buffer
	if err := r.Markdown(&md, English); err != nil || bytes.Contains(md.Bytes(), []byte("<b>")) && !bytes.Contains(md.Bytes(), []byte(`\<b\>`)) {
		t.Errorf("%v: %s", err, md.String())
	}
	if err := r.CSV(&table, PartTop); err != nil || !bytes.Contains(table.Bytes(), []byte("'@ana")) {
		t.Errorf("%v: %s", err, table.String())
	}
}

package bridge

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Tags every machine carries from its create call on. They are enough to
// rebuild its rental from a cloud's listing; see Rebuild.
const (
	TagStore     = "spillway-store"   // random id of the store that rented it
	TagCluster   = "spillway-cluster" // the cluster it was rented for
	TagRental    = "spillway-rental"
	TagAttempt   = "spillway-attempt"
	TagAccount   = "spillway-account" // organisation/team/project/user
	TagEpoch     = "spillway-epoch"   // of the leader that wrote the intent
	TagRate      = "spillway-max-rate"
	TagFX        = "spillway-fx"       // Exchange.String of what made the ceiling of the cloud's rate; missing: nothing did
	TagContract  = "spillway-contract" // of a machine on demand that a contract pays for
	TagClass     = "spillway-class"
	TagExpires   = "spillway-expires"   // RFC 3339: the machine is off by then, whatever happens to us
	TagTerms     = "spillway-terms"     // count, gang, rate, life, idle, step, minimum, term, early per mille
	TagDates     = "spillway-dates"     // RFC 3339: made, first end, named end; a dash: none
	TagShape     = "spillway-shape"     // CPUs, MiB, GPUs, MiB of disk, type of GPU with /what jobs call it, other resources as name=count
	TagFeatures  = "spillway-features"  // of its node, separated by spaces
	TagRequester = "spillway-requester" // the Unix account that asked, or whose job it was
	TagJobs      = "spillway-jobs"      // partition of its jobs, and as many of their ids as have room
	TagRequest   = "spillway-request"   // the asker's own name of a request made by hand
)

// tagRoom is what the narrowest cloud takes in one tag.
const tagRoom = 120

// Tags are those of a rental's machines. What people say of it later is not
// among them, and nothing that is too long for a tag.
func Tags(r *Rental, storeID string, epoch int64) map[string]string {
	tags := map[string]string{
		TagStore: storeID, TagCluster: r.Cluster, TagRental: string(r.ID), TagAttempt: strconv.Itoa(r.Attempt),
		TagAccount: string(r.Account), TagEpoch: strconv.FormatInt(epoch, 10), TagClass: string(r.Class),
		TagRate: rateTag(r.MaxRate), TagExpires: r.Expires.Format(time.RFC3339),
		TagTerms: termsTag(r), TagDates: strings.Join([]string{dateTag(r.Created), dateTag(r.Expires), dateTag(r.Until)}, " "),
		TagShape: shapeTag(r), TagJobs: jobsTag(r),
	}
	for _, more := range []struct{ tag, value string }{
		{TagFX, r.FX}, {TagRequester, r.Requester}, {TagFeatures, strings.Join(r.Features, " ")}, {TagRequest, r.Key},
	} {
		if more.value != "" && (more.tag == TagFX || fitsTag(more.value)) {
			tags[more.tag] = more.value
		}
	}
	return tags
}

// fitsTag reports whether every cloud takes a text as it is.
func fitsTag(s string) bool {
	return len(s) <= tagRoom && !strings.ContainsFunc(s, func(c rune) bool { return c > unicode.MaxASCII || c < ' ' })
}

func rateTag(r Rate) string { return strconv.FormatInt(r.Micro, 10) + " " + string(r.Currency) }

func parseRate(s string) (Rate, bool) {
	n, cur, ok := strings.Cut(s, " ")
	micro, err := strconv.ParseInt(n, 10, 64)
	return Rate{Micro: micro, Currency: Currency(cur)}, ok && err == nil && micro >= 0
}

func termsTag(r *Rental) string {
	return strings.Join([]string{
		strconv.Itoa(r.Count), strconv.Itoa(r.Gang), strconv.FormatInt(r.Rate.Micro, 10), r.Life.String(), r.Idle.String(),
		r.Step.String(), r.Minimum.String(), r.Term.String(), strconv.Itoa(r.EarlyPM),
	}, " ")
}

// parseTerms reads what termsTag writes into a rental whose ceiling is known.
func parseTerms(r *Rental, s string) bool {
	f := strings.Fields(s)
	if len(f) != 9 {
		return false
	}
	whole, ok := map[int]int64{}, true
	for _, i := range []int{0, 1, 2, 8} {
		n, err := strconv.ParseInt(f[i], 10, 64)
		whole[i], ok = n, ok && err == nil && n >= 0
	}
	spans := map[int]time.Duration{}
	for i := 3; i < 8; i++ {
		d, err := time.ParseDuration(f[i])
		spans[i], ok = d, ok && err == nil && d >= 0
	}
	const most = 1 << 16 // machines of one create call
	if !ok || whole[0] < 1 || whole[0] > most || whole[1] < 1 || whole[1] > whole[0] || whole[8] > most {
		return false
	}
	r.Count, r.Gang, r.EarlyPM = int(whole[0]), int(whole[1]), int(whole[8])
	r.Rate = Rate{Micro: whole[2], Currency: r.MaxRate.Currency}
	r.Life, r.Idle, r.Step, r.Minimum, r.Term = spans[3], spans[4], spans[5], spans[6], spans[7]
	return true
}

func dateTag(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// parseDates reads the three dates of TagDates.
func parseDates(s string) (made, first, named time.Time, ok bool) {
	f := strings.Fields(s)
	if len(f) != 3 {
		return made, first, named, false
	}
	for i, t := range []*time.Time{&made, &first, &named} {
		if f[i] == "-" && i == 2 {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, f[i])
		if err != nil {
			return made, first, named, false
		}
		*t = at.UTC()
	}
	return made, first, named, true
}

func shapeTag(r *Rental) string {
	s, gpu := &r.Shape, dash(r.Shape.GPUType)
	if r.GPUAs != "" {
		gpu += "/" + r.GPUAs
	}
	parts := []string{strconv.Itoa(s.CPUs), strconv.FormatInt(s.MemoryMiB, 10), strconv.Itoa(s.GPUs), strconv.FormatInt(s.DiskMiB, 10), gpu}
	for _, k := range sortedKeys(s.GRES) {
		parts = append(parts, k+"="+strconv.Itoa(s.GRES[k]))
	}
	return strings.Join(parts, " ")
}

func parseShape(text string) (s Shape, gpuAs string, ok bool) {
	f := strings.Fields(text)
	if len(f) < 5 {
		return s, "", false
	}
	var n [4]int64
	for i := range n {
		v, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil || v < 0 {
			return s, "", false
		}
		n[i] = v
	}
	gpu, gpuAs, _ := strings.Cut(f[4], "/")
	s = Shape{CPUs: int(n[0]), MemoryMiB: n[1], GPUs: int(n[2]), DiskMiB: n[3], GPUType: undash(gpu)}
	for _, more := range f[5:] {
		name, count, found := strings.Cut(more, "=")
		v, err := strconv.Atoi(count)
		if !found || err != nil || name == "" {
			return Shape{}, "", false
		}
		if s.GRES == nil {
			s.GRES = map[string]int{}
		}
		s.GRES[name] = v
	}
	return s, gpuAs, true
}

// jobsTag names a rental's jobs as far as there is room; the scheduler knows
// the others as long as they wait or run.
func jobsTag(r *Rental) string {
	out := dash(r.Origin)
	for _, j := range r.Jobs {
		if len(out)+1+len(j) > tagRoom {
			break
		}
		out += " " + string(j)
	}
	return out
}

func parseJobs(s string) (origin string, jobs []JobID) {
	for i, word := range strings.Fields(s) {
		if i == 0 {
			origin = undash(word)
			continue
		}
		jobs = append(jobs, JobID(word))
	}
	return origin, jobs
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func undash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

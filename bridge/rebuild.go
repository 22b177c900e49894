package bridge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rebuilt is a rental made anew from what clouds and schedulers say of it.
type Rebuilt struct {
	Rental Rental
	// Guessed are sentences, each about something that its tags do not say and
	// what is taken for it.
	Guessed []string
}

// Unread is a machine of ours that cannot be given to a rental, and why.
type Unread struct {
	Instance Instance
	Why      string
}

// ReleaseReason begins what stands in the scheduler at nodes that go back.
const ReleaseReason = "spillway: release"

// Rebuild makes rentals of machines that one store rented, by their tags, their
// clouds' word and the schedulers' queues: whole, with their holds, and no
// further than they were. Each machine's pool names its cloud. Rentals of which
// nothing lives are left out: they are over, but for their money. Nothing
// is created for a rebuilt rental: it is never launching.
func Rebuild(found []Instance, queues map[string]*Queue, w Watch, now time.Time) ([]Rebuilt, []Unread) {
	rentals := map[RentalID][]Instance{}
	var unread []Unread
	for _, in := range found {
		id, err := ParseRentalID(in.Tags[TagRental])
		switch {
		case in.ID == "":
		case err != nil && in.State != InstanceGone:
			unread = append(unread, Unread{in, "its tags name no rental"})
		case err != nil:
		case queues[in.Tags[TagCluster]] == nil && in.State != InstanceGone:
			unread = append(unread, Unread{in, fmt.Sprintf("nothing is known of cluster %q", in.Tags[TagCluster])})
		default:
			rentals[id] = append(rentals[id], in)
		}
	}
	var out []Rebuilt
	for _, id := range slices.Sorted(maps.Keys(rentals)) {
		one, rest := rebuildOne(id, rentals[id], queues, w, now)
		if one != nil {
			out = append(out, *one)
		}
		unread = append(unread, rest...)
	}
	return out, unread
}

// rebuildOne makes one rental of the machines that carry its id; nil if none of
// them lives, or their tags are not whole.
func rebuildOne(id RentalID, found []Instance, queues map[string]*Queue, w Watch, now time.Time) (*Rebuilt, []Unread) {
	calls := map[string][]Instance{}
	for _, in := range found {
		calls[callOf(&in)] = append(calls[callOf(&in)], in)
	}
	var mine []Instance
	for _, call := range sortedKeys(calls) {
		if mine == nil || compareCalls(calls[call], mine) < 0 {
			mine = calls[call]
		}
	}
	var unread []Unread
	leave := func(in *Instance, why string) {
		if in.State != InstanceGone {
			unread = append(unread, Unread{*in, why})
		}
	}
	for _, in := range found {
		if callOf(&in) != callOf(&mine[0]) {
			leave(&in, fmt.Sprintf("%s has machines of another create call", id))
		}
	}
	if !slices.ContainsFunc(mine, func(in Instance) bool { return in.State != InstanceGone }) {
		return nil, unread
	}
	slices.SortFunc(mine, func(a, b Instance) int { return cmp.Compare(a.ID, b.ID) })
	b := Rebuilt{}
	q := queues[mine[0].Tags[TagCluster]]
	if why := b.read(id, mine, q, w, now); why != "" {
		for i := range mine {
			leave(&mine[i], why)
		}
		return nil, unread
	}
	for _, in := range b.place(mine, q, now) {
		leave(&in, fmt.Sprintf("%s was made of %d machines, and has them", id, b.Rental.Count))
	}
	b.stand(q, now)
	return &b, unread
}

// callOf tells the machines of one create call from those of another.
func callOf(in *Instance) string {
	return in.Tags[TagAttempt] + " " + in.Token + " " + in.Pool.Cloud
}

// compareCalls orders the create calls that one rental's machines are from: one
// of which something lives, then the later attempt, then the earlier launch.
func compareCalls(a, b []Instance) int {
	dead := func(in Instance) bool { return in.State == InstanceGone }
	attempt := func(in *Instance) int { n, _ := strconv.Atoi(in.Tags[TagAttempt]); return n }
	over := func(all []Instance) int {
		if slices.ContainsFunc(all, func(in Instance) bool { return !dead(in) }) {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(over(a), over(b)), cmp.Compare(attempt(&b[0]), attempt(&a[0])), launched(a).Compare(launched(b)))
}

// launched is when the first of some machines was, zero if that is not said.
func launched(all []Instance) time.Time {
	var first time.Time
	for i := range all {
		if at := all[i].Launched; !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at.UTC()
		}
	}
	return first
}

// lead is the machine whose tags speak for all: the first that lives.
func lead(mine []Instance) *Instance {
	return &mine[max(slices.IndexFunc(mine, func(in Instance) bool { return in.State != InstanceGone }), 0)]
}

func (b *Rebuilt) guess(format string, args ...any) {
	b.Guessed = append(b.Guessed, fmt.Sprintf(format, args...))
}

// read takes what the tags say; why they are not enough otherwise.
func (b *Rebuilt) read(id RentalID, mine []Instance, q *Queue, w Watch, now time.Time) (why string) {
	in := lead(mine)
	tags := in.Tags
	attempt, err := strconv.Atoi(tags[TagAttempt])
	most, ok := parseRate(tags[TagRate])
	free := in.Pool.Market == Reserved // nothing is a ceiling of what is paid for already, and of nothing else
	account := Account(tags[TagAccount])
	switch {
	case err != nil:
		return "its tags name no attempt"
	case !ok || free != (most.Micro == 0):
		return "its tags name no ceiling of its rate"
	case account == "":
		return "its tags name no account"
	}
	born := launched(mine)
	if born.IsZero() {
		born = now
		b.guess("its cloud does not say when it was launched; taken for launched now")
	}
	var ends time.Time
	for i := range mine {
		if at, err := time.Parse(time.RFC3339, mine[i].Tags[TagExpires]); err == nil && at.After(ends) {
			ends = at.UTC()
		}
	}
	if ends.IsZero() {
		return "its tags name no end"
	}
	r := &b.Rental
	*r = Rental{
		ID: id, Since: now, Cluster: tags[TagCluster], Account: account, Class: Class(tags[TagClass]), Attempt: attempt,
		Pool: in.Pool, MaxRate: most, FX: tags[TagFX], Contract: in.Contract, Expires: ends,
		Why: ReasonRebuilt, Note: "rebuilt from the tags of its machines",
	}
	r.Hold.Currency, r.Cost.Currency = most.Currency, most.Currency
	b.readTerms(tags, len(mine), q, w, born)
	b.readOwner(tags, q)
	added := b.added(tags)
	r.Launch = Launch{
		Rental: id, Attempt: attempt, Token: cmp.Or(in.Token, "rebuilt-"+string(id)+"-"+tags[TagAttempt]), Pool: r.Pool, Count: r.Count,
		Tags: maps.Clone(tags), Expires: ends.Add(-added), Contract: in.Contract,
	}
	r.Launch.Tags[TagExpires] = r.Launch.Expires.Format(time.RFC3339)
	if r.Launch.MaxRate, err = r.CloudRate(); err != nil {
		return "its ceiling cannot be converted: " + err.Error()
	}
	if own, ok := r.OwnRate(in.Rate); ok && r.Rate.Micro == 0 {
		r.Rate = own
	}
	if r.Rate.Micro == 0 {
		r.Rate = most // no dearer than its ceiling
	}
	if r.Hold, err = r.Billing().Worst(most, r.Life+added, r.Count); err != nil {
		return err.Error()
	}
	return ""
}

// added is by how much a rental was extended since its create call.
func (b *Rebuilt) added(tags map[string]string) time.Duration {
	_, first, _, ok := parseDates(tags[TagDates])
	if !ok {
		return 0
	}
	return max(b.Rental.Expires.Sub(first), 0)
}

// readTerms takes times, sizes and shape from the tags, or guesses them.
func (b *Rebuilt) readTerms(tags map[string]string, machines int, q *Queue, w Watch, born time.Time) {
	r := &b.Rental
	made, first, named, ok := parseDates(tags[TagDates])
	r.Created, r.Until = made, named
	if !ok {
		r.Created, first = born, r.Expires
		b.guess("made when it was launched")
		if r.Pool.Market == Reserved {
			r.Until = r.Expires // its contract's end is not known; it was no sooner
		}
	}
	if !parseTerms(r, tags[TagTerms]) {
		r.Count, r.Gang = machines, 1
		for i := range q.Nodes {
			if owner, n, ok := RentalOfNode(q.Nodes[i].Name); ok && owner == r.ID {
				r.Count = max(r.Count, n+1)
			}
		}
		for i := range q.Runs {
			r.Gang = max(r.Gang, len(r.nodesAmong(q.Runs[i].Nodes)))
		}
		r.Count = max(r.Count, r.Gang)
		r.Life, r.Idle = first.Sub(born), w.OrDefault().Tell+w.OrDefault().Unowned
		b.guess("%d machines, gangs of %d, kept %s without a job, charged by the second", r.Count, r.Gang, r.Idle)
	}
	if r.Shape, r.GPUAs, ok = parseShape(tags[TagShape]); !ok {
		n := r.anyNode(q)
		r.Shape, r.Features = n.Shape, n.Features
		b.guess("the size that its node registered with: %s", r.Shape)
	}
	if f := strings.Fields(tags[TagFeatures]); len(f) > 0 {
		r.Features = f
	}
}

// readOwner takes who asked, and for what; the scheduler knows what may use it.
func (b *Rebuilt) readOwner(tags map[string]string, q *Queue) {
	r := &b.Rental
	r.Requester, r.Key = tags[TagRequester], tags[TagRequest]
	if r.Requester == "" {
		r.Requester = string(r.Account[strings.LastIndexByte(string(r.Account), '/')+1:])
		r.Adopted = true
		b.guess("asked for by %s, the last of its account", r.Requester)
	}
	r.Origin, r.Jobs = parseJobs(tags[TagJobs])
	add := func(j JobID) {
		if !slices.Contains(r.Jobs, j) {
			r.Jobs = append(r.Jobs, j)
		}
	}
	for i := range q.Demands {
		if slices.Contains(q.Demands[i].Overlays, PartitionName(r.ID)) {
			add(q.Demands[i].Job)
		}
	}
	for i := range q.Runs {
		if len(r.nodesAmong(q.Runs[i].Nodes)) > 0 {
			add(q.Runs[i].Job)
		}
	}
}

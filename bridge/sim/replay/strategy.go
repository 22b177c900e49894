package replay

import (
	"cmp"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// start is when every replay begins.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// pace is the job of a view in the words of package bridge.
func (v *View) pace() bridge.Pace {
	return bridge.Pace{
		Start: start, Deadline: start.Add(v.Job.Deadline), Work: v.Job.Work, Done: v.Done,
		Restart: v.Job.Restart + Step, Loss: v.Job.Every,
	}
}

func (v *View) now() time.Time { return start.Add(v.Now) }

// OnDemand never takes spot.
type OnDemand struct{}

// Choose is always on demand.
func (OnDemand) Choose(*View) Place { return Place{Market: bridge.OnDemand} }

// Taken happens to nothing on demand.
func (OnDemand) Taken(int, time.Duration) {}

// Greedy takes spot wherever there is some, and on demand at the last moment.
type Greedy struct{}

// Choose keeps a spot machine, takes the first there is, and else waits.
func (Greedy) Choose(v *View) Place {
	p := v.pace()
	switch {
	case v.At.Market == bridge.Spot:
		return v.At
	case v.At.Market == bridge.OnDemand, p.Course(v.now()) == bridge.CourseOnDemand:
		return Place{Market: bridge.OnDemand}
	}
	if zone := slices.Index(v.Has, true); zone >= 0 {
		return Place{bridge.Spot, zone}
	}
	return Place{}
}

// Taken changes nothing.
func (Greedy) Taken(int, time.Duration) {}

// Progress is the rule of bridge.Pace, with what bridge.Hazard learns of each
// zone. With Stay it never leaves on demand, as the engine does not either: it
// would have to take a running job off; so it goes there late.
type Progress struct {
	Stay    bool
	hazards []bridge.Hazard
	rests   map[int]time.Duration // until when a zone rests
}

// How long a zone rests after a reclaim.
const (
	firstRest = 5 * time.Minute
	mostRest  = 2 * time.Hour
)

func poolOf(zone int) bridge.Pool {
	return bridge.Pool{Zone: string(rune('a' + zone)), Market: bridge.Spot}
}

// Taken lets the zone rest as a whole, longer with each reclaim.
func (s *Progress) Taken(zone int, at time.Duration) {
	now := start.Add(at)
	s.hazards = bridge.Reclaimed(s.hazards, poolOf(zone), now)
	if s.rests == nil {
		s.rests = map[int]time.Duration{}
	}
	s.rests[zone] = at + bridge.HazardOf(s.hazards, poolOf(zone)).Rest(now, firstRest, mostRest)
}

// Choose goes by the job's course.
func (s *Progress) Choose(v *View) Place {
	if v.At.Market == bridge.Spot {
		s.hazards = bridge.Lived(s.hazards, poolOf(v.At.Zone), Step, v.now())
		return v.At
	}
	p := v.pace()
	p.Stays = s.Stay
	course := p.Course(v.now())
	if v.At.Market == bridge.OnDemand && (s.Stay || !p.Leaves(v.now())) || course == bridge.CourseOnDemand {
		return Place{Market: bridge.OnDemand}
	}
	if zone, ok := s.steadiest(v); ok {
		return Place{bridge.Spot, zone}
	}
	if course == bridge.CourseAny || v.At.Market == bridge.OnDemand {
		return Place{Market: bridge.OnDemand}
	}
	return Place{}
}

// steadiest is the zone with spot that takes back least, of those not at rest.
func (s *Progress) steadiest(v *View) (int, bool) {
	var up []int
	for zone, has := range v.Has {
		if has && v.Now >= s.rests[zone] {
			up = append(up, zone)
		}
	}
	if len(up) == 0 {
		return 0, false
	}
	return slices.MinFunc(up, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.perHour(a, v), s.perHour(b, v)), a-b)
	}), true
}

func (s *Progress) perHour(zone int, v *View) int64 {
	return bridge.HazardOf(s.hazards, poolOf(zone)).PerHour(v.now())
}

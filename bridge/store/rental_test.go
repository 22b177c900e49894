package store_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

var (
	states = []bridge.State{
		bridge.StateWaiting, bridge.StateLaunching, bridge.StateJoining, bridge.StateAdmitted,
		bridge.StateDraining, bridge.StateReleasing, bridge.StateSettled, bridge.StateClosed,
	}
	wide = []bridge.Budget{budget("org", 1_000_000, true)}
)

// reach makes a rental in a state, by the shortest way there.
func reach(t testing.TB, s *store.Store, state bridge.State) bridge.Rental {
	t.Helper()
	is := must[bridge.Rental](t)
	if state == bridge.StateWaiting || state == bridge.StateClosed {
		r := is(s.Propose(t.Context(), newRental(t, s, bridge.StateWaiting, 10)))
		if state == bridge.StateClosed {
			r.State = state
			r = is(s.Save(t.Context(), r))
		}
		return r
	}
	r := is(s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 10), wide))
	for _, next := range states[2:] {
		if r.State == state {
			break
		}
		r.State = next
		if next == bridge.StateSettled {
			r = is(s.Settle(t.Context(), r))
		} else {
			r = is(s.Save(t.Context(), r))
		}
	}
	return r
}

func TestSaveAllowsOneEventAndNoChangeOfHold(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	legal := map[[2]bridge.State]bool{
		{bridge.StateWaiting, bridge.StateClosed}:      true,
		{bridge.StateLaunching, bridge.StateJoining}:   true,
		{bridge.StateLaunching, bridge.StateReleasing}: true,
		{bridge.StateJoining, bridge.StateAdmitted}:    true,
		{bridge.StateJoining, bridge.StateReleasing}:   true,
		{bridge.StateAdmitted, bridge.StateDraining}:   true,
		{bridge.StateAdmitted, bridge.StateReleasing}:  true,
		{bridge.StateDraining, bridge.StateReleasing}:  true,
	}
	for _, from := range states {
		for _, to := range states {
			r := reach(t, s, from)
			was := r
			r.State, r.Note = to, "changed"
			_, err := s.Save(t.Context(), r)
			want := legal[[2]bridge.State{from, to}] || from == to && !from.Ended()
			if want != (err == nil) {
				t.Errorf("%s to %s: %v, want it allowed: %t", from, to, err, want)
			}
			if err == nil {
				continue
			}
			if !errors.Is(err, store.ErrState) && !errors.Is(err, store.ErrMoney) {
				t.Errorf("%s to %s: %v has no kind", from, to, err)
			}
			if got := must[bridge.Rental](t)(s.Rental(t.Context(), r.ID)); cmp.Diff(was, got) != "" {
				t.Errorf("%s to %s left a trace:\n%s", from, to, cmp.Diff(was, got))
			}
		}
	}
	checked(t, s)
}

func TestWritesThatAreRefusedLeaveNoTrace(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(t *testing.T, s *store.Store, r bridge.Rental) error
		want error
	}{
		"an old version": {func(t *testing.T, s *store.Store, r bridge.Rental) error {
			r.Version--
			_, err := s.Save(t.Context(), r)
			return err
		}, bridge.ErrVersion},
		"a rental nobody made": {func(t *testing.T, s *store.Store, r bridge.Rental) error {
			r.ID = bridge.NewRentalID(999)
			_, err := s.Save(t.Context(), r)
			return err
		}, store.ErrNoRental},
		"a hold changed by the way": {func(t *testing.T, s *store.Store, r bridge.Rental) error {
			r.Hold = usd(1)
			_, err := s.Save(t.Context(), r)
			return err
		}, store.ErrMoney},
		"a cost changed by the way": {func(t *testing.T, s *store.Store, r bridge.Rental) error {
			r.Cost = usd(1)
			_, err := s.Save(t.Context(), r)
			return err
		}, store.ErrMoney},
		"a request key changed by the way": {func(t *testing.T, s *store.Store, r bridge.Rental) error {
			r.Key = "ann/other"
			_, err := s.Save(t.Context(), r)
			return err
		}, store.ErrMoney},
		"an account changed while its money is held": {func(t *testing.T, s *store.Store, r bridge.Rental) error {
			r.Account, r.Cost = "org/other", usd(1)
			_, err := s.Post(t.Context(), r)
			return err
		}, store.ErrMoney},
		"settled before it is released": {func(t *testing.T, s *store.Store, r bridge.Rental) error {
			r.State = bridge.StateSettled
			_, err := s.Settle(t.Context(), r)
			return err
		}, store.ErrState},
		"cost below zero": {func(t *testing.T, s *store.Store, r bridge.Rental) error {
			r.Cost = usd(-1)
			_, err := s.Post(t.Context(), r)
			return err
		}, nil},
		"reserved twice": {func(t *testing.T, s *store.Store, r bridge.Rental) error {
			r.Version = 0
			r.State = bridge.StateLaunching
			_, err := s.Reserve(t.Context(), r, wide)
			return err
		}, bridge.ErrVersion},
		"held above a hard budget": {func(t *testing.T, s *store.Store, r bridge.Rental) error {
			_, err := s.Extend(t.Context(), r, usd(2_000_000), wide, news(bridge.NewsExtended))
			return err
		}, bridge.ErrOverBudget},
		"held by an account that no budget covers": {func(t *testing.T, s *store.Store, r bridge.Rental) error {
			_, err := s.Extend(t.Context(), r, usd(1), []bridge.Budget{budget("elsewhere", 100, false)})
			return err
		}, bridge.ErrOverBudget},
		"held in a currency that the budget does not have": {func(t *testing.T, s *store.Store, r bridge.Rental) error {
			_, err := s.Extend(t.Context(), r, bridge.Money{Micro: 1, Currency: "CNY"}, wide)
			return err
		}, bridge.ErrCurrency},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), newHands(noon))
			r := reach(t, s, bridge.StateJoining)
			before := must[[]bridge.News](t)(s.News(t.Context(), store.NewsFilter{Limit: 10}))
			err := c.do(t, s, r)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if got := must[bridge.Rental](t)(s.Rental(t.Context(), r.ID)); cmp.Diff(r, got) != "" {
				t.Errorf("the rental changed:\n%s", cmp.Diff(r, got))
			}
			after := must[[]bridge.News](t)(s.News(t.Context(), store.NewsFilter{Limit: 10}))
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("news were told:\n%s", diff)
			}
			checked(t, s)
		})
	}
}

// A caller may change all it was given; the next reader sees what is stored.
func TestRentalsAreTheCallersOwn(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	r := newRental(t, s, bridge.StateLaunching, 10)
	fill(reflect.ValueOf(&r).Elem())
	r.State, r.Version, r.Cost, r.Hold, r.Account = bridge.StateLaunching, 0, bridge.Money{}, usd(10), "org/a/b/c"
	id, err := s.NextID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.ID = id
	must[bridge.Rental](t)(s.Reserve(t.Context(), r, wide))
	first := must[[]bridge.Rental](t)(s.Live(t.Context()))
	shared := map[uintptr]string{}
	pointers(reflect.ValueOf(first[0]), "rental", shared)
	if len(shared) < 7 {
		t.Fatalf("the test rental has only %d references: %v", len(shared), shared)
	}
	again := must[[]bridge.Rental](t)(s.Live(t.Context()))
	others := map[uintptr]string{}
	pointers(reflect.ValueOf(again[0]), "rental", others)
	for p, path := range others {
		if shared[p] != "" {
			t.Errorf("%s is shared by two answers", path)
		}
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("answers differ:\n%s", diff)
	}
}

// fill gives every slice, map and pointer of a value something to point to.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for _, field := range v.Fields() {
			fill(field)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		v.SetMapIndex(reflect.New(v.Type().Key()).Elem(), value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("x")
	default:
	}
}

// pointers collects what a value refers to.
func pointers(v reflect.Value, path string, into map[uintptr]string) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			pointers(v.Field(i), path+"."+v.Type().Field(i).Name, into)
		}
	case reflect.Slice:
		if v.Len() > 0 {
			into[v.Pointer()] = path
			pointers(v.Index(0), path+"[]", into)
		}
	case reflect.Map, reflect.Pointer:
		if !v.IsNil() {
			into[v.Pointer()] = path
		}
	default:
	}
}

func TestQuietCyclesWriteNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, newHands(noon))
	r := reach(t, s, bridge.StateAdmitted)
	m := bridge.Marks{Protected: "why", HighWater: noon}
	if err := s.SaveMarks(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	for range 2 {
		m.HighWater = m.HighWater.Add(time.Second)
		if err := errors.Join(s.SaveMarks(t.Context(), m), s.Tell(t.Context())); err != nil {
			t.Fatal(err)
		}
		if again := must[bridge.Rental](t)(s.Save(t.Context(), r)); again.Version != r.Version {
			t.Errorf("an equal rental became version %d", again.Version)
		}
		if again := must[bridge.Rental](t)(s.Post(t.Context(), r)); again.Version != r.Version {
			t.Errorf("an equal cost became version %d", again.Version)
		}
		must[[]bridge.Rental](t)(s.Live(t.Context()))
		must[[]bridge.Balance](t)(s.Balances(t.Context(), noon, wide))
	}
	if contents(t, dir) != before {
		t.Error("something was written")
	}
	m.HighWater = noon.Add(time.Hour)
	if err := s.SaveMarks(t.Context(), m, news(bridge.NewsThawed)); err != nil {
		t.Fatal(err)
	}
	if got := must[bridge.Marks](t)(s.Marks(t.Context())); !got.HighWater.Equal(m.HighWater) {
		t.Errorf("high water is %s, want %s", got.HighWater, m.HighWater)
	}
}

func TestRequestsByHandMakeOneRentalEach(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	r := newRental(t, s, bridge.StateLaunching, 10)
	r.Key = "ann/thesis"
	r = must[bridge.Rental](t)(s.Reserve(t.Context(), r, wide))
	again := newRental(t, s, bridge.StateWaiting, 10)
	again.Key = "ann/thesis"
	if _, err := s.Propose(t.Context(), again); !errors.Is(err, store.ErrReused) {
		t.Errorf("the second rental of a key: %v, want %v", err, store.ErrReused)
	}
	if got := must[bridge.Rental](t)(s.ByKey(t.Context(), "ann/thesis")); got.ID != r.ID {
		t.Errorf("the key gives %s, want %s", got.ID, r.ID)
	}
	for _, key := range []string{"ann/other", ""} {
		if _, err := s.ByKey(t.Context(), key); !errors.Is(err, store.ErrNoRental) {
			t.Errorf("key %q gives %v, want %v", key, err, store.ErrNoRental)
		}
	}
}

func TestIdsAreNeverGivenTwice(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, newHands(noon))
	adopted := newRental(t, s, bridge.StateLaunching, 10)
	adopted.ID, adopted.State = bridge.NewRentalID(3), bridge.StateJoining // came back with its machine's tags
	must[bridge.Rental](t)(s.Adopt(t.Context(), adopted))
	seen := map[bridge.RentalID]bool{bridge.NewRentalID(1): true, adopted.ID: true}
	for range 3 {
		id := must[bridge.RentalID](t)(s.NextID(t.Context()))
		if seen[id] {
			t.Errorf("%s was given before", id)
		}
		seen[id] = true
	}
	txs := checkedLedger(t, s)
	if !strings.Contains(txs[0].Memo, "no budget") {
		t.Errorf("the memo of an adopted hold is %q", txs[0].Memo)
	}
}

func TestMachinesEnrolOnce(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	r := reach(t, s, bridge.StateJoining)
	over := reach(t, s, bridge.StateSettled)
	for _, c := range []struct {
		why, machine, address string
		rental                bridge.RentalID
		want                  error
	}{
		{"a machine enrols", "i-1", "10.0.0.1", r.ID, nil},
		{"its answer was lost", "i-1", "10.0.0.1", r.ID, nil},
		{"another machine of the rental", "i-2", "10.0.0.2", r.ID, nil},
		{"somebody who says to be the first", "i-1", "10.0.0.9", r.ID, bridge.ErrClaimed},
		{"a machine of a rental that ended", "i-3", "10.0.0.3", over.ID, store.ErrState},
		{"a machine of no rental", "i-4", "10.0.0.4", "r-none", store.ErrNoRental},
	} {
		if err := s.ClaimEnrolment(t.Context(), c.rental, c.machine, c.address); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: got %v, want %v", c.why, err, c.want)
		}
	}
}

func TestNewsAreFilteredAndOldestFirst(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	for _, n := range []bridge.News{
		{At: noon, Kind: bridge.NewsAsked, Rental: "r-a"},
		{At: noon, Kind: bridge.NewsStarted, Rental: "r-a", Job: "1"},
		{At: noon, Kind: bridge.NewsStarted, Job: "2"},
		{At: noon, Kind: bridge.NewsFrozen},
		{At: noon, Kind: bridge.NewsFinished, Job: "2"},
	} {
		if err := s.Tell(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		filter store.NewsFilter
		want   []int64
	}{
		"the latest":               {store.NewsFilter{Limit: 2}, []int64{4, 5}},
		"those after one":          {store.NewsFilter{After: 1, Limit: 2}, []int64{2, 3}},
		"those of a rental":        {store.NewsFilter{Limit: 9, Rental: "r-a"}, []int64{1, 2}},
		"those of a job":           {store.NewsFilter{Limit: 9, Job: "2"}, []int64{3, 5}},
		"those of either":          {store.NewsFilter{Limit: 9, Rental: "r-a", Job: "2"}, []int64{1, 2, 3, 5}},
		"the latest of a rental":   {store.NewsFilter{Limit: 1, Rental: "r-a"}, []int64{2}},
		"none after the last one":  {store.NewsFilter{After: 5, Limit: 9}, nil},
		"none of a rental unknown": {store.NewsFilter{Limit: 9, Rental: "r-x"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var ids []int64
			for _, n := range must[[]bridge.News](t)(s.News(t.Context(), c.filter)) {
				ids = append(ids, n.ID)
			}
			if diff := cmp.Diff(c.want, ids); diff != "" {
				t.Errorf("news differ (-want +got):\n%s", diff)
			}
		})
	}
}

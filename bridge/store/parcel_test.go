package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

func TestKnocksAreAnsweredOnceAlsoAfterARestart(t *testing.T) {
	dir, clock := t.TempDir(), newHands(noon)
	s := open(t, dir, clock)
	is := must[bool](t)
	knock := func(k bridge.Knock) bool {
		t.Helper()
		return must[[]bool](t)(s.Knock(t.Context(), []bridge.Knock{k}))[0]
	}
	k := bridge.Knock{Key: "one", At: noon, Body: []byte(`{"text":"ls"}`)}
	if !knock(k) || knock(k) {
		t.Error("the first delivery is fresh, the second is not")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = open(t, dir, clock)
	if diff := cmp.Diff([]bridge.Knock{k}, must[[]bridge.Knock](t)(s.Knocks(t.Context(), 10))); diff != "" {
		t.Errorf("open knocks after a restart (-want +got):\n%s", diff)
	}
	reply := []bridge.Parcel{{Surface: "reply", Source: "one", Body: []byte("{}")}}
	if !is(s.Answer(t.Context(), "one", reply)) || is(s.Answer(t.Context(), "one", reply)) {
		t.Error("the first answer counts, the second does not")
	}
	if got := must[[]bridge.Parcel](t)(s.Parcels(t.Context(), 10)); len(got) != 1 {
		t.Errorf("%d parcels wait, want the one reply", len(got))
	}
	if knock(k) {
		t.Error("an answered knock is fresh again within the day")
	}
	clock.add(25 * time.Hour)
	if err := s.ForgetParcels(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !knock(k) {
		t.Error("a knock of yesterday is still kept")
	}
}

func TestParcelsGoByLaneAndTheLastOfAKeyWins(t *testing.T) {
	s := open(t, t.TempDir(), newHands(noon))
	send := func(ps ...bridge.Parcel) {
		t.Helper()
		if err := s.Send(t.Context(), ps); err != nil {
			t.Fatal(err)
		}
	}
	card := func(body string, lane int) bridge.Parcel {
		return bridge.Parcel{Surface: "card", Lane: lane, Key: "card:r-0015", Body: []byte(body)}
	}
	send(bridge.Parcel{Surface: "direct", Lane: 3, Body: []byte("report")}, card("first", 2))
	send(card("second", 0), bridge.Parcel{Surface: "thread", Lane: 1, Body: []byte("late"), Once: "late:r-0015"})
	send(bridge.Parcel{Surface: "thread", Lane: 1, Body: []byte("late again"), Once: "late:r-0015"})

	var lanes []int
	for _, p := range must[[]bridge.Parcel](t)(s.Parcels(t.Context(), 10)) {
		lanes = append(lanes, p.Lane)
	}
	if diff := cmp.Diff([]int{0, 1, 3}, lanes); diff != "" {
		t.Errorf("lanes (-want +got):\n%s", diff)
	}
	first := must[[]bridge.Parcel](t)(s.Parcels(t.Context(), 1))[0]
	p, ok, err := s.Parcel(t.Context(), first.ID)
	if err != nil || !ok || string(p.Body) != "second" {
		t.Fatalf("the card is %q, %v, %v", p.Body, ok, err)
	}

	// A third state while the second is under way.
	send(card("third", 0))
	copy1 := bridge.Copy{Key: "r-0015", Channel: "C1", TS: "1.000100", Hash: "h", At: noon}
	if err := s.Delivered(t.Context(), p, noon.Add(5*time.Second), copy1); err != nil {
		t.Fatal(err)
	}
	p, ok, err = s.Parcel(t.Context(), first.ID)
	if err != nil || !ok || string(p.Body) != "third" || !p.After.Equal(noon.Add(5*time.Second)) {
		t.Fatalf("the card is %q after %v, %v, %v", p.Body, p.After, ok, err)
	}
	if err := s.Delivered(t.Context(), p, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ = s.Parcel(t.Context(), first.ID); ok {
		t.Error("a delivered card waits on")
	}
	if diff := cmp.Diff([]bridge.Copy{copy1}, must[[]bridge.Copy](t)(s.Copies(t.Context(), "r-0015"))); diff != "" {
		t.Errorf("copies (-want +got):\n%s", diff)
	}
}

func TestNewsAreToldOnceFromWhatLivesNow(t *testing.T) {
	dir, clock := t.TempDir(), newHands(noon)
	s := open(t, dir, clock)
	if err := s.Tell(t.Context(), news(bridge.NewsFrozen), news(bridge.NewsThawed)); err != nil {
		t.Fatal(err)
	}
	is := must[int64](t)
	if got := is(s.NewsCursor(t.Context())); got != 2 {
		t.Errorf("with nothing alive the cursor is %d, want the end", got)
	}
	r, err := s.Reserve(t.Context(), newRental(t, s, bridge.StateLaunching, 4), wide)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Tell(t.Context(), bridge.News{Kind: bridge.NewsReserved, Rental: r.ID}, news(bridge.NewsFrozen)); err != nil {
		t.Fatal(err)
	}
	if got := is(s.NewsCursor(t.Context())); got != 2 {
		t.Errorf("with a rental alive the cursor is %d, want 2", got)
	}
	if err := s.Told(t.Context(), 4, []bridge.Parcel{{Surface: "card"}}); err != nil {
		t.Fatal(err)
	}
	if got := is(s.NewsCursor(t.Context())); got != 4 {
		t.Errorf("after telling the cursor is %d", got)
	}
	if got := must[[]bridge.News](t)(s.NewsAfter(t.Context(), 2, 10)); len(got) != 2 || got[0].Kind != bridge.NewsReserved {
		t.Errorf("news after 2 are %v", got)
	}
}

// A bridge that was stopped and came back late sends nothing.
func TestAnOldEpochSendsNothing(t *testing.T) {
	dir, clock := t.TempDir(), newHands(noon)
	s := open(t, dir, clock)
	tamper(t, dir, "update meta set epoch = epoch + 1")
	_, err := s.Knock(t.Context(), []bridge.Knock{{Key: "k", Body: []byte("{}")}})
	for name, err := range map[string]error{
		"knock": err, "send": s.Send(t.Context(), []bridge.Parcel{{}}), "told": s.Told(t.Context(), 1, nil), "put off": s.PutOff(t.Context(), 1, noon),
	} {
		if !errors.Is(err, bridge.ErrEpoch) {
			t.Errorf("%s by an old epoch: %v", name, err)
		}
	}
}

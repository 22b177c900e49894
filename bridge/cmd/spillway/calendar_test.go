package main

import (
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/jonboulle/clockwork"
)

// What goes by the calendar goes once on every date of its zone, at its time,
// also on the dates on which clocks are put forward or back.
func TestB_F23_EveryNightHasItsTaskOnce(t *testing.T) {
	for name, from := range map[string]string{
		"Asia/Shanghai": "2026-10-30", "America/New_York": "2026-10-30", "Europe/Berlin": "2027-03-26", "Australia/Lord_Howe": "2027-04-02",
	} {
		t.Run(name, func(t *testing.T) {
			zone, err := time.LoadLocation(name)
			if err != nil {
				t.Fatal(err)
			}
			start, err := time.ParseInLocation(time.DateOnly, from, zone)
			if err != nil {
				t.Fatal(err)
			}
			clock := clockwork.NewFakeClockAt(start)
			ran := make(chan time.Time)
			s, err := nightly(zone, func() { ran <- clock.Now().In(zone) }, gocron.WithClock(clock))
			if err != nil {
				t.Fatal(err)
			}
			s.Start()
			defer func() {
				if err := s.Shutdown(); err != nil {
					t.Error(err)
				}
			}()
			for night := range 5 {
				want := time.Date(start.Year(), start.Month(), start.Day()+night, 3, 30, 0, 0, zone)
				if err := clock.BlockUntilContext(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				clock.Advance(want.Sub(clock.Now()) - time.Hour)
				select {
				case at := <-ran:
					t.Fatalf("it ran at %s, an hour before its time", at)
				case <-time.After(20 * time.Millisecond):
				}
				clock.Advance(time.Hour)
				select {
				case at := <-ran:
					if !at.Equal(want) {
						t.Errorf("night %d: it ran at %s, want %s", night, at, want)
					}
				case <-time.After(10 * time.Second):
					t.Fatalf("night %d: it did not run at %s", night, want)
				}
			}
		})
	}
}

package main

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/desk"
)

func TestARefusalNamesInstantsOfTheHostsZone(t *testing.T) {
	for zone, want := range map[string]string{
		"Asia/Tokyo": "spillway: too late: it lapsed at 2026-12-01 01:00 JST\n",
		"":           "spillway: too late: it lapsed at 2026-11-30 16:00 UTC\n",
		"Nowhere":    "spillway: too late: it lapsed at 2026-11-30 16:00 UTC\n",
	} {
		t.Setenv("TZ", zone)
		var out strings.Builder
		if finish(&out, desk.Wrong(desk.Conflict, "", "too late: it lapsed at %s", "2026-11-30 16:00 UTC")); out.String() != want {
			t.Errorf("in %q: %q, want %q", zone, out.String(), want)
		}
	}
}

func TestAQuoteSaysWhereAWordAboutTheQueueIsFrom(t *testing.T) {
	at := clock(t, "2026-11-30T12:00:00Z")
	for want, l := range map[string]*desk.Local{
		"": nil,
		"Local queue: job 4711 starts 2026-11-30 23:00 UTC, in 11 h, by the scheduler's own estimate.\n": {
			Cluster: "main", Source: desk.FromScheduler, At: at, Job: "4711", Start: clock(t, "2026-11-30T23:00:00Z"),
		},
		"Local queue of main: 3 jobs wait for machines, the oldest for 12 min, as seen 2026-11-30 12:00 UTC; nothing estimates this size.\n": {
			Cluster: "main", Source: desk.FromQueue, At: at, Waiting: 3, Oldest: 720,
		},
		"Local queue of main: 1 job waits for machines, the oldest for 45 s, as seen 2026-11-30 12:00 UTC; nothing estimates this size.\n": {
			Cluster: "main", Source: desk.FromQueue, At: at, Waiting: 1, Oldest: 45,
		},
		"Local queue of main: no job waits for machines, as seen 2026-11-30 12:00 UTC; nothing estimates this size.\n": {
			Cluster: "main", Source: desk.FromQueue, At: at,
		},
	} {
		if got := printed(t, func(p *page) { sayLocal(p, l, at) }); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func clock(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// printed is what is said on a page.
func printed(t *testing.T, say func(*page)) string {
	t.Helper()
	var out strings.Builder
	p := &page{bufio.NewWriter(&out)}
	say(p)
	if err := p.w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

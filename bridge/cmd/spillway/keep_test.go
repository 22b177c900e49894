package main

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

func TestAnIdleRentalSaysSinceWhenAndWhatItCosts(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	idle := desk.Rental{State: bridge.StateAdmitted, IdleSecs: 1500, IdleSince: at, IdleCost: bridge.Money{Micro: 3_200_000, Currency: "USD"}, Goes: at.Add(58 * time.Minute)}
	nobodys, busy, going := idle, idle, idle
	nobodys.Unowned, busy.IdleSecs, going.State = true, 30, bridge.StateDraining
	for name, c := range map[string]struct {
		r    desk.Rental
		lang desk.Lang
		want string
	}{
		"in English":           {r: idle, lang: desk.English, want: "no job for 25 min, since 2026-11-30 12:00 UTC, which has cost 3.20 USD; it goes back at 2026-11-30 12:58 UTC"},
		"in Chinese":           {r: idle, lang: desk.Chinese, want: "已空闲 25 min（自 2026-11-30 12:00 UTC 起），花费 3.20 USD；将于 2026-11-30 12:58 UTC 归还"},
		"that nobody owns":     {r: nobodys, lang: desk.English, want: "no job for 25 min, since 2026-11-30 12:00 UTC, which has cost 3.20 USD; it goes back at 2026-11-30 12:58 UTC; nobody owns it"},
		"one between two jobs": {r: busy, lang: desk.English},
		"one that goes":        {r: going, lang: desk.English},
	} {
		t.Run(name, func(t *testing.T) {
			if got := idling(&c.r, c.lang); got != c.want {
				t.Errorf("says %q,\nwant %q", got, c.want)
			}
		})
	}
}

func TestWhatKeepingSays(t *testing.T) {
	got := desk.KeepAnswer{Rental: desk.Rental{ID: "r-0013"}, Until: time.Date(2026, 11, 30, 13, 0, 0, 0, time.UTC), Ends: true}
	for lang, want := range map[desk.Lang]string{
		desk.English: "r-0013 is kept until 2026-11-30 13:00 UTC, with or without a job.\nThat is its end. For longer: spillway extend r-0013 1h\n",
		desk.Chinese: "r-0013 保留到 2026-11-30 13:00 UTC，无论是否有作业。\n那是它的结束时间。更久请用：spillway extend r-0013 1h\n",
	} {
		var out strings.Builder
		p := &page{bufio.NewWriter(&out)}
		sayKeep(p, &got, lang)
		if err := p.w.Flush(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%s: %q,\nwant %q", lang, out.String(), want)
		}
	}
}

func TestNewsOfAnIdleMachineNameItsOwner(t *testing.T) {
	n := bridge.News{Kind: bridge.NewsIdle, Node: "sw-0013-0", Who: "ana", Took: 20 * time.Minute, Cost: bridge.Money{Micro: 3_200_000, Currency: "USD"}, Why: bridge.ReasonIdle}
	if got, want := newsText(&n, desk.English), "sw-0013-0, of ana, idle, 3.20 USD, without a job for 20 min"; got != want {
		t.Errorf("says %q, want %q", got, want)
	}
}

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"spillway.sh/spillway/bridge/desk"
)

// Clicks that are delivered twice, late, in another order or not at all leave the
// same books, as long as each card has one of its yeses among them: what is held
// depends on what people meant.
func TestI17TheOrderOfDeliveriesDoesNotChangeTheLedger(t *testing.T) {
	const cards = 3
	type click struct {
		card int
		who  string
		yes  bool
	}
	// The requester's own clicks and those of strangers mean nothing, whenever they come.
	var meant []click
	for card := range cards {
		meant = append(meant, click{card, "mei", true}, click{card, "tom", true}, click{card, "ana", true}, click{card, "eve", false}, click{card, "ana", false})
	}
	var want []string
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 17))
		c := newCounter(t, true, 1000, "mei", "tom")
		var asked []desk.Rental
		for i := range cards {
			asked = append(asked, c.ask(t, "ana", fmt.Sprint("card", i)))
		}
		var delivered []click
		for _, k := range meant {
			times := random.IntN(4)
			if k.who == "mei" {
				times = max(times, 1)
			}
			delivered = append(delivered, slices.Repeat([]click{k}, times)...)
		}
		random.Shuffle(len(delivered), func(i, k int) { delivered[i], delivered[k] = delivered[k], delivered[i] })
		for i, k := range delivered {
			r := &asked[k.card]
			_, err := c.desks[i%2].Decide(t.Context(), c.as(k.who), desk.DecideRequest{Rental: string(r.ID), Revision: r.Revision, Yes: k.yes, Text: "no"})
			if err != nil && desk.AsError(err).Result == nil {
				t.Fatalf("%+v: %v", k, err)
			}
		}
		c.check(t)
		got := written(t, c)
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) || len(got) != cards {
			t.Fatalf("seed %d: the ledger has\n%s\nafter another order\n%s", seed, strings.Join(got, ""), strings.Join(want, ""))
		}
	}
}

// written are the entries of a ledger without their places in the chain.
func written(t *testing.T, c *counter) []string {
	txs, err := c.store.Ledger(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range txs {
		tx := &txs[i]
		out = append(out, fmt.Sprintln(tx.Kind, tx.Rental, tx.Scope(), tx.Amount, tx.Lines))
	}
	slices.Sort(out)
	return out
}

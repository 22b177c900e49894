package say

import (
	"context"
	"strconv"
	"strings"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bot/words"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// clouds says how each cloud is: in one line, with what somebody should know, and
// the cheapest of the pools where some were asked for.
func (t *turn) clouds(ctx context.Context, r *words.Request) ([]talk.Effect, error) {
	const mostNotes, mostPools = 4, 5
	a, err := t.Desk.Clouds(ctx, t.who.Person, desk.CloudsRequest{GPU: r.GPU, Region: r.Place, Lang: t.Lang})
	if err != nil {
		return nil, err
	}
	if len(a.Clouds) == 0 {
		return t.reply(t.words.NoClouds), nil
	}
	lines := []string{fill(t.words.Clouds, "at", t.when(a.At))}
	for i := range a.Clouds {
		c := &a.Clouds[i]
		ready := 0
		for j := range c.Pools {
			if c.Pools[j].State == desk.PoolReady {
				ready++
			}
		}
		lines = append(lines, fill(t.words.Cloud, "name", c.Name, "state", c.Text, "ready", strconv.Itoa(ready), "pools", strconv.Itoa(len(c.Pools))))
		for _, n := range c.Notes[:min(len(c.Notes), mostNotes)] {
			lines = append(lines, "• "+n)
		}
		if r.GPU == "" && r.Place == "" {
			continue
		}
		for j := range c.Pools[:min(len(c.Pools), mostPools)] {
			p := &c.Pools[j]
			lines = append(lines, "• "+fill(t.words.CloudPool, "pool", t.Lang.PoolName(p.Pool), "rate", bridge.Money(p.Rate).String(), "state", p.Text))
		}
	}
	return t.reply(strings.Join(lines, "\n")), nil
}

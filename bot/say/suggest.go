package say

import (
	"context"
	"strings"

	"spillway.sh/spillway/bot/card"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge/desk"
)

// mostChoices is Slack's limit, and longest that of one choice.
const (
	mostChoices = 100
	longest     = 75
)

// Suggest completes the GPU, the project and the job of a form.
func (c *Counter) Suggest(ctx context.Context, who talk.Asker, in talk.Interaction) ([]talk.Choice, error) {
	names, err := c.Desk.Names(ctx, who.Person, desk.NamesRequest{})
	if err != nil {
		return nil, err
	}
	var all []talk.Choice
	switch in.Action {
	case card.FieldGPU:
		for _, g := range names.GPUs {
			all = append(all, talk.Choice{Text: g, Value: g})
		}
	case card.FieldProject:
		for _, p := range names.Mine {
			all = append(all, talk.Choice{Text: p, Value: p})
		}
	case card.FieldJob:
		for _, j := range names.Jobs {
			all = append(all, talk.Choice{Text: clip(string(j.Job) + " · " + j.Name + " · " + j.Size), Value: string(j.Job)})
		}
	}
	out := []talk.Choice{}
	typed := desk.Tidy(in.Value)
	for _, a := range all {
		if strings.Contains(strings.ToLower(a.Text), typed) && len(a.Value) <= longest && len(out) < mostChoices {
			out = append(out, a)
		}
	}
	return out, nil
}

// clip shortens a choice by whole characters.
func clip(s string) string {
	r := []rune(s)
	if len(r) <= longest {
		return s
	}
	return string(r[:longest-1]) + "…"
}

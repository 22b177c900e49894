package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bot/slackd"
	"spillway.sh/spillway/bridge"
)

// The channel of the questions, and the person who may answer them; both are
// in slack.yaml.
const (
	channel = "C0BURST01"
	decider = "U0LEA0001"
)

// people is the local Slack as its people reach it.
func (r *rig) people() (*slackd.Client, error) {
	token, err := os.ReadFile(r.path("state", "slack", "tokens", "control"))
	if err != nil {
		return nil, fmt.Errorf("read the local Slack's token: %w", err)
	}
	return &slackd.Client{Base: "http://" + r.slack, Token: strings.TrimSpace(string(token))}, nil
}

// page is what a person opens; who has the address may act as anybody there.
func (r *rig) page() (string, error) {
	c, err := r.people()
	if err != nil {
		return "", err
	}
	return c.Base + "/#token=" + c.Token, nil
}

// press presses the button of a question as the person who decides, over
// Slack's protocol; false while the card is not there yet.
func (p *play) press(ctx context.Context, id bridge.RentalID) (bool, error) {
	c, err := p.rig.people()
	if err != nil {
		return false, err
	}
	ms, err := c.Messages(ctx, channel, decider)
	if err != nil {
		return false, fmt.Errorf("read the channel: %w", err)
	}
	i := slices.IndexFunc(ms, func(m *slackd.Message) bool { return hasButton(m.Blocks, string(id)) })
	if i < 0 {
		return false, nil
	}
	out, err := c.Press(ctx, decider, channel, ms[i].TS, approve, nil)
	if err != nil {
		return false, fmt.Errorf("press approve of %s: %w", id, err)
	}
	if out.Outcome != "acked" {
		return false, fmt.Errorf("press approve of %s: Slack says %s %s: %w", id, out.Outcome, out.Error, ErrFault)
	}
	return true, nil
}

// approve is the action of the button.
const approve = "approve"

// hasButton reports whether blocks have the button for a rental.
func hasButton(blocks json.RawMessage, id string) bool {
	var bs []struct {
		Elements []struct {
			Action string `json:"action_id"`
			Value  string `json:"value"`
		} `json:"elements"`
	}
	if json.Unmarshal(blocks, &bs) != nil {
		return false // a context or a table has elements of other kinds, but not this button
	}
	for _, b := range bs {
		for _, e := range b.Elements {
			if e.Action == approve && strings.Contains(e.Value, id) {
				return true
			}
		}
	}
	return false
}

// cardWithin is how soon after its news a question is in the channel.
const cardWithin = 30 * time.Second

// answer puts the open questions to a person, or answers them as one who is
// not the requester, by the button that a person would press.
func (p *play) answer(ctx context.Context) error {
	for _, n := range p.feed.of(bridge.NewsAsked) {
		name := "asked " + string(n.Rental)
		if p.done[name] || p.o.Auto && time.Since(n.At) < reading {
			continue
		}
		if !p.o.Auto {
			p.done[name] = true
			page, err := p.rig.page()
			if err != nil {
				return err
			}
			p.tell("question", "your turn: act as Lea in #burst and press Approve\n\n    %s\n\n  or in another terminal, as root:\n\n    %s approve %s --socket %s\n", page, p.o.Exe, n.Rental, p.rig.socket())
			continue
		}
		pressed, err := p.press(ctx, n.Rental)
		if err != nil {
			return err
		}
		if pressed {
			p.done[name] = true
			p.tell("slack", "Lea presses Approve for %s in #burst", n.Rental)
			continue
		}
		if p.closed(n.Rental) {
			p.done[name] = true
			p.tell("person", "is too late for %s: its job has found another place", n.Rental)
		} else if time.Since(n.At) > cardWithin {
			return fmt.Errorf("the question of %s is not in the channel: %w", n.Rental, ErrFault)
		}
	}
	return nil
}

// closed reports whether a question has ended some other way.
func (p *play) closed(id bridge.RentalID) bool {
	return slices.ContainsFunc(p.feed.all(), func(n bridge.News) bool {
		return n.Rental == id && slices.Contains([]bridge.NewsKind{bridge.NewsApproved, bridge.NewsDenied, bridge.NewsLapsed, bridge.NewsWithdrawn}, n.Kind)
	})
}

package desk

import (
	"context"

	"spillway.sh/spillway/bridge"
)

// FreezeRequest stops new money, or lets it flow again.
type FreezeRequest struct {
	Frozen bool   `json:"frozen"`
	Text   string `json:"text,omitempty"` // why, for the record
}

// FreezeAnswer is the state after it. Changed is false when it was so already.
type FreezeAnswer struct {
	Frozen  bool `json:"frozen"`
	Changed bool `json:"changed"`
}

// Freeze stops new money at once, or thaws it. Releases go on either way.
func (d *Desk) Freeze(ctx context.Context, p Person, q FreezeRequest) (FreezeAnswer, error) {
	if err := p.need(StopMoney); err != nil {
		return FreezeAnswer{}, err
	}
	if err := d.open(); err != nil {
		return FreezeAnswer{}, err
	}
	marks, err := d.Reader.Marks(ctx)
	if err != nil {
		return FreezeAnswer{}, unreadable(err)
	}
	if marks.Frozen == q.Frozen {
		return FreezeAnswer{Frozen: q.Frozen}, nil
	}
	kind := bridge.NewsFrozen
	if !q.Frozen {
		kind = bridge.NewsThawed
	}
	set := func(m *bridge.Marks) { m.Frozen = q.Frozen }
	if err := d.Loop.Remember(ctx, set, bridge.News{At: d.Now(), Kind: kind, Who: p.Name, Text: q.Text}); err != nil {
		return FreezeAnswer{}, unstored(err)
	}
	d.Loop.Wake()
	return FreezeAnswer{Frozen: q.Frozen, Changed: true}, nil
}

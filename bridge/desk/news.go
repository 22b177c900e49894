package desk

import (
	"context"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
)

// NewsRequest asks what happened after an id; with Wait the answer comes when
// there is something, or after that many seconds.
type NewsRequest struct {
	After  int64  `json:"after,omitempty"` // zero: the latest
	Limit  int    `json:"limit,omitempty"` // zero: 100
	Rental string `json:"rental,omitempty"`
	Wait   int    `json:"wait_seconds,omitempty"` // at most 30
}

// NewsAnswer is what happened, oldest first. Next is the After to go on with;
// it moves over news the asker may not see, too.
type NewsAnswer struct {
	News []bridge.News `json:"news"`
	Next int64         `json:"next"`
}

// News answers what happened: members see what concerns their own rentals.
func (d *Desk) News(ctx context.Context, p Person, q NewsRequest) (NewsAnswer, error) {
	f := NewsFilter{After: q.After, Limit: q.Limit}
	if f.Limit <= 0 || f.Limit > 1000 {
		f.Limit = 100
	}
	if q.Rental != "" {
		r, err := d.rental(ctx, p, q.Rental)
		if err != nil {
			return NewsAnswer{}, err
		}
		f.Rental = r.ID
	}
	ctx, cancel := context.WithTimeout(ctx, min(time.Duration(q.Wait)*time.Second, newsLongest))
	defer cancel()
	for a := (NewsAnswer{News: []bridge.News{}, Next: q.After}); ; {
		if err := d.readNews(context.WithoutCancel(ctx), p, &f, &a); err != nil {
			return NewsAnswer{}, err
		}
		if len(a.News) > 0 || q.Wait <= 0 {
			return a, nil
		}
		select {
		case <-ctx.Done():
			return a, nil
		case <-time.After(newsEvery):
		}
	}
}

// readNews adds what the person may see and moves on over the rest.
func (d *Desk) readNews(ctx context.Context, p Person, f *NewsFilter, a *NewsAnswer) error {
	news, err := d.Reader.News(ctx, *f)
	if err != nil {
		return unreadable(err)
	}
	own := map[bridge.RentalID]bool{}
	for i := range news {
		n := &news[i]
		a.Next = max(a.Next, n.ID)
		see := p.may(SeeAll) || n.Who == p.Name || n.Alert != nil && d.follows(ctx, p, n.Alert.Scope)
		if !see && n.Rental != "" {
			mine, known := own[n.Rental]
			if !known {
				r, err := d.Reader.Rental(ctx, n.Rental)
				mine = err == nil && p.owns(&r)
				own[n.Rental] = mine
			}
			see = mine
		}
		if see {
			a.News = append(a.News, *n)
		}
	}
	if a.Next > f.After && f.After > 0 {
		f.After = a.Next
	}
	return nil
}

// follows reports whether alerts of what a budget covers concern a person: who may
// approve above it, and who spends from the project that it is of.
func (d *Desk) follows(ctx context.Context, p Person, s bridge.Scope) bool {
	if d.approvesSome(p, s) {
		return true
	}
	mine, err := d.accountsOf(ctx, p)
	return err == nil && slices.Contains(mine, s.Account.Project())
}

// How news are followed: looks this often, and waits at most this long.
const (
	newsEvery   = 200 * time.Millisecond
	newsLongest = 30 * time.Second
)

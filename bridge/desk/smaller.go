package desk

import (
	"context"

	"spillway.sh/spillway/bridge"
)

// Smaller is less of what somebody asked for and was denied: the largest size
// that could be had at once with what is left now.
type Smaller struct {
	Size  int    `json:"size"`  // GPUs, or machines where machines were asked for
	Words string `json:"words"` // that ask for it
	Offer Quoted `json:"offer"` // the best for it
}

// mostSizes bounds how many sizes are tried one by one; larger ones are halved.
const mostSizes = 32

// smaller looks for less of what a rental was asked for. A job needs its size,
// so that there is none for it.
func (d *Desk) smaller(ctx context.Context, r *bridge.Rental) *Smaller {
	if r.State != bridge.StateClosed || r.Why != bridge.ReasonDenied || r.Extends != "" || len(r.Jobs) > 0 || d.Loop == nil {
		return nil
	}
	p := Person{Name: r.Requester, Roles: []Role{Member}}
	w, ok := d.wishOf(p, r)
	if !ok {
		return nil
	}
	req, err := d.understand(ctx, p, w, "rent")
	if err != nil {
		return nil // what cannot be asked for again cannot be had smaller
	}
	for n := less(sizeOf(&req.wish)); n > 0; n = less(n) {
		try := *req
		try.wish = resized(&req.wish, n)
		quotes, err := d.quotes(&try, English)
		if err != nil {
			return nil
		}
		if len(quotes) > 0 && quotes[0].Outcome == AtOnce && quotes[0].AtMost.Currency == r.Hold.Currency {
			return &Smaller{Size: n, Words: try.wish.String(), Offer: quotes[0]}
		}
	}
	return nil
}

func less(n int) int {
	if n > mostSizes {
		return n / 2
	}
	return n - 1
}

// sizeOf is the number in a wish that can be made smaller.
func sizeOf(w *Wish) int {
	if w.Machines > 0 {
		return w.Machines
	}
	return w.GPUs
}

// resized is a wish, as understood, for another size.
func resized(w *Wish, n int) Wish {
	out := *w
	if w.Machines > 0 {
		out.Machines = n
	} else {
		out.GPUs = n
	}
	return out
}

// resize is an earlier wish of the asker for another size.
func (d *Desk) resize(ctx context.Context, p Person, w Wish, n int) (Wish, error) {
	req, err := d.understand(ctx, p, w, "rent")
	if err != nil {
		return w, err
	}
	if now := sizeOf(&req.wish); n < 1 || n >= now || req.wish.Job != "" {
		return w, req.no(BadRequest, "spillway rent "+req.wish.String(), "%d is no smaller size than %d", n, now)
	}
	out := resized(&req.wish, n)
	if !out.Until.IsZero() {
		out.Seconds = 0 // it follows from the end
	}
	return out, nil
}

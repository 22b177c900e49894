package server

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// Judgement is what a ledger proves, whatever the customer's own books say.
type Judgement struct {
	// Machines counts all that ever started.
	Machines int
	// CostMicro is the bill per currency, in micro-units, each machine charged
	// by its step and minimum and rounded half to even. Machines that still run
	// are charged up to now.
	CostMicro map[bridge.Currency]int64
	// Bills are the machines' own parts of it, by id.
	Bills map[string]bridge.Money
	// Live are the machines without a stop.
	Live []string
	// Late are the machines that ran past their own end by more than a minute.
	Late []string
	// Untagged are the machines that started without any tag.
	Untagged []string
	// Doubles are creates that were made more than once: the same token, or the
	// same store, rental and attempt.
	Doubles []string
	// Overlaps are rentals of which machines of two attempts ran at one time.
	Overlaps []string
	// Reclaimed are the machines that the cloud took back.
	Reclaimed []string
}

// life is one machine's way through a ledger.
type life struct {
	start, stop *wire.Entry
	expires     time.Time
}

func (l life) end(now time.Time) time.Time {
	if l.stop != nil {
		return l.stop.At
	}
	return now
}

// Judge reads a ledger. It fails on one that contradicts itself.
func Judge(entries []wire.Entry, now time.Time) (Judgement, error) {
	j := Judgement{CostMicro: map[bridge.Currency]int64{}, Bills: map[string]bridge.Money{}}
	lives, order, err := livesOf(entries)
	if err != nil {
		return j, fmt.Errorf("judge ledger: %w", err)
	}
	for _, id := range order {
		l := lives[id]
		j.Machines++
		bill, err := charge(l, now)
		if err != nil {
			return j, fmt.Errorf("judge ledger: machine %s: %w", id, err)
		}
		j.Bills[id] = bill
		sum, err := bridge.Money{Micro: j.CostMicro[bill.Currency], Currency: bill.Currency}.Add(bill)
		if err != nil {
			return j, fmt.Errorf("judge ledger: %w", err)
		}
		j.CostMicro[bill.Currency] = sum.Micro
		if l.stop == nil {
			j.Live = append(j.Live, id)
		} else if l.stop.Why == endReclaimed {
			j.Reclaimed = append(j.Reclaimed, id)
		}
		if !l.expires.IsZero() && l.end(now).After(l.expires.Add(time.Minute)) {
			j.Late = append(j.Late, id)
		}
		if len(l.start.Tags) == 0 {
			j.Untagged = append(j.Untagged, id)
		}
	}
	j.Doubles = doubles(lives, order)
	j.Overlaps = overlaps(lives, order, now)
	return j, nil
}

func livesOf(entries []wire.Entry) (map[string]life, []string, error) {
	lives := map[string]life{}
	var order []string
	for i := range entries {
		e := &entries[i]
		l, known := lives[e.Machine]
		switch e.Kind {
		case wire.EntryStart:
			if known || e.Rate == nil || e.Pool == nil {
				return nil, nil, fmt.Errorf("line %d: start of %s is a second one or lacks pool or rate", e.Seq, e.Machine)
			}
			l.start, l.expires = e, e.Expires
			order = append(order, e.Machine)
		case wire.EntryStop:
			if !known || l.stop != nil {
				return nil, nil, fmt.Errorf("line %d: stop of %s without a start, or a second one", e.Seq, e.Machine)
			}
			l.stop = e
		case wire.EntryNotice, wire.EntryExtend:
			if !known {
				return nil, nil, fmt.Errorf("line %d: %s of %s without a start", e.Seq, e.Kind, e.Machine)
			}
			if e.Kind == wire.EntryExtend {
				l.expires = e.Expires
			}
		default:
			return nil, nil, fmt.Errorf("line %d: kind %q is unknown", e.Seq, e.Kind)
		}
		lives[e.Machine] = l
	}
	return lives, order, nil
}

// charge is the bill of one machine: started steps whole, never less than the
// minimum, and a part of what its life lacks of the term. A machine that runs is
// billed as if it ended now. The sums are a cloud's own, written apart from what
// its customers expect of it.
func charge(l life, now time.Time) (bridge.Money, error) {
	ran := max(l.end(now).Sub(l.start.At), time.Duration(l.start.Minimum))
	if step := time.Duration(l.start.Step); step > 0 && ran%step != 0 {
		ran += step - ran%step
	}
	if rest := time.Duration(l.start.Term) - ran; rest > 0 {
		fee := new(big.Int).Mul(big.NewInt(int64(rest)), big.NewInt(int64(l.start.EarlyPM)))
		up, part := fee.DivMod(fee, big.NewInt(1000), new(big.Int))
		if ran += time.Duration(up.Int64()); part.Sign() > 0 {
			ran++
		}
	}
	rate := bridge.Rate{Micro: l.start.Rate.Micro, Currency: bridge.Currency(l.start.Rate.Currency)}
	return rate.Cost(ran, 1, bridge.RoundHalfEven)
}

// doubles groups machines by what should have made them once and looks for
// more than one operation.
func doubles(lives map[string]life, order []string) []string {
	made := map[string][]string{}
	for _, id := range order {
		e := lives[id].start
		keys := []string{}
		if e.Token != "" {
			keys = append(keys, "token "+e.Cloud+" "+e.Token)
		}
		if e.Tags[bridge.TagRental] != "" {
			keys = append(keys, "rental "+strings.Join([]string{
				e.Tags[bridge.TagStore], e.Tags[bridge.TagRental], "attempt", e.Tags[bridge.TagAttempt],
			}, " "))
		}
		for _, key := range keys {
			if op := e.Cloud + " " + e.Operation; !slices.Contains(made[key], op) {
				made[key] = append(made[key], op)
			}
		}
	}
	var out []string
	for key, ops := range made {
		if len(ops) > 1 {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// overlaps finds rentals with two attempts alive at one time.
func overlaps(lives map[string]life, order []string, now time.Time) []string {
	byRental := map[string][]string{}
	for _, id := range order {
		tags := lives[id].start.Tags
		if tags[bridge.TagRental] != "" {
			key := tags[bridge.TagStore] + " " + tags[bridge.TagRental]
			byRental[key] = append(byRental[key], id)
		}
	}
	var out []string
	for key, ids := range byRental {
		if slices.ContainsFunc(ids, func(a string) bool {
			return slices.ContainsFunc(ids, func(b string) bool { return overlap(lives[a], lives[b], now) })
		}) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

func overlap(a, b life, now time.Time) bool {
	return a.start.Tags[bridge.TagAttempt] != b.start.Tags[bridge.TagAttempt] &&
		a.start.At.Before(b.end(now)) && b.start.At.Before(a.end(now))
}

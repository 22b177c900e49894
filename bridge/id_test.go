package bridge

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestRentalIDs holds that ids are read back, in every spelling people use,
// that different numbers have different ids, and that no single slip goes
// unnoticed.
func TestRentalIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, maxRentals-1).Draw(t, "n")
		id := NewRentalID(n)
		body := strings.TrimPrefix(string(id), "r-")
		if len(body) < minIDLen+1 || len(body) > maxIDLen+1 {
			t.Fatalf("%s has %d characters", id, len(body))
		}
		for _, spelling := range []string{string(id), body, strings.ToUpper(string(id)), " " + string(id) + "\n", strings.NewReplacer("0", "O", "1", "l").Replace(body)} {
			if got, err := ParseRentalID(spelling); err != nil || got != id {
				t.Fatalf("parse %q = %s, %v; want %s", spelling, got, err, id)
			}
		}
		if m := rapid.Int64Range(1, maxRentals-1).Draw(t, "m"); m != n && NewRentalID(m) == id {
			t.Fatalf("%d and %d are both %s", n, m, id)
		}
	})
}

// TestRentalIDSlips tries every single wrong character and every swap of
// neighbours of an id.
func TestRentalIDSlips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := strings.TrimPrefix(string(NewRentalID(rapid.Int64Range(1, maxRentals-1).Draw(t, "n"))), "r-")
		refuse := func(slip []byte) {
			if got, err := ParseRentalID(string(slip)); err == nil {
				t.Fatalf("%s for %s was taken as %s", slip, body, got)
			}
		}
		for i := range body {
			for _, c := range []byte(idAlphabet) {
				if c != body[i] {
					slip := []byte(body)
					slip[i] = c
					refuse(slip)
				}
			}
			if i > 0 && body[i] != body[i-1] {
				slip := []byte(body)
				slip[i], slip[i-1] = slip[i-1], slip[i]
				refuse(slip)
			}
		}
	})
}

// TestRentalIDGarbage holds that what is no id is refused with an example.
func TestRentalIDGarbage(t *testing.T) {
	for _, s := range []string{"", "r-", "r-12", "r-1234567", "r-00z0", "r-a b1", "x-0012", "r-é001"} {
		if got, err := ParseRentalID(s); err == nil {
			t.Errorf("%q was taken as %s", s, got)
		}
	}
	for _, n := range []int64{-1, 0, maxRentals} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("number %d has an id", n)
				}
			}()
			NewRentalID(n)
		}()
	}
}

// TestTokenDependsOnEverything holds that a create call that differs in
// anything has another token, and the same call the same.
func TestTokenDependsOnEverything(t *testing.T) {
	base := Launch{Rental: "r-0012", Attempt: 1, Pool: pool("a/b/c/d/spot"), Count: 2, MaxRate: Rate{5, "USD"}, Tags: map[string]string{"k": "v", "l": "w"}, UserData: "x", Expires: noon}
	other := map[string]func(*Launch){
		"rental":       func(l *Launch) { l.Rental = "r-0023" },
		"attempt":      func(l *Launch) { l.Attempt = 2 },
		"pool":         func(l *Launch) { l.Pool.Market = OnDemand },
		"count":        func(l *Launch) { l.Count = 3 },
		"rate":         func(l *Launch) { l.MaxRate.Micro = 6 },
		"currency":     func(l *Launch) { l.MaxRate.Currency = "EUR" },
		"tag":          func(l *Launch) { l.Tags = map[string]string{"k": "v", "l": "x"} },
		"tag's border": func(l *Launch) { l.Tags = map[string]string{"k": "v", "lw": ""} },
		"user data":    func(l *Launch) { l.UserData = "y" },
		"expiry":       func(l *Launch) { l.Expires = noon.Add(1e9) },
	}
	token := Token("store", base)
	if len(token) > 64 || token != Token("store", base) || token == Token("other", base) {
		t.Fatalf("token %q", token)
	}
	seen := map[string]string{token: "the same"}
	for name, change := range other {
		l := base
		change(&l)
		got := Token("store", l)
		if first, twice := seen[got]; twice {
			t.Errorf("a changed %s has the token of %s", name, first)
		}
		seen[got] = name
	}
}

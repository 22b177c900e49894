package store_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

// tamper runs SQL on a store's file behind its back.
func tamper(t testing.TB, dir string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "spillway.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range statements {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Errorf("%s: %v", q, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestLedgerCheckFindsWhatWasTamperedWith(t *testing.T) {
	loose := []string{"drop trigger ledger_keeps", "drop trigger ledger_stays", "drop trigger lines_keep", "drop trigger lines_stay"}
	for name, c := range map[string]struct{ change, want string }{
		"an amount":              {"update ledger set micro = micro + 1 where seq = 3", "transaction 3 is changed"},
		"a line":                 {"update lines set micro = micro + 1 where seq = 2 and book = 'held'", "transaction 2 is changed"},
		"a row taken out":        {"delete from lines where seq = 2; delete from ledger where seq = 2", "transaction 2 is missing"},
		"the last row taken out": {"delete from lines where seq = (select max(seq) from ledger); delete from ledger where seq = (select max(seq) from ledger)", "is missing"},
		"two rows exchanged": {`update ledger set seq = -3 where seq = 2; update ledger set seq = -2 where seq = 3; update ledger set seq = -seq where seq < 0;
			update lines set seq = -3 where seq = 2; update lines set seq = -2 where seq = 3; update lines set seq = -seq where seq < 0`, "transaction 2 is reordered"},
		"what is held":         {"update held set micro = micro - 1 where account = 'org/team'", "held of org/team"},
		"what was posted":      {"update posted set micro = 0 where account = 'org'", "posted of org"},
		"what is not posted":   {"delete from posted where account = 'org'", "is not stored"},
		"a hold":               {"update holds set total = total + 1", "hold of r-"},
		"a hold taken out":     {"delete from holds where closed = 0", "holds are stored"},
		"the cost of a row":    {`update rentals set body = json_set(body, '$.cost.micro', 7) where state = 'admitted'`, "cost"},
		"a cloud":              {"update ledger set cloud = 'south' where seq = 3", "transaction 3 is changed"},
		"a class of a hold":    {"update holds set gpu = 'h100'", "hold of r-"},
		"a line of nothing":    {"insert into lines values (2, 9, 'org', 'room', 0, 'USD')", "transaction 2 is changed"},
		"what a cloud posted":  {"update posted set cloud = 'south' where account = 'org'", "posted of org"},
		"text in two columns":  {"update ledger set who = 'a' || char(31) || 'b' where seq = 2", "transaction 2 is changed"},
		"the time of a hold":   {"update rentals set held_from = held_from + 1 where state = 'admitted'", "its hold from"},
		"the end of a hold":    {"update rentals set held_until = 7 where state = 'admitted'", "its hold from"},
		"a state":              {`update rentals set body = json_set(body, '$.state', 'closed') where state = 'admitted'`, "an open hold is there: true"},
		"a state held by none": {`update rentals set body = json_set(body, '$.state', 'joining') where state = 'waiting'`, "an open hold is there: false"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, newHands(noon))
			for range 2 {
				r := reach(t, s, bridge.StateAdmitted)
				r.Cost = usd(4)
				must[bridge.Rental](t)(s.Post(t.Context(), r))
				reach(t, s, bridge.StateWaiting)
			}
			checked(t, s)
			tamper(t, dir, append(loose, c.change)...)
			report := must[store.LedgerReport](t)(s.CheckLedger(t.Context()))
			if all := strings.Join(report.Faults, "\n"); report.Balanced() || !strings.Contains(all, c.want) {
				t.Errorf("found:\n%s\nwant %q", all, c.want)
			}
		})
	}
}

func TestLedgerAndNewsAreAppendOnly(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, newHands(noon))
	reach(t, s, bridge.StateSettled)
	if err := s.Tell(t.Context(), news(bridge.NewsFrozen)); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "spillway.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		"update ledger set memo = 'x'", "delete from ledger", "update lines set micro = 0", "delete from lines", "update news set body = '{}'", "delete from news",
	} {
		if _, err := db.ExecContext(t.Context(), q); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: got %v", q, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	checked(t, s)
}

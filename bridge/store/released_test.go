package store_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/store"
)

var update = flag.Bool("update", false, "write the store of the newest schema, as it is released, into testdata/released")

// firstReleased is the schema of the first version whose stores must live on;
// v1.sql has it, v2.sql the next.
const firstReleased = 3

// releasedFile is a store of a released version as text, ending in .sql, or
// what must come back of it, ending in .json.
func releasedFile(schema int, ending string) string {
	return filepath.Join("testdata", "released", fmt.Sprintf("v%d.%s", schema-firstReleased+1, ending))
}

// schemas are the numbers of all migrations there are.
func schemas(t *testing.T) (out []int) {
	t.Helper()
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d migrations: %v", len(files), err)
	}
	for _, f := range files {
		number, _, _ := strings.Cut(filepath.Base(f), "_")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

var schemaLine = regexp.MustCompile(`^-- schema (\d+)\n`)

// TestEveryReleasedSchemaHasItsStore fails when a migration is added and no
// store of that schema is kept: run it once with -update in the same change.
// Stores of older schemas are never written again.
func TestEveryReleasedSchemaHasItsStore(t *testing.T) {
	all := schemas(t)
	newest := all[len(all)-1]
	if *update {
		writeReleased(t, newest)
	}
	for i, n := range all {
		if n != i+1 {
			t.Errorf("migration %d is number %d", n, i+1)
		}
		if n < firstReleased {
			continue
		}
		text, err := os.ReadFile(releasedFile(n, "sql"))
		if err != nil {
			t.Errorf("no store of schema %d is kept; write it with: go test ./bridge/store -run %s -update", n, t.Name())
			continue
		}
		if m := schemaLine.FindSubmatch(text); m == nil || string(m[1]) != strconv.Itoa(n) {
			t.Errorf("%s does not say that it is of schema %d", releasedFile(n, "sql"), n)
		}
	}
}

// TestReleasedStoresLiveOn holds that the store of each version comes back as it
// was: books, balances, rentals and all else.
func TestReleasedStoresLiveOn(t *testing.T) {
	for _, n := range schemas(t) {
		if n < firstReleased {
			continue
		}
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			dir := loaded(t, releasedFile(n, "sql"))
			s := open(t, dir, newHands(eve))
			got := recall(t, s)
			want, err := os.ReadFile(releasedFile(n, "json"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-was +is):\n%s", diff)
			}
			checked(t, s)
		})
	}
}

// eve is when the kept stores end: the time at which tests of the engine begin.
var eve = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// loaded is a data directory with a store that was kept as text.
func loaded(t *testing.T, file string) (dir string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(dir, "spillway.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), string(text))
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// recall is all that a store says of itself, but for its epoch.
func recall(t *testing.T, s *store.Store) string {
	t.Helper()
	ctx := t.Context()
	long := eve.Add(365 * 24 * time.Hour)
	report := checked(t, s)
	all := map[string]any{
		"store": s.StoreID(), "head": report.Head, "transactions": report.Transactions, "open_holds": report.OpenHolds, "held": report.Held, "posted": report.Posted,
		"rentals":     must[[]bridge.Rental](t)(s.Recent(ctx, 1000)),
		"live":        ids(must[[]bridge.Rental](t)(s.Live(ctx))),
		"balances":    must[[]bridge.Balance](t)(s.Balances(ctx, eve, releasedBudgets())),
		"marks":       must[bridge.Marks](t)(s.Marks(ctx)),
		"news":        must[[]bridge.News](t)(s.News(ctx, store.NewsFilter{Limit: 1000})),
		"usage":       must[[]bridge.Usage](t)(s.Usage(ctx, time.Unix(0, 0), long)),
		"bills":       must[[]bridge.BillLine](t)(s.BillLines(ctx, "a", time.Unix(0, 0), long)),
		"corrections": must[[]bridge.Correction](t)(s.Corrections(ctx, time.Unix(0, 0), long)),
		"charges":     must[[]bridge.Charge](t)(s.ChargesBetween(ctx, time.Unix(0, 0), long)),
		"parcels":     must[[]bridge.Parcel](t)(s.Parcels(ctx, 100)),
		"knocks":      must[[]bridge.Knock](t)(s.Knocks(ctx, 100)),
		"copies":      must[[]bridge.Copy](t)(s.Copies(ctx, "rental/1")),
		"cursor":      must[int64](t)(s.NewsCursor(ctx)),
		"given":       must[int64](t)(s.Given(ctx)),
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

func releasedBudgets() []bridge.Budget {
	return []bridge.Budget{budget("org", 1000, true), budget("org/team", 5, false), narrow(budget("org", 500, true), "a", "a100")}
}

// dump is a database as the statements that make it again.
func dump(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	list := func(query string) (out [][2]string) {
		r, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		for r.Next() {
			var row [2]string
			if err := r.Scan(&row[0], &row[1]); err != nil {
				t.Fatal(err)
			}
			out = append(out, row)
		}
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		return out
	}
	var b strings.Builder
	b.WriteString("pragma foreign_keys = off;\nbegin;\n")
	tables := list(`select name, sql from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name`)
	for _, table := range tables {
		b.WriteString(table[1] + ";\n")
	}
	b.WriteString("delete from sqlite_sequence;\n")
	for _, table := range append(tables, [2]string{"sqlite_sequence"}) {
		var cells []string
		for _, c := range list(`select name, '' from pragma_table_info('` + table[0] + `')`) {
			cell := `quote("` + c[0] + `")`
			if c[0] == "tstamp" {
				cell = `'''2000-01-01 00:00:00'''` // when the schema was made
			}
			cells = append(cells, cell)
		}
		for _, row := range list(`select ` + strings.Join(cells, ` || ',' || `) + `, '' from "` + table[0] + `" order by 1`) {
			fmt.Fprintf(&b, "insert into %q values (%s);\n", table[0], row[0])
		}
	}
	for _, rest := range list(`select name, sql from sqlite_schema where type <> 'table' and sql is not null order by name`) {
		b.WriteString(rest[1] + ";\n")
	}
	b.WriteString("commit;\n")
	return b.String()
}

// writeReleased writes the store of the newest schema, and what must come back
// of it.
func writeReleased(t *testing.T, schema int) {
	t.Helper()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), dir, store.Options{Now: newHands(eve).now, StoreID: "released"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	clock := newHands(eve.Add(-62 * time.Minute))
	s = open(t, dir, clock)
	live(t, s, clock)
	recalled := recall(t, s)
	for file, text := range map[string]string{
		releasedFile(schema, "sql"):  fmt.Sprintf("-- schema %d\n%s", schema, dump(t, filepath.Join(dir, "spillway.db"))),
		releasedFile(schema, "json"): recalled,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

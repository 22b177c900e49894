package server_test

import (
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/bill"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// The bill is readable as FOCUS, and its lines come to what the ledger proves.
func TestBillIsFOCUSAndComesToTheCharge(t *testing.T) {
	start := time.Date(2026, 11, 30, 22, 10, 0, 0, time.UTC)
	entry := func(id, cloud string, at time.Time) wire.Entry {
		return wire.Entry{
			At: at, Kind: wire.EntryStart, Cloud: cloud, Machine: id, Account: "default", Pool: &wire.Pool{Region: "east", Zone: "east-1", Type: "gpu8", Market: "spot"},
			Rate: &wire.Rate{Micro: 12_800_000, Currency: "USD"}, Step: wire.Duration(time.Second), Minimum: wire.Duration(time.Minute),
			Tags: map[string]string{bridge.TagRental: "r-0011"},
		}
	}
	entries := []wire.Entry{
		entry("m-1", "nimbus", start), entry("m-2", "other", start), entry("m-3", "nimbus", start.Add(time.Hour)),
		{At: start.Add(2*time.Hour + 17*time.Second), Kind: wire.EntryStop, Machine: "m-1", Cloud: "nimbus"},
	}
	now := start.Add(3 * time.Hour)
	var out strings.Builder
	if err := server.WriteBill(&out, "nimbus", entries, now); err != nil {
		t.Fatal(err)
	}
	f, err := bill.Read(strings.NewReader(out.String()), bill.Options{Cloud: "nimbus", Now: now})
	if err != nil {
		t.Fatal(err)
	}
	sums, invoices := map[string]int64{}, map[string]bool{}
	for _, l := range f.Lines {
		sums[l.Machine] += l.Amount.Micro
		invoices[l.Invoice] = true
		if l.Rental != "r-0011" || l.Kind != bill.KindUsage {
			t.Errorf("%+v", l)
		}
	}
	judged, err := server.Judge(entries, now)
	if err != nil {
		t.Fatal(err)
	}
	if !f.FOCUS || sums["m-1"] != judged.Bills["m-1"].Micro || len(sums) != 2 {
		t.Errorf("billed %v, the ledger proves %v", sums, judged.Bills)
	}
	// m-3 runs: of its two hours the first 50 minutes, and one more hour, are over.
	if want := int64(12_800_000 * 110 / 60); sums["m-3"] < want-1 || sums["m-3"] > want+1 {
		t.Errorf("m-3 is billed %d, want %d", sums["m-3"], want)
	}
	if !invoices["nimbus-2026-11"] || !invoices["nimbus-2026-12"] {
		t.Errorf("invoices %v", invoices)
	}
}

package bill

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"spillway.sh/spillway/bridge"
)

var now = time.Date(2026, 12, 3, 9, 0, 0, 0, time.UTC)

const focusHeader = "BilledCost,BillingAccountId,BillingCurrency,BillingPeriodStart,ChargeCategory,ChargeClass,ChargeDescription,ChargePeriodEnd,ChargePeriodStart,InvoiceId,ResourceId,SkuId,Tags,x_Cost\n"

// focusRow is one line of FOCUS.
func focusRow(cost, category, class, from, to, resource, tags string) string {
	return fmt.Sprintf("%s,acct,USD,2026-11-01T00:00:00Z,%s,%s,8 GPUs,%s,%s,INV-1,%s,sku1,%s,9\n", cost, category, class, to, from, resource, tags)
}

const tagged = `"{""spillway-rental"":""r-0011"",""team"":""ai""}"`

func read(t *testing.T, text string, o Options) (*File, error) {
	t.Helper()
	o.Cloud, o.Now = "north", now
	return Read(strings.NewReader(text), o)
}

func TestFOCUSIsRead(t *testing.T) {
	f, err := read(t, focusHeader+
		focusRow("1.2345675", "Usage", "", "2026-11-30T08:00:00Z", "2026-11-30T09:00:00Z", "i-1", tagged)+
		focusRow("1.5E-05", "Usage", "", "2026-11-30 09:00:00", "2026-11-30 10:00:00", "i-1", `"{""user:spillway-rental"":""r-0011""}"`)+
		focusRow("-0.50", "Credit", "null", "2026-11-30T09:00:00Z", "2026-11-30T10:00:00Z", "i-1", "")+
		focusRow("-0.25", "Usage", "Correction", "2026-11-30T09:00:00Z", "2026-11-30T10:00:00Z", "i-1", "")+
		focusRow("3.10", "Tax", "", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z", "", ""), Options{})
	if err != nil {
		t.Fatal(err)
	}
	type short struct {
		Kind, Machine string
		Rental        bridge.RentalID
		Micro         int64
		Invoice       string
		Row           int
	}
	var got []short
	for _, l := range f.Lines {
		got = append(got, short{l.Kind, l.Machine, l.Rental, l.Amount.Micro, l.Invoice, l.Row})
	}
	want := []short{
		{KindUsage, "i-1", "r-0011", 1_234_568, "INV-1", 2}, // half to even
		{KindUsage, "i-1", "r-0011", 15, "INV-1", 3},
		{KindCredit, "i-1", "", -500_000, "INV-1", 4},
		{KindRefund, "i-1", "", -250_000, "INV-1", 5},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Sum{{KindTax, 1, bridge.Money{Micro: 3_100_000, Currency: "USD"}}}, f.Loose); d != "" {
		t.Error(d)
	}
	if !f.FOCUS || f.Rows != 5 || !f.From.Equal(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)) || !f.To.Equal(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", f)
	}
}

// A line keeps its key when it is invoiced, and when a figure of it changes: so
// it is found to have changed.
func TestALineIsKnownByWhatItIsOf(t *testing.T) {
	key := func(row string) string {
		f, err := read(t, focusHeader+row, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return f.Lines[0].Key
	}
	row := focusRow("1.00", "Usage", "", "2026-11-30T08:00:00Z", "2026-11-30T09:00:00Z", "i-1", tagged)
	was := key(row)
	for _, same := range []string{
		strings.Replace(row, "INV-1", "", 1), strings.Replace(row, "1.00", "2.00", 1), strings.Replace(row, ",9\n", ",8\n", 1), strings.Replace(row, "team", "squad", 1),
	} {
		if key(same) != was {
			t.Errorf("another key for %s", same)
		}
	}
	for _, other := range []string{
		strings.Replace(row, "i-1", "i-2", 1), strings.Replace(row, "sku1", "sku2", 1), strings.Replace(row, "T09", "T10", 1), strings.Replace(row, "Usage", "Tax", 1),
	} {
		if key(other) == was {
			t.Errorf("the same key for %s", other)
		}
	}
}

const chinese = "账期,实例ID,实例标签,消费类型,计费项,消费开始时间,消费结束时间,应付金额,币种\n" +
	"2026-11,i-bp1\t,key:spillway-rental value:r-0011; key:team value:算法,后付费,GPU 实例,2026-11-30 16:00:00,2026-11-30 17:00:00,88.120000,CNY\n" +
	"2026-11,i-bp1,spillway-rental:r-0011,退款,GPU 实例,2026/11/30 17:00:00,2026/11/30 18:00:00,-1.5,人民币\n"

var chineseColumns = Columns{
	FieldMachine: "实例ID", FieldTags: "实例标签", FieldKind: "消费类型", FieldText: "计费项", FieldFrom: "消费开始时间", FieldTo: "消费结束时间",
	FieldAmount: "应付金额", FieldCurrency: "币种",
}

func TestFilesOfChineseCloudsAreRead(t *testing.T) {
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	gb, err := simplifiedchinese.GB18030.NewEncoder().String(chinese)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(chinese)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(gb)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text string
		want Encoding
	}{
		"plain": {chinese, UTF8}, "marked": {"\uFEFF" + chinese, UTF8}, "gb18030": {gb, GB18030}, "utf-16": {wide, UTF16}, "packed": {packed.String(), GB18030},
		"spreadsheet's line ends": {strings.ReplaceAll("\uFEFF"+chinese, "\n", "\r\n"), UTF8},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := read(t, c.text, Options{Columns: chineseColumns, Zone: shanghai})
			if err != nil {
				t.Fatal(err)
			}
			if f.Encoding != c.want || len(f.Lines) != 2 {
				t.Fatalf("%s, %d lines", f.Encoding, len(f.Lines))
			}
			want := bridge.BillLine{
				Cloud: "north", Invoice: "2026-11", Machine: "i-bp1", Rental: "r-0011", Kind: KindUsage, Text: "GPU 实例", Amount: bridge.Money{Micro: 88_120_000, Currency: "CNY"},
				From: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC), To: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), Key: f.Lines[0].Key,
			}
			if d := cmp.Diff(want, f.Lines[0].BillLine); d != "" {
				t.Error(d)
			}
			if l := f.Lines[1]; l.Kind != KindRefund || l.Amount != (bridge.Money{Micro: -1_500_000, Currency: "CNY"}) || l.Rental != "r-0011" {
				t.Errorf("%+v", l)
			}
		})
	}
}

func TestMonthsAndFixedCurrenciesAreRead(t *testing.T) {
	f, err := read(t, "id,cost,month\ni-1,7.5,202611\n", Options{
		Columns: Columns{FieldMachine: "id", FieldAmount: "cost", FieldMonth: "month"}, Currency: "EUR", Invoice: "R-77",
	})
	if err != nil {
		t.Fatal(err)
	}
	l := f.Lines[0]
	if l.Invoice != "R-77" || l.Amount != (bridge.Money{Micro: 7_500_000, Currency: "EUR"}) || l.To.Sub(l.From) != 30*24*time.Hour {
		t.Errorf("%+v", l)
	}
}

func TestFaultsOfABillHaveTheirPlace(t *testing.T) {
	good := focusRow("1.00", "Usage", "", "2026-11-30T08:00:00Z", "2026-11-30T09:00:00Z", "i-1", "")
	row := func(old, with string) string {
		return focusHeader + good + strings.Replace(strings.Replace(good, "i-1", "i-2", 1), old, with, 1)
	}
	cases := map[string]struct {
		text string
		want Fault
	}{
		"no amount":           {row("1.00", "1,000.00"), Fault{Line: 3, Kind: FaultMalformed, Got: "15 cells under 14 headings"}},
		"amount in words":     {row("1.00", "$1"), Fault{Line: 3, Column: 1, Name: "BilledCost", Kind: FaultAmount, Got: "$1"}},
		"endless amount":      {row("1.00", "1e999999999"), Fault{Line: 3, Column: 1, Name: "BilledCost", Kind: FaultAmount, Got: "1e999999999"}},
		"empty amount":        {row("1.00", ""), Fault{Line: 3, Column: 1, Name: "BilledCost", Kind: FaultEmpty}},
		"negative price":      {row("1.00", "-1.00"), Fault{Line: 3, Column: 1, Name: "BilledCost", Kind: FaultNegative, Got: "-1.00"}},
		"unknown currency":    {row("USD", "XYZ"), Fault{Line: 3, Column: 3, Name: "BillingCurrency", Kind: FaultCurrency, Got: "XYZ"}},
		"unknown kind":        {row("Usage", "Fun"), Fault{Line: 3, Column: 5, Name: "ChargeCategory", Kind: FaultKindWord, Got: "Fun", Want: knownKinds()}},
		"no time":             {row("2026-11-30T09:00:00Z", "yesterday"), Fault{Line: 3, Column: 8, Name: "ChargePeriodEnd", Kind: FaultTime, Got: "yesterday", Want: wantTime}},
		"reversed":            {row("2026-11-30T09:00:00Z", "2026-11-30T07:00:00Z"), Fault{Line: 3, Column: 8, Name: "ChargePeriodEnd", Kind: FaultReversed, Got: "2026-11-30T07:00:00Z", Want: "2026-11-30T08:00:00Z"}},
		"future":              {row("2026-11-30T09:00:00Z", "2027-01-01T00:00:00Z"), Fault{Line: 3, Column: 8, Name: "ChargePeriodEnd", Kind: FaultFuture, Got: "2027-01-01T00:00:00Z"}},
		"bad tags":            {row("sku1,", `sku1,"{""a"":"`), Fault{Line: 3, Column: 13, Name: "Tags", Kind: FaultTags, Got: "read tags: unexpected end of JSON input"}},
		"the same line twice": {focusHeader + good + good, Fault{Line: 3, Kind: FaultDuplicate, Want: "2"}},
		"quote in a cell":     {row("8 GPUs", `8" GPUs`), Fault{Line: 3, Kind: FaultMalformed, Got: `bare " in non-quoted-field`}},
		"too few cells":       {focusHeader + good + "1.00,acct\n", Fault{Line: 3, Kind: FaultMalformed, Got: "2 cells under 14 headings"}},
		"garbled":             {row("8 GPUs", "8 \xff GPUs") + strings.Repeat("x", 1), Fault{Line: 3, Column: 7, Name: "ChargeDescription", Kind: FaultEncoding, Want: "gb18030"}},
		"no column": {strings.Replace(focusHeader, "BilledCost", "Cost", 1) + good, Fault{Line: 1, Kind: FaultColumn, Got: "BilledCost", Want: strings.TrimSpace(
			strings.ReplaceAll(strings.Replace(focusHeader, "BilledCost", "Cost", 1), ",", ", "))}},
		"a column twice": {strings.Replace(focusHeader, "InvoiceId", "BilledCost", 1) + good, Fault{Line: 1, Column: 1, Kind: FaultTwice, Got: "BilledCost"}},
		"nothing":        {focusHeader, Fault{Kind: FaultNothing}},
		"empty":          {"", Fault{Kind: FaultNothing}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, c.text, Options{})
			faults, ok := errors.AsType[*Faults](err)
			if !ok {
				t.Fatalf("read with %v", err)
			}
			if d := cmp.Diff(c.want, faults.List[0]); d != "" {
				t.Error(d)
			}
			if s := faults.Error(); strings.Contains(s, "%!") || strings.Contains(s, "EXTRA") {
				t.Errorf("said as %q", s)
			}
		})
	}
}

func TestAllFaultsAreSaidUpToABound(t *testing.T) {
	var b strings.Builder
	b.WriteString(focusHeader)
	for i := range 30 {
		b.WriteString(focusRow("much", "Usage", "", "2026-11-30T08:00:00Z", "2026-11-30T09:00:00Z", fmt.Sprintf("i-%d", i), ""))
	}
	_, err := read(t, b.String(), Options{})
	faults, ok := errors.AsType[*Faults](err)
	if !ok || len(faults.List) != MostFaults || !faults.More {
		t.Fatalf("%v", err)
	}
	if got := faults.List[MostFaults-1]; got.Line != MostFaults+1 {
		t.Errorf("the last is on line %d", got.Line)
	}
}

func TestLongFilesAreRefusedAndProgressIsTold(t *testing.T) {
	var b strings.Builder
	b.WriteString(focusHeader)
	for i := range 2 * progressEvery {
		b.WriteString(focusRow("1", "Usage", "", "2026-11-30T08:00:00Z", "2026-11-30T09:00:00Z", fmt.Sprintf("i-%d", i), ""))
	}
	var told []int
	if _, err := read(t, b.String(), Options{Progress: func(n int) { told = append(told, n) }}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int{progressEvery, 2 * progressEvery}, told); d != "" {
		t.Error(d)
	}
	_, err := read(t, b.String(), Options{Most: 100})
	if faults, ok := errors.AsType[*Faults](err); !ok || faults.List[0].Kind != FaultMost {
		t.Errorf("read with %v", err)
	}
}

func TestColumnsAreParsed(t *testing.T) {
	c, err := ParseColumns("machine=InstanceID, amount=实付金额 ,from=Start,to=End")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Columns{FieldMachine: "InstanceID", FieldAmount: "实付金额", FieldFrom: "Start", FieldTo: "End"}, c); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"", "machine", "machine=", "size=3", "machine=a,machine=b,amount=c", "amount=c", "machine=a,amount=c", "machine=a,month=b"} {
		if _, err := ParseColumns(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestEveryFaultHasWords(t *testing.T) {
	for _, k := range []FaultKind{
		FaultMalformed, FaultEncoding, FaultColumn, FaultTwice, FaultEmpty, FaultAmount, FaultCurrency, FaultTime, FaultReversed, FaultFuture,
		FaultKindWord, FaultNegative, FaultTags, FaultDuplicate, FaultMost, FaultNothing, FaultRate,
	} {
		if faultWords[k] == "" {
			t.Errorf("no words for %s", k)
		}
	}
}

package bill

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Field is one thing a line of a bill says.
type Field string

// The fields. A plain file needs an amount, one of machine, rental and tags,
// and from and to or a month.
const (
	FieldInvoice  Field = "invoice"
	FieldKey      Field = "key"
	FieldMachine  Field = "machine"
	FieldRental   Field = "rental"
	FieldTags     Field = "tags"
	FieldFrom     Field = "from"
	FieldTo       Field = "to"
	FieldMonth    Field = "month"
	FieldKind     Field = "kind"
	FieldAmount   Field = "amount"
	FieldCurrency Field = "currency"
	FieldText     Field = "text"
)

// Fields are all of them, in the order in which people are told of them.
var Fields = []Field{
	FieldMachine, FieldRental, FieldTags, FieldAmount, FieldCurrency, FieldFrom, FieldTo, FieldMonth, FieldKind, FieldInvoice, FieldKey, FieldText,
}

// Columns says in which column of a plain file each field is; nil: FOCUS.
type Columns map[Field]string

var errTooLong = errors.New("the file is longer than 256 MiB")

// ParseColumns reads machine=InstanceID,amount=Cost and so on.
func ParseColumns(s string) (Columns, error) {
	c := Columns{}
	for pair := range strings.SplitSeq(s, ",") {
		field, column, given := strings.Cut(pair, "=")
		f, column := Field(strings.TrimSpace(field)), strings.TrimSpace(column)
		switch {
		case !given || column == "":
			return nil, fmt.Errorf("read columns: %q: want FIELD=COLUMN", pair)
		case !slices.Contains(Fields, f):
			return nil, fmt.Errorf("read columns: no field is called %q; there are %s", f, joined(Fields))
		case c[f] != "":
			return nil, fmt.Errorf("read columns: %s is given twice", f)
		}
		c[f] = column
	}
	switch {
	case c[FieldAmount] == "":
		return nil, errors.New("read columns: no column is the amount; for example amount=Cost")
	case c[FieldMachine] == "" && c[FieldRental] == "" && c[FieldTags] == "":
		return nil, errors.New("read columns: no column says what was rented; for example machine=InstanceID")
	case (c[FieldFrom] == "" || c[FieldTo] == "") && c[FieldMonth] == "":
		return nil, errors.New("read columns: no columns say when; for example from=Start,to=End, or month=Month")
	}
	return c, nil
}

func joined(fields []Field) string {
	out := make([]string, 0, len(fields))
	for _, f := range fields {
		out = append(out, string(f))
	}
	return strings.Join(out, ", ")
}

// focus are the columns of FOCUS 1.0 to 1.3 that matter here. Invoices have
// numbers from 1.2 on.
var focus = Columns{
	FieldInvoice: "InvoiceId", FieldMachine: "ResourceId", FieldTags: "Tags", FieldFrom: "ChargePeriodStart", FieldTo: "ChargePeriodEnd",
	FieldKind: "ChargeCategory", FieldAmount: "BilledCost", FieldCurrency: "BillingCurrency", FieldText: "ChargeDescription",
}

// focusNeeds are the ones without which a file is not FOCUS.
var focusNeeds = []Field{FieldAmount, FieldCurrency, FieldFrom, FieldTo, FieldKind}

// focusNames are what a line of FOCUS is known by: the standard has no number
// for it. The invoice is none of them, so that a line that is exported before and
// after it was invoiced is one line.
var focusNames = []string{
	"BillingAccountId", "SubAccountId", "BillingPeriodStart", "ChargePeriodStart", "ChargePeriodEnd", "ChargeCategory", "ChargeClass",
	"ChargeFrequency", "ChargeDescription", "ResourceId", "RegionId", "AvailabilityZone", "ServiceName", "SkuId", "SkuPriceId", "SkuMeter",
	"PricingCategory", "CommitmentDiscountId", "CommitmentDiscountStatus",
}

// figure are parts of names of a provider's own columns that hold figures,
// which may change, and therefore are no names.
var figure = []string{"cost", "price", "quantity", "amount", "discount", "rate", "date", "time", "ingest", "tag"}

// names reports whether a column is part of what a line of FOCUS is known by.
func names(column string) bool {
	if slices.Contains(focusNames, column) {
		return true
	}
	low := strings.ToLower(column)
	return strings.HasPrefix(low, "x_") && !slices.ContainsFunc(figure, func(w string) bool { return strings.Contains(low, w) })
}

// layout is where the fields are in a file.
type layout struct {
	header []string
	at     map[Field]int
	key    []int // columns that a line is known by where no key is given
	focus  bool
	class  int // ChargeClass of FOCUS; negative: none
	period int // BillingPeriodStart; negative: none
	payer  int // BillingAccountId; negative: none
}

// arrange finds the columns in a header.
func arrange(header []string, c Columns, faults *Faults) *layout {
	l := &layout{header: header, at: map[Field]int{}, focus: c == nil}
	if l.focus {
		c = focus
	}
	find := func(name string) int { return slices.Index(header, name) }
	l.class, l.period, l.payer = -1, -1, -1
	if l.focus {
		l.class, l.period, l.payer = find("ChargeClass"), find("BillingPeriodStart"), find("BillingAccountId")
	}
	for _, f := range Fields {
		name, wanted := c[f]
		if !wanted {
			continue
		}
		i := find(name)
		switch {
		case i >= 0 && slices.Contains(header[i+1:], name):
			faults.add(Fault{Line: 1, Column: i + 1, Kind: FaultTwice, Got: name})
		case i >= 0:
			l.at[f] = i
		case !l.focus || slices.Contains(focusNeeds, f):
			faults.add(Fault{Line: 1, Kind: FaultColumn, Got: name, Want: shown(header)})
		}
	}
	if _, given := l.at[FieldKey]; !given {
		l.key = l.known()
	}
	return l
}

// known are the columns that a line is known by where no key is given.
func (l *layout) known() []int {
	var out []int
	if l.focus {
		for i, name := range l.header {
			if names(name) {
				out = append(out, i)
			}
		}
		return out
	}
	for _, f := range []Field{FieldMachine, FieldRental, FieldTags, FieldFrom, FieldTo, FieldMonth, FieldKind, FieldText} {
		if i, ok := l.at[f]; ok {
			out = append(out, i)
		}
	}
	return out
}

func shown(header []string) string {
	const most = 40
	if len(header) > most {
		return strings.Join(header[:most], ", ") + " …"
	}
	return strings.Join(header, ", ")
}

// IsFOCUS reports whether a header is one of FOCUS.
func IsFOCUS(header []string) bool {
	return !slices.ContainsFunc(focusNeeds, func(f Field) bool { return !slices.Contains(header, focus[f]) })
}

package page

import (
	"spillway.sh/spillway/bridge/report"
)

// card is a key figure, with one that goes with it.
type card struct {
	Name, Value, Unit string
	BesideName        string
	Beside            string
	Part              report.Part
}

// keys are the figures of the cards, by part, row and the row that goes with it.
var keys = []struct {
	part         report.Part
	row, besides string
}{
	{report.PartSpend, "elastic", "elastic-share"},
	{report.PartSpend, "last-week", "change-share"},
	{report.PartSpend, "forecast-likely", "forecast-high"},
	{report.PartWait, "saved", "per-hour"},
	{report.PartUse, "utilisation", "source"},
	{report.PartUse, "per-useful", ""},
	{report.PartUse, "unused", "unused-share"},
	{report.PartSpot, "spot-saving", "spot-saving-share"},
}

// cardsOf are the key figures that the report has.
func cardsOf(parts []report.Section) []card {
	var out []card
	for _, k := range keys {
		r, c := find(parts, k.part, k.row)
		if c.Value == "" {
			continue
		}
		x := card{Name: r.Name, Value: c.Value, Unit: c.Unit, Part: k.part}
		if b, bc := find(parts, k.part, k.besides); bc.Value != "" {
			x.BesideName, x.Beside = b.Name, bc.String()
		}
		out = append(out, x)
	}
	return out
}

// find is a row of a part's table of figures, which has the part's name.
func find(parts []report.Section, p report.Part, id string) (report.Row, report.Cell) {
	for i := range parts {
		if parts[i].Part != p {
			continue
		}
		for _, t := range parts[i].Tables {
			for _, r := range t.Rows {
				if t.ID == string(p) && r.ID == id {
					return r, r.Cells[0]
				}
			}
		}
	}
	return report.Row{}, report.Cell{}
}

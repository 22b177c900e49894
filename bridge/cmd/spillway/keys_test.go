package main

import (
	"reflect"
	"strings"
	"testing"

	"spillway.sh/spillway/bot"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/bill"
	"spillway.sh/spillway/bridge/cmd/spillway/drill"
	"spillway.sh/spillway/bridge/desk"
)

// keys are the names of a struct's fields in JSON.
func keys(t reflect.Type) []string {
	var out []string
	for f := range t.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && tag == "":
			out = append(out, keys(f.Type)...)
		case f.IsExported() && tag != "-":
			out = append(out, tag)
		}
	}
	return out
}

// What scripts may rely on is said in the help of the command that prints it.
func TestHelpNamesEveryKeyOfItsJSON(t *testing.T) {
	for _, c := range []struct {
		help    string
		answers []any
	}{
		{queueCmd{}.Help(), []any{desk.QueueAnswer{}, desk.QueueRow{}}},
		{explainCmd{}.Help(), []any{desk.ExplainAnswer{}}},
		{checkpointsCmd{}.Help(), []any{desk.CheckpointsAnswer{}, bridge.CheckpointRule{}, bridge.PassedCheckpoint{}}},
		{rentalsCmd{}.Help(), []any{desk.RentalsAnswer{}, desk.RentalAnswer{}, desk.Rental{}, desk.Machine{}, bridge.Report{}, bridge.Check{}, bridge.Stage{}}},
		{spendCmd{}.Help(), []any{desk.SpendAnswer{}, desk.Balance{}}},
		{planCmd{}.Help(), []any{desk.PlanAnswer{}, desk.Planned{}, desk.Returned{}}},
		{newsCmd{}.Help(), []any{bridge.News{}, bridge.Alert{}, bridge.Scope{}}},
		{statusCmd{}.Help(), []any{desk.StatusAnswer{}, desk.ClusterView{}, desk.CloudView{}}},
		{whoamiCmd{}.Help(), []any{desk.WhoAmIAnswer{}, desk.Person{}}},
		{quoteCmd{}.Help(), []any{desk.QuoteAnswer{}, desk.Quoted{}, desk.Local{}}},
		{rentCmd{}.Help(), []any{desk.RentAnswer{}}},
		{extendCmd{}.Help(), []any{desk.ExtendAnswer{}}},
		{keepCmd{}.Help(), []any{desk.KeepAnswer{}}},
		{cancelCmd{}.Help(), []any{desk.CancelAnswer{}}},
		{budgetCmd{}.Help(), []any{desk.BudgetAnswer{}}},
		{reportCmd{}.Help(), []any{desk.ReportAnswer{}, desk.Day{}, bridge.Forecast{}}},
		{pricesCmd{}.Help(), []any{desk.PricesAnswer{}, desk.Priced{}}},
		{releaseCmd{}.Help(), []any{desk.ReleaseAnswer{}, desk.Released{}, byTagAnswer{}, tagged{}}},
		{approveCmd{}.Help(), []any{desk.DecideAnswer{}, desk.QuestionAnswer{}, desk.Question{}}},
		{denyCmd{}.Help(), []any{desk.DecideAnswer{}}},
		{drillCmd{}.Help(), []any{drill.Result{}, drill.Step{}}},
		{billCheckCmd{}.Help(), []any{billOf{}, billRead{}, bill.Case{}, bill.StrayLine{}, bill.Sum{}, bridge.Correction{}}},
		{ledgerCheckCmd{}.Help(), []any{desk.LedgerAnswer{}}},
		{doctorCmd{}.Help(), []any{doctorAnswer{}, finding{}}},
		{botDoctorCmd{}.Help(), []any{botDoctorAnswer{}, bot.Finding{}}},
		{checkConfigCmd{}.Help(), []any{checkAnswer{}, mistake{}}},
		{versionCmd{}.Help(), []any{build{}}},
	} {
		named := map[string]bool{}
		for _, w := range strings.FieldsFunc(c.help, func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz_", r) }) {
			named[w] = true
		}
		for _, a := range c.answers {
			for _, key := range keys(reflect.TypeOf(a)) {
				if !named[key] {
					t.Errorf("%T has the key %q, which its command's help does not name", a, key)
				}
			}
		}
	}
}

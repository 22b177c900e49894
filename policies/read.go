package policies

import (
	"strings"
	"time"
	_ "time/tzdata" // zones of budgets on hosts that have none installed

	"golang.org/x/text/currency"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// reader fills a File from a document.
type reader struct {
	file     *File
	zone     *time.Location
	defaults layer
	classes  map[bridge.Class]layer
	pending  []pendingRule
}

// read goes through the file twice: what other keys depend on first, whatever
// the order they are written in.
func (r *reader) read(root strict.Node) {
	f := r.file
	f.optOut.words = []string{wordStay}
	f.exchange.maxAge = exchangeAge
	version := 0
	var exchange, prices, capacity, budgets, base, classes, rules, approval strict.Node
	later := func(dst *strict.Node) func(strict.Node) { return func(n strict.Node) { *dst = n } }
	root.Object(
		strict.Need("version", "version: 1", strict.Whole(&version, 1, 1)),
		strict.Need("organisation", "organisation: lab", strict.Text(&f.organisation, level)),
		strict.Need("currency", "currency: USD", strict.Text(&f.currency, isoCurrency)),
		strict.Need("mode", "mode: observe", strict.Choice(&f.mode, Observe, Burst)),
		strict.May("zone", "zone: Europe/Berlin", zone(&r.zone)),
		strict.May("roles", "roles: {admins: [root], approvers: [ana]}", r.roles),
		strict.May("approval", "approval: {two_above: 1000 USD}", later(&approval)),
		strict.May("watch", "watch: {idle_tell: 20m, unowned: 15m}", r.readWatch),
		strict.Need("accounts", `accounts: [{account: "*", to: "all/{account}"}]`, r.mappings),
		strict.May("opt_out", "opt_out: {partitions: [interactive]}", r.optOuts),
		strict.May("defaults", "defaults: {idle: 10m}", later(&base)),
		strict.May("classes", "classes: {P1: {wait: 15m}}", later(&classes)),
		strict.Need("rules", "rules: [{name: everyone, class: P1}]", later(&rules)),
		strict.May("exchange", "exchange: {max_age: 7d, file: rates.csv}", later(&exchange)),
		strict.May("prices", priceExample, later(&prices)),
		strict.May("capacity", "capacity: [{name: own, kind: owned, gpu: a100, gpus: 64, cost: 1.10 USD/h}]", later(&capacity)),
		strict.May("budgets", "budgets: [{account: lab, every: month, zone: UTC, limit: 500 USD}]", later(&budgets)),
	)
	for _, section := range []struct {
		node strict.Node
		read func(strict.Node)
	}{
		{exchange, r.readExchange}, {prices, r.readPrices}, {capacity, r.readCapacity}, {budgets, r.readBudgets}, {approval, r.readApproval}, {base, r.readDefaults}, {classes, r.readClasses}, {rules, r.readRules},
	} {
		if section.node.Given() {
			section.read(section.node)
		}
	}
}

func (r *reader) roles(n strict.Node) {
	n.Object(
		strict.May("admins", "admins: [root]", strict.Texts(&r.file.roles.Admins, person)),
		strict.May("approvers", `approvers: [ana, "@finance"]`, strict.Texts(&r.file.roles.Approvers, person)),
	)
}

func isoCurrency(s string) string {
	if _, err := currency.ParseISO(s); err != nil || s != strings.ToUpper(s) {
		return "not a currency code of ISO 4217"
	}
	return ""
}

// zone reads an IANA zone. "Local" would mean another day on another host.
func zone(dst **time.Location) func(strict.Node) {
	return func(n strict.Node) {
		var name string
		strict.Text(&name)(n)
		if name == "" {
			return
		}
		loc, err := time.LoadLocation(name)
		if err != nil || name == "Local" {
			n.Fault("unknown zone: want a name of the IANA list")
			return
		}
		*dst = loc
	}
}

// whole prints money as the file has it.
func whole(m bridge.Money) string {
	s := strings.TrimSuffix(m.String(), " "+string(m.Currency))
	return strings.TrimSuffix(s, ".00") + " " + string(m.Currency)
}

func (r *reader) organisation() string {
	if r.file.organisation == "" {
		return "lab"
	}
	return r.file.organisation
}

func (r *reader) code() string {
	if r.file.currency == "" {
		return "USD"
	}
	return string(r.file.currency)
}

package policies

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// Mode says whether anything may be bought at all.
type Mode string

// The modes. Even in burst mode an account without a budget buys nothing.
const (
	Observe Mode = "observe"
	Burst   Mode = "burst"
)

// File is a policy file that was read without a mistake.
type File struct {
	name         string
	organisation string
	currency     bridge.Currency
	mode         Mode
	roles        Roles
	accounts     []mapping
	optOut       optOut
	rules        []rule
	leaves       []leaf // of the rules' conditions
	unruled      terms  // of a job that no rule matches
	budgets      []bridge.Budget
	approval     bridge.Approval
	exchange     exchange
	prices       []bridge.PriceRange
	capacity     []bridge.Capacity
	watch        bridge.Watch
	objects      strict.Faults // paths in object storage, as faults if there is none
	warnings     strict.Faults

	budgetClouds, budgetClasses []named
}

// Roles are who may do what beyond their own things: Unix accounts, or groups
// with a leading @.
type Roles struct {
	Admins    []string `json:"admins"`
	Approvers []string `json:"approvers"` // for every account, up to hard budgets
}

// Load reads a policy file. Mistakes in it come as strict.Faults.
func Load(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	return Parse(path, data)
}

// Parse reads the text of a policy file; name is used in faults. The error is
// strict.Faults: every mistake, in the order of lines.
func Parse(name string, data []byte) (*File, error) {
	doc := strict.Parse(name, data)
	r := reader{file: &File{name: name}}
	r.read(doc.Root())
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return r.file, nil
}

//go:embed default.yaml
var defaultFile []byte

// DefaultText is the shipped policy: safe on any site, it observes only.
func DefaultText() []byte { return slices.Clone(defaultFile) }

// Default is the shipped policy, read.
func Default() (*File, error) { return Parse("default.yaml", defaultFile) }

// Name is the file's name as given to Load or Parse.
func (f *File) Name() string { return f.name }

// Organisation is the first level of every account.
func (f *File) Organisation() string { return f.organisation }

// Currency is the one currency of the file.
func (f *File) Currency() bridge.Currency { return f.currency }

// Mode says whether anything may be bought at all.
func (f *File) Mode() Mode { return f.mode }

// Budgets are all budgets, in the order of the file. Approvers of a budget may
// approve above that one; who has the role of approver may approve above any.
func (f *File) Budgets() []bridge.Budget {
	out := slices.Clone(f.budgets)
	for i := range out {
		out[i].Approvers = slices.Clone(out[i].Approvers)
	}
	return out
}

// Roles are the admins and the approvers of everything.
func (f *File) Roles() Roles {
	return Roles{slices.Clone(f.roles.Admins), slices.Clone(f.roles.Approvers)}
}

// Approvers returns who may be asked about what is spent in a scope: the
// approvers of everything, then those of the budgets that cover it, widest
// account first, nobody twice. Who may exceed one certain budget is in Budgets.
func (f *File) Approvers(spent bridge.Scope) []string {
	return f.approvers(spent.Account, func(b *bridge.Budget) bool { return b.Scope().Covers(spent) })
}

// approversOf returns who may be asked about anything that an account spends.
func (f *File) approversOf(account bridge.Account) []string {
	return f.approvers(account, func(*bridge.Budget) bool { return true })
}

func (f *File) approvers(account bridge.Account, asks func(*bridge.Budget) bool) []string {
	out := slices.Clone(f.roles.Approvers)
	for _, a := range account.Ancestors() {
		for i := range f.budgets {
			if b := &f.budgets[i]; b.Account == a && asks(b) {
				out = append(out, b.Approvers...)
			}
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(who string) bool {
		again := seen[who]
		seen[who] = true
		return again
	})
}

// Clouds are the names that rules limit jobs to, and those of contracts, sorted:
// each must be a cloud of the configuration, or less is rented than the file says.
func (f *File) Clouds() []string {
	var out []string
	for i := range f.rules {
		out = append(out, f.rules[i].terms.Clouds...)
	}
	for i := range f.capacity {
		if cloud := f.capacity[i].Cloud; cloud != "" {
			out = append(out, cloud)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// AccountOf maps a job's scheduler account to organisation/team/project, or
// returns false if the file maps it to none.
func (f *File) AccountOf(d *bridge.Demand) (bridge.Account, bool) {
	for i := range f.accounts {
		if m := &f.accounts[i]; m.matches(d) {
			return m.target(f.organisation, d.Account)
		}
	}
	return "", false
}

// funded reports whether any budget limits the account or the user in it. What
// no budget limits is never bought.
func (f *File) funded(account bridge.Account, user string) bool {
	whole := string(account) + "/" + user + "/"
	return slices.ContainsFunc(f.budgets, func(b bridge.Budget) bool {
		return strings.HasPrefix(whole, string(b.Account)+"/")
	})
}

package config

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"golang.org/x/text/currency"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// Inventory is the file of `spillway plugin pool`: machines that stand there
// already and are reached by SSH. Paths are absolute.
type Inventory struct {
	Types    []MachineType
	Machines []OwnMachine
}

// MachineType is what machines of one kind have and cost.
type MachineType struct {
	Name      string
	CPUs      int
	MemoryMiB int
	DiskMiB   int
	GPUs      int
	GPUType   string
	Features  []string
	Network   bridge.Network
	Price     bridge.Rate // of an hour
	Boot      time.Duration
	Step      time.Duration // of billing
	Minimum   time.Duration
	// Region, Zone and Most are a vendor's: see Vendor.
	Region string
	Zone   string
	Most   int
}

// SSH is the way into machines.
type SSH struct {
	User    string
	Port    int
	KeyFile string
	HostKey string // "ssh-ed25519 AAAA…"
}

// OwnMachine is one machine of an inventory.
type OwnMachine struct {
	Name    string
	Address string
	Type    string
	Region  string
	Zone    string
	SSH     SSH
}

// regionDefault is the region of machines that name none.
const regionDefault = "site"

// ReadInventory reads and checks an inventory; every mistake is told at once.
func ReadInventory(path string) (*Inventory, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read inventory: %w", err)
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("read inventory: %w", err)
	}
	return parseInventory(path, text)
}

func parseInventory(path string, text []byte) (*Inventory, error) {
	doc := strict.Parse(path, text)
	inv, version := &Inventory{}, 0
	access := SSH{User: "root", Port: 22}
	root := doc.Root()
	fill := func(n strict.Node) { machinesOf(n, path, inv, access) }
	// What machines refer to is read first, wherever it stands.
	if n, ok := root.Get("ssh"); ok {
		n.Object(sshKeys(path, &access)...)
	}
	if n, ok := root.Get("types"); ok {
		machineTypes(&inv.Types, false)(n.With(typeExample))
	}
	root.Object(
		strict.Need("version", "version: 1", strict.Whole(&version, 1, 1)),
		strict.May("ssh", "ssh: {user: root, key_file: pool.key}", func(strict.Node) {}),
		strict.Need("types", typeExample, func(strict.Node) {}),
		strict.Need("machines", machineExample, fill),
	)
	if err := doc.Err(); err != nil {
		return nil, fmt.Errorf("read inventory: %w", err)
	}
	return inv, nil
}

const (
	typeExample    = "types: [{name: a100x8, cpus: 96, memory_mib: 1000000, gpus: 8, gpu_type: a100, price: 40.00 CNY}]"
	machineExample = `machines: [{name: gpu01, address: 10.0.0.11, type: a100x8, host_key: "ssh-ed25519 AAAA…"}]`
)

// machineTypes reads a list of types; a vendor's have a place and a bound.
func machineTypes(dst *[]MachineType, sold bool) func(strict.Node) {
	return func(n strict.Node) {
		lines := map[string]int{}
		strict.Each(func(e strict.Node) {
			t := MachineType{Step: time.Second, Boot: 2 * time.Minute, Region: regionDefault}
			fields := []strict.Field{
				strict.Need("name", "name: a100x8", strict.Text(&t.Name, name)),
				strict.Need("cpus", "cpus: 96", strict.Whole(&t.CPUs, 1, 1<<16)),
				strict.Need("memory_mib", "memory_mib: 1000000", strict.Whole(&t.MemoryMiB, 1, 1<<40)),
				strict.May("disk_mib", "disk_mib: 2000000", strict.Whole(&t.DiskMiB, 0, 1<<50)),
				strict.May("gpus", "gpus: 8", strict.Whole(&t.GPUs, 0, 1024)),
				strict.May("gpu_type", "gpu_type: a100", strict.Text(&t.GPUType, word)),
				strict.May("features", "features: [a100]", strict.Texts(&t.Features, name)),
				strict.May("network", "network: 100g", strict.Choice(&t.Network, bridge.NetworkFast, bridge.NetworkVast, bridge.NetworkRDMA)),
				strict.Need("price", "price: 40.00 CNY", pricePerHour(&t.Price)),
				strict.May("boot", "boot: 2m", strict.Span(&t.Boot, 0, 4*time.Hour)),
				strict.May("step", "step: 1h", strict.Span(&t.Step, time.Second, 31*24*time.Hour)),
				strict.May("minimum", "minimum: 1h", strict.Span(&t.Minimum, 0, 31*24*time.Hour)),
			}
			if sold {
				fields = append(fields,
					strict.May("region", "region: bj", strict.Text(&t.Region, name)),
					strict.May("zone", "zone: bj-1", strict.Text(&t.Zone, name)),
					strict.May("most", "most: 8", strict.Whole(&t.Most, 1, 1000)),
				)
			}
			if e.Object(fields...) && (t.GPUs > 0) != (t.GPUType != "") {
				e.With("gpus: 8, gpu_type: a100").Fault("gpus and gpu_type belong together")
			}
			once(e, lines, t.Name, "type")
			*dst = append(*dst, t)
		})(n)
		if n.IsList() && len(*dst) == 0 {
			n.With(typeExample).Refuse("names no type")
		}
	}
}

// machinesOf reads the machines, each with the way in of all unless it says otherwise.
func machinesOf(n strict.Node, path string, inv *Inventory, access SSH) {
	lines, addresses := map[string]int{}, map[string]int{}
	strict.Each(func(e strict.Node) {
		m := OwnMachine{Region: regionDefault, SSH: access}
		whole := e.Object(append([]strict.Field{
			strict.Need("name", "name: gpu01", strict.Text(&m.Name, name)),
			strict.Need("address", "address: 10.0.0.11", strict.Text(&m.Address, hostAlone)),
			strict.Need("type", "type: a100x8", strict.Text(&m.Type, name)),
			strict.May("region", "region: site", strict.Text(&m.Region, name)),
			strict.May("zone", "zone: hall-1", strict.Text(&m.Zone, name)),
			strict.Need("host_key", `host_key: "ssh-ed25519 AAAA…"`, strict.Text(&m.SSH.HostKey, hostKey)),
		}, sshKeys(path, &m.SSH)...)...)
		once(e, lines, m.Name, "machine")
		if whole && m.SSH.KeyFile == "" {
			e.With("key_file: pool.key").Refuse("names no key to come in with: give key_file here, or ssh: {key_file: …} for all")
		}
		if at, ok := e.Get("type"); ok && m.Type != "" && !slices.ContainsFunc(inv.Types, func(t MachineType) bool { return t.Name == m.Type }) {
			at.Fault("there is no type of this name under types")
		}
		door := fmt.Sprintf("%s:%d", m.Address, m.SSH.Port)
		if at, ok := e.Get("address"); ok && m.Address != "" && addresses[door] > 0 {
			at.Fault(fmt.Sprintf("the machine on line %d has this address and port too", addresses[door]))
		}
		addresses[door] = cmp.Or(addresses[door], e.Line())
		inv.Machines = append(inv.Machines, m)
	})(n)
	if n.IsList() && len(inv.Machines) == 0 {
		n.With(machineExample).Refuse("names no machine")
	}
}

// sshKeys are the keys of a way in.
func sshKeys(path string, s *SSH) []strict.Field {
	return []strict.Field{
		strict.May("user", "user: root", strict.Text(&s.User, account)),
		strict.May("port", "port: 22", strict.Whole(&s.Port, 1, 65535)),
		strict.May("key_file", "key_file: pool.key", keyFile(path, &s.KeyFile)),
	}
}

var accountName = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,31}$`)

func account(s string) string {
	if !accountName.MatchString(s) {
		return "want the name of an account, such as root"
	}
	return ""
}

// hostAlone is the check of an address that goes to ssh as it is.
func hostAlone(s string) string {
	if strings.HasPrefix(s, "-") || strings.ContainsAny(s, " /,@'\"\t") || strings.Count(s, ":") == 1 {
		return "want a host name or address without a port"
	}
	return ""
}

var hostKeyForm = regexp.MustCompile(`^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521)|sk-ssh-ed25519@openssh\.com) ([A-Za-z0-9+/=]+)(?: .*)?$`)

// hostKey is the check of a host's public key.
func hostKey(s string) string {
	m := hostKeyForm.FindStringSubmatch(s)
	if m == nil {
		return "want the host's public key, as ssh-keyscan prints it behind the address: a kind and the key"
	}
	// A key says its own kind once more: its length in four bytes, then the name.
	blob, err := base64.StdEncoding.DecodeString(m[2])
	if err != nil || strings.ContainsAny(s, "\n\r") || len(blob) < 4+len(m[1])+32 || string(blob[4:4+len(m[1])]) != m[1] {
		return "the key is not whole"
	}
	return ""
}

// HostKeyWrong says what is wrong with a host's public key; empty: nothing.
func HostKeyWrong(s string) string { return hostKey(s) }

// AddressWrong says what is wrong with the address of a machine; empty: nothing.
func AddressWrong(s string) string { return hostAlone(s) }

// keyFile reads the path of a private key, which must be there and be nobody
// else's to read: ssh refuses it otherwise.
func keyFile(file string, dst *string) func(strict.Node) {
	return func(n strict.Node) {
		strict.Text(dst)(n)
		if *dst == "" {
			return
		}
		if !filepath.IsAbs(*dst) {
			*dst = filepath.Join(filepath.Dir(file), *dst)
		}
		info, err := os.Stat(*dst)
		switch {
		case err != nil:
			n.Refuse(fmt.Sprintf("the key cannot be read: %v", err))
		case !info.Mode().IsRegular():
			n.Refuse("is no file")
		case info.Mode().Perm()&0o077 != 0:
			n.Refuse(fmt.Sprintf("others can read the key (mode %04o): chmod 600 it", info.Mode().Perm()))
		}
	}
}

var priceForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ([A-Z]{3})$`)

// priceMost is more than any machine costs in an hour, in any currency.
const priceMost = 1_000_000

// pricePerHour reads what a machine costs in an hour.
func pricePerHour(dst *bridge.Rate) func(strict.Node) {
	return func(n strict.Node) {
		s, _ := n.Scalar()
		m := priceForm.FindStringSubmatch(s)
		if m == nil {
			n.Fault("want the price of an hour with its currency, such as 40.00 CNY")
			return
		}
		d, err := decimal.NewFromString(m[1])
		if err != nil {
			n.Fault("not an amount of money")
			return
		}
		d = d.Shift(6)
		_, err = currency.ParseISO(m[2])
		switch {
		case err != nil:
			n.Fault(m[2] + " is no currency of ISO 4217")
		case !d.IsInteger():
			n.Fault("finer than a millionth, which is the smallest unit counted")
		case d.IsZero():
			n.Fault("nothing is free: say what an hour of it costs the site, with power and room; budgets and the choice count with it")
		case d.GreaterThan(decimal.NewFromInt(priceMost * bridge.Micro)):
			n.Fault(fmt.Sprintf("more than an hour can cost: at most %d", priceMost))
		default:
			*dst = bridge.Rate{Micro: d.IntPart(), Currency: bridge.Currency(m[2])}
		}
	}
}

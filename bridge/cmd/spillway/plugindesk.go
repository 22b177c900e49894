package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge/cloud/plugin/desk"
	"spillway.sh/spillway/bridge/cloud/plugin/host"
	"spillway.sh/spillway/bridge/cloud/plugin/serve"
	"spillway.sh/spillway/bridge/config"
)

type pluginDeskCmd struct {
	Serve    deskServeCmd    `cmd:"" help:"Answer one request of the daemon."`
	List     deskListCmd     `cmd:"" help:"Tickets, their machines, and letters that nobody took yet."`
	Deliver  deskDeliverCmd  `cmd:"" help:"The machines of a ticket are there: say where."`
	Refuse   deskRefuseCmd   `cmd:"" help:"A ticket will not be delivered."`
	Returned deskReturnedCmd `cmd:"" help:"Machines went back to the vendor: their meter stops."`
}

// Help gives examples.
func (pluginDeskCmd) Help() string {
	return `Examples:
  spillway plugin desk deliver DZK4QA --vendor vendor.yaml --name jianmi --address 10.0.0.5 --host-key 'ssh-ed25519 AAAA…'
  spillway plugin desk refuse DZK4QA --vendor vendor.yaml --name jianmi --why 'sold out'
  spillway plugin desk returned DZK4QA --vendor vendor.yaml --name jianmi
  spillway plugin desk list --vendor vendor.yaml --name jianmi

The daemon's configuration:
  clouds: [{name: jianmi, plugin: {command: [spillway, plugin, desk, serve, --vendor, /etc/spillway/jianmi.yaml], timeout: 2m}}]
  limits: {launch: 40m}                               as long as a delivery may take, and some more

The vendor's file:
  version: 1
  vendor: 简米科技
  ssh: {user: root, key_file: desk.key}
  channels: [{name: ops, kind: feishu, url_file: feishu.url}]    kinds: webhook, slack, feishu, wecom, dingtalk
  types:
    - {name: a100x8, cpus: 96, memory_mib: 1000000, gpus: 8, gpu_type: a100, price: 96.00 CNY, boot: 25m, step: 1h, minimum: 1h}
  deliver: 30m                                        then the order is withdrawn
  remind: 10m
  remind_return: 30m
  lang: both                                          en, zh or both`
}

// deskFlags are those of every command of a desk.
type deskFlags struct {
	Vendor string `required:"" help:"File of what the vendor sells, and whom to tell." placeholder:"FILE"`
	State  string `help:"Folder of the orders (default: ${pluginstate}/desk-NAME, by the cloud's name)." placeholder:"DIR"`
	Name   string `help:"The cloud's name in the daemon's configuration." placeholder:"NAME"`
}

func (f *deskFlags) open(name string) (*desk.Desk, error) {
	v, err := config.ReadVendor(f.Vendor)
	if err != nil {
		return nil, err
	}
	dir, err := stateOf(f.State, "desk", name)
	if err != nil {
		return nil, err
	}
	file, err := filepath.Abs(f.Vendor)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", f.Vendor, err)
	}
	where := " --name " + name
	if f.State != "" {
		where = " --state " + f.State
	}
	o := desk.Options{
		Version: version, Dir: dir, Vendor: v.Name, Lang: v.Lang, Deliver: v.Deliver, Remind: v.Remind, RemindReturn: v.Return, Now: utcNow,
		Access: host.Host{Port: v.SSH.Port, User: v.SSH.User, KeyFile: v.SSH.KeyFile},
		Answer: func(what, ticket string) string {
			return "spillway plugin desk " + what + " " + ticket + " --vendor " + file + where
		},
	}
	for i := range v.Types {
		o.Types = append(o.Types, desk.Type{Offer: offerOf(&v.Types[i]), Most: v.Types[i].Most})
	}
	for _, c := range v.Channels {
		o.Channels = append(o.Channels, desk.Channel{Name: c.Name, Kind: desk.Kind(c.Kind), URL: c.URL.Reveal})
	}
	return desk.New(o)
}

type deskServeCmd struct{ deskFlags }

// Run answers a request of the protocol.
func (c *deskServeCmd) Run(a *app) error {
	return serve.Answer(a.ctx, a.in, a.out, func(name string, _ json.RawMessage) (serve.Cloud, error) { return c.open(name) })
}

type deskListCmd struct {
	format
	deskFlags
	All bool `help:"Those that are over, too."`
}

// Help names the keys.
func (deskListCmd) Help() string {
	return `JSON keys: orders[] (ticket, status, deadline, loan (type, expires, machines[]), returns), letters[] (those that a channel has not taken).`
}

// Run lists tickets.
func (c *deskListCmd) Run(a *app) error {
	d, err := c.open(c.Name)
	if err != nil {
		return badPlugin(err, "spillway plugin desk list --vendor vendor.yaml --name jianmi")
	}
	orders, letters, err := d.Orders()
	if err != nil {
		return err
	}
	if !c.All {
		orders = slices.DeleteFunc(orders, func(o desk.Order) bool { return o.Loan.All(host.Released) })
	}
	for i := range orders {
		orders[i].Loan.UserData = "" // it holds a machine's ticket to enrol
	}
	var rows []string
	for i := range orders {
		rows = append(rows, deskRows(&orders[i])...)
	}
	return c.print(a, map[string]any{"orders": append([]desk.Order{}, orders...), "letters": append([]desk.Letter{}, letters...)}, func(p *page) {
		p.table("TICKET\tSTATUS\tMACHINE\tTYPE\tADDRESS\tPHASE\tUNTIL\tSAID", rows)
		for i := range letters {
			p.line("Letter %s is not taken: %s", letters[i].ID, letters[i].Outbox.Said)
		}
	})
}

func deskRows(o *desk.Order) []string {
	var rows []string
	for i := range o.Loan.Machines {
		m := &o.Loan.Machines[i]
		rows = append(rows, row(o.Ticket, o.Status, m.ID, o.Loan.Type, m.Host.Address, m.Phase, o.Loan.Expires.Format(time.RFC3339), m.Said))
	}
	return rows
}

type deskDeliverCmd struct {
	format
	deskFlags
	Ticket  string   `arg:"" help:"The ticket."`
	Address []string `required:"" sep:"none" help:"Address of a machine; once for each." placeholder:"HOST"`
	HostKey []string `sep:"none" help:"Its SSH host key, in the same order; one for all that have the same." placeholder:"KEY"`
	Trust   bool     `help:"Take the host keys that the machines show now. Whoever answers at the address is believed."`
}

// Help gives examples.
func (deskDeliverCmd) Help() string {
	return `Examples:
  spillway plugin desk deliver DZK4QA --vendor vendor.yaml --name jianmi --address 10.0.0.5 --host-key 'ssh-ed25519 AAAA…'
  spillway plugin desk deliver DZK4QA --vendor vendor.yaml --name jianmi --address 10.0.0.5 --address 10.0.0.6 --trust

All machines of a ticket are named together. They are booted at once; one that cannot be reached yet is tried again with every look
of the daemon. A delivery that comes too late is not used: the machines are listed as returning, and cost, until their return is
confirmed. Exit code 7: too late, or a machine does not let us in.

JSON keys: ticket, status, late, machines[] (id, host, phase, said).`
}

// Run delivers.
func (c *deskDeliverCmd) Run(a *app) error {
	try := "spillway plugin desk deliver --help"
	d, err := c.open(c.Name)
	if err != nil {
		return badPlugin(err, try)
	}
	brought, err := c.brought(a)
	if err != nil {
		return badPlugin(err, try)
	}
	got, err := d.Deliver(a.ctx, c.Ticket, brought)
	if err != nil {
		return badPlugin(err, "spillway plugin desk list --vendor "+c.Vendor+" --name "+c.Name)
	}
	err = c.print(a, got, func(p *page) {
		p.table("MACHINE\tADDRESS\tPHASE\tSAID", answerRows(&got))
		if got.Late {
			p.line("Too late: ticket %s is %s, and these machines are not used. Give them back to the vendor now, and confirm it by: spillway plugin desk returned %s", got.Ticket, got.Status, got.Ticket)
		}
	})
	if err == nil && (got.Late || slices.ContainsFunc(got.Machines, func(m host.Machine) bool { return m.Phase == host.Booting })) {
		return errFound
	}
	return err
}

func answerRows(got *desk.Answer) []string {
	var rows []string
	for i := range got.Machines {
		m := &got.Machines[i]
		rows = append(rows, row(m.ID, m.Host.Address, m.Phase, m.Said))
	}
	return rows
}

// brought pairs addresses with host keys.
func (c *deskDeliverCmd) brought(a *app) ([]desk.Brought, error) {
	var out []desk.Brought
	if !c.Trust && len(c.HostKey) != 1 && len(c.HostKey) != len(c.Address) {
		return nil, fmt.Errorf("%d addresses and %d host keys: give --host-key for each address, one for all, or --trust", len(c.Address), len(c.HostKey))
	}
	for i, address := range c.Address {
		if wrong := config.AddressWrong(address); wrong != "" {
			return nil, fmt.Errorf("address %q: %s", address, wrong)
		}
		key := ""
		switch {
		case len(c.HostKey) == len(c.Address):
			key = c.HostKey[i]
		case len(c.HostKey) == 1:
			key = c.HostKey[0]
		default:
			shown, err := c.shown(a, address)
			if err != nil {
				return nil, err
			}
			key = shown
		}
		if wrong := config.HostKeyWrong(key); wrong != "" {
			return nil, fmt.Errorf("host key of %s: %s", address, wrong)
		}
		out = append(out, desk.Brought{Address: address, HostKey: key})
	}
	return out, nil
}

// shown is the host key that a machine shows now.
func (c *deskDeliverCmd) shown(a *app, address string) (string, error) {
	v, err := config.ReadVendor(c.Vendor)
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(a.ctx, "ssh-keyscan", "-T", "10", "-t", "ed25519,ecdsa,rsa", "-p", fmt.Sprint(v.SSH.Port), address).Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its host key: %w", address, err)
	}
	var keys []string
	for line := range strings.SplitSeq(string(out), "\n") {
		if _, key, ok := strings.Cut(line, " "); ok && !strings.HasPrefix(line, "#") {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return "", fmt.Errorf("%s shows no host key at port %d", address, v.SSH.Port)
	}
	slices.SortFunc(keys, func(x, y string) int { return strings.Compare(y, x) }) // ssh-ed25519 and ssh-rsa before ecdsa
	i := max(0, slices.IndexFunc(keys, func(k string) bool { return strings.HasPrefix(k, "ssh-ed25519 ") }))
	fmt.Fprintf(a.errs, "%s shows %s\n", address, keys[i])
	return keys[i], nil
}

type deskRefuseCmd struct {
	format
	deskFlags
	Ticket string `arg:"" help:"The ticket."`
	Why    string `default:"sold out" help:"Why, as people read it later." placeholder:"TEXT"`
}

// Help gives an example.
func (deskRefuseCmd) Help() string {
	return `Examples:
  spillway plugin desk refuse DZK4QA --vendor vendor.yaml --name jianmi --why 'no A100 before Friday'

The order counts as sold out, and Spillway looks elsewhere. JSON keys: ticket, status, machines[].`
}

// Run refuses.
func (c *deskRefuseCmd) Run(a *app) error {
	d, err := c.open(c.Name)
	if err != nil {
		return badPlugin(err, "spillway plugin desk refuse --help")
	}
	got, err := d.Refuse(a.ctx, c.Ticket, c.Why)
	if err != nil {
		return badPlugin(err, "spillway plugin desk list --vendor "+c.Vendor+" --name "+c.Name)
	}
	return c.print(a, got, func(p *page) { p.line("Ticket %s is %s.", got.Ticket, got.Status) })
}

type deskReturnedCmd struct {
	format
	deskFlags
	Ticket  string   `arg:"" help:"The ticket."`
	Machine []string `help:"Only this machine; may be given several times." placeholder:"ID"`
	At      string   `help:"When it went back, where that was earlier: 2026-12-01T12:00:00Z." placeholder:"TIME"`
	Taken   bool     `help:"The vendor took machines that were in use."`
}

// Help gives examples.
func (deskReturnedCmd) Help() string {
	return `Examples:
  spillway plugin desk returned DZK4QA --vendor vendor.yaml --name jianmi
  spillway plugin desk returned DZK4QA --vendor vendor.yaml --name jianmi --machine DZK4QA-2 --at 2026-12-01T12:00:00Z

The meter of a machine stops with this word and not before. JSON keys: ticket, status, machines[] (id, host, phase, stopped).`
}

// Run confirms a return.
func (c *deskReturnedCmd) Run(a *app) error {
	var at time.Time
	if c.At != "" {
		var err error
		if at, err = time.Parse(time.RFC3339, c.At); err != nil {
			return badPlugin(fmt.Errorf("--at %q: want a time such as 2026-12-01T12:00:00Z", c.At), "spillway plugin desk returned --help")
		}
	}
	d, err := c.open(c.Name)
	if err != nil {
		return badPlugin(err, "spillway plugin desk returned --help")
	}
	got, err := d.Returned(a.ctx, c.Ticket, c.Machine, at.UTC(), c.Taken)
	if err != nil {
		return badPlugin(err, "spillway plugin desk list --vendor "+c.Vendor+" --name "+c.Name)
	}
	return c.print(a, got, func(p *page) { p.table("MACHINE\tADDRESS\tPHASE\tSAID", answerRows(&got)) })
}

package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/shopspring/decimal"

	"spillway.sh/spillway/bridge/cloud/plugin/host"
	lend "spillway.sh/spillway/bridge/cloud/plugin/pool"
	"spillway.sh/spillway/bridge/cloud/plugin/serve"
	"spillway.sh/spillway/bridge/cloud/plugin/wire"
	"spillway.sh/spillway/bridge/config"
	"spillway.sh/spillway/bridge/desk"
)

type pluginCmd struct {
	Pool pluginPoolCmd `cmd:"" help:"A cloud of machines that are reached by SSH."`
	Desk pluginDeskCmd `cmd:"" help:"A cloud of machines that come by ticket, and the answers of people to it."`
}

// Help gives examples.
func (pluginCmd) Help() string {
	return `Examples:
  spillway plugin pool --inventory machines.yaml --check
  spillway plugin desk list --vendor vendor.yaml

Both are programs of the protocol for plugins, see deploy/docs/clouds/plugin.md; the daemon starts them by its configuration:
  clouds: [{name: mine, plugin: {command: [spillway, plugin, pool, --inventory, /etc/spillway/machines.yaml]}}]`
}

// pluginState is where a plugin keeps what must not be forgotten, by its cloud.
const pluginState = "/var/lib/spillway/plugins"

type pluginPoolCmd struct {
	format
	Inventory string `required:"" help:"File of the machines." placeholder:"FILE"`
	State     string `help:"Folder of what is claimed (default: ${pluginstate}/pool-NAME, by the cloud's name)." placeholder:"DIR"`
	Name      string `help:"With --check and --forget: the cloud's name in the daemon's configuration." placeholder:"NAME"`
	Check     bool   `xor:"what" help:"Look at every machine, and say what is in the way. Nothing is claimed."`
	Forget    string `xor:"what" help:"Free a claim that is being given back and cannot be: you know that the machine is off or was set up anew." placeholder:"ID"`
}

// Help gives examples.
func (pluginPoolCmd) Help() string {
	return `Examples:
  spillway plugin pool --inventory machines.yaml --name mine --check
  spillway plugin pool --inventory machines.yaml --name mine --forget gpu01.3f2a9c1b
  spillway cloud test --timeout 2m -- spillway plugin pool --inventory machines.yaml --state /tmp/try

Without --check and --forget it reads one request of the protocol for plugins from its standard input and answers it. A machine that
cannot be reached stays claimed until it can, or until a person says --forget. Exit code 7 of --check: something is in the way.

The inventory:
  version: 1
  ssh: {user: root, key_file: pool.key}              for all, unless a machine says otherwise; also port
  types:
    - {name: a100x8, cpus: 96, memory_mib: 1000000, gpus: 8, gpu_type: a100, network: 100g, price: 40.00 CNY}
  machines:
    - {name: gpu01, address: 10.0.0.11, type: a100x8, zone: hall-1, host_key: "ssh-ed25519 AAAA…"}

JSON keys of --check: machines[] (name, ok, said, claim, phase).`
}

// Run answers a request, or a person.
func (c *pluginPoolCmd) Run(a *app) error {
	switch {
	case c.Check:
		return c.check(a)
	case c.Forget != "":
		p, err := c.open(c.Name)
		if err != nil {
			return badPlugin(err, "spillway plugin pool --inventory machines.yaml --name mine --forget ID")
		}
		if err := p.Forget(a.ctx, c.Forget); err != nil {
			return badPlugin(err, "spillway plugin pool --inventory "+c.Inventory+" --check")
		}
		fmt.Fprintf(a.out, "%s is free.\n", c.Forget)
		return nil
	}
	return serve.Answer(a.ctx, a.in, a.out, func(name string, _ json.RawMessage) (serve.Cloud, error) { return c.open(name) })
}

func badPlugin(err error, try string) error {
	return &desk.Error{Kind: desk.BadRequest, Wrong: err.Error(), Try: try, Err: err}
}

// stateOf is the folder of a plugin's cloud.
func stateOf(given, kind, name string) (string, error) {
	if given != "" {
		return given, nil
	}
	if name == "" || strings.ContainsAny(name, "/.") {
		return "", fmt.Errorf("whose state? Give --state, or the cloud's name by --name; it is %q", name)
	}
	return filepath.Join(pluginState, kind+"-"+name), nil
}

func (c *pluginPoolCmd) open(name string) (*lend.Pool, error) {
	inv, err := config.ReadInventory(c.Inventory)
	if err != nil {
		return nil, err
	}
	dir, err := stateOf(c.State, "pool", name)
	if err != nil {
		return nil, err
	}
	o := lend.Options{Version: version, Dir: dir, Now: utcNow}
	for i := range inv.Types {
		o.Types = append(o.Types, offerOf(&inv.Types[i]))
	}
	for _, m := range inv.Machines {
		o.Machines = append(o.Machines, lend.Machine{
			Host: host.Host{Name: m.Name, Address: m.Address, Port: m.SSH.Port, User: m.SSH.User, KeyFile: m.SSH.KeyFile, HostKey: m.SSH.HostKey},
			Type: m.Type, Region: m.Region, Zone: m.Zone,
		})
	}
	return lend.New(o)
}

func offerOf(t *config.MachineType) wire.Offer {
	return wire.Offer{
		Region: t.Region, Zone: t.Zone, Type: t.Name, CPUs: t.CPUs, MemoryMiB: int64(t.MemoryMiB), DiskMiB: int64(t.DiskMiB), GPUs: t.GPUs, GPUType: t.GPUType,
		Features: t.Features, Network: string(t.Network), Boot: wire.Duration(t.Boot), Step: wire.Duration(t.Step), Minimum: wire.Duration(t.Minimum),
		Rate: wire.Rate{Amount: json.Number(decimal.New(t.Price.Micro, -6).String()), Currency: string(t.Price.Currency)},
	}
}

func (c *pluginPoolCmd) check(a *app) error {
	p, err := c.open(c.Name)
	if err != nil {
		return badPlugin(err, "spillway plugin pool --inventory machines.yaml --name mine --check")
	}
	seen, err := p.Check(a.ctx)
	if err != nil {
		return err
	}
	wrong := 0
	var rows []string
	for _, s := range seen {
		word := "ok"
		if !s.OK {
			word, wrong = "no", wrong+1
		}
		rows = append(rows, row(s.Name, word, s.Claim, s.Phase, s.Said))
	}
	err = c.print(a, map[string]any{"machines": seen}, func(p *page) {
		p.table("MACHINE\tOK\tCLAIM\tPHASE\tSAID", rows)
		p.line("%d of %d machines can be used.", len(seen)-wrong, len(seen))
	})
	if err == nil && wrong > 0 {
		return errFound
	}
	return err
}

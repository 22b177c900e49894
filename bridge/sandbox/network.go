package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Networks are numbered, and the number gives bridge name and subnet, so that
// the kernel's refusal of a second bridge of one name also keeps two rigs from
// taking one subnet.
const (
	// networkCount networks of 1,022 addresses fill 10.77.0.0/16.
	networkCount = 64
	networkBits  = 22
	bridgePrefix = "sw"
	// aliasPrefix marks the links that are ours; the rig's path follows it.
	aliasPrefix = "spillway:"
	// aliasMax is the kernel's limit for a link's alias.
	aliasMax = 255
	// bridgeFilter is 1 where the host's packet filter also sees bridged frames.
	bridgeFilter = "/proc/sys/net/bridge/bridge-nf-call-iptables"
)

// Network is a bridge on the host with a subnet of its own. It forwards
// nothing to other networks.
type Network struct {
	// Dir holds the network's record and its taken addresses.
	Dir string `json:"dir"`
	// Bridge is the name of the link on the host, at most 15 characters.
	Bridge string `json:"bridge"`
	// Gateway is the host's own address on the network; servers that machines
	// must reach listen on it.
	Gateway netip.Addr `json:"gateway"`
	// Prefix is the subnet.
	Prefix netip.Prefix `json:"prefix"`
	// Filtered says that a packet filter rule lets the bridge's frames through.
	Filtered bool `json:"filtered"`
}

// CreateNetwork makes a network with a free subnet and records it in dir,
// which must lie in the rig's directory. Rigs may do this at the same time.
func CreateNetwork(ctx context.Context, dir string) (*Network, error) {
	if err := CheckHost(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("create network: %w", err)
	}
	if len(aliasPrefix+dir) > aliasMax-len("/machines/")-hostNameMax {
		return nil, fmt.Errorf("create network in %s: the path is too long to be remembered by the kernel: choose a shorter one", dir)
	}
	if err := os.MkdirAll(filepath.Join(dir, "addresses"), 0o755); err != nil {
		return nil, fmt.Errorf("create network: %w", err)
	}
	taken, err := hostPrefixes()
	if err != nil {
		return nil, fmt.Errorf("create network: %w", err)
	}
	for i := range networkCount {
		n := numberedNetwork(dir, i)
		if slices.ContainsFunc(taken, n.Prefix.Overlaps) {
			continue
		}
		if _, err := run(ctx, "", "ip", "link", "add", n.Bridge, "type", "bridge", "forward_delay", "0"); err != nil {
			if _, missing := net.InterfaceByName(n.Bridge); missing == nil {
				continue // Another rig was faster.
			}
			return nil, fmt.Errorf("create network: %w", err)
		}
		if err := n.bringUp(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("create network %s: %w", n.Bridge, err), n.Close(context.WithoutCancel(ctx)))
		}
		return n, nil
	}
	return nil, fmt.Errorf("create network: all %d subnets of 10.77.0.0/16 are taken on this host (see: ip -brief address)", networkCount)
}

// OpenNetwork returns the network recorded in dir, for a process that did not
// create it.
func OpenNetwork(dir string) (*Network, error) {
	text, err := os.ReadFile(filepath.Join(dir, "network.json"))
	if err != nil {
		return nil, fmt.Errorf("open network: %w", err)
	}
	var n Network
	if err := json.Unmarshal(text, &n); err != nil {
		return nil, fmt.Errorf("open network %s: %w", dir, err)
	}
	return &n, nil
}

func numberedNetwork(dir string, i int) *Network {
	base := netip.AddrFrom4([4]byte{10, 77, byte(i << (24 - networkBits)), 0})
	return &Network{
		Dir:     dir,
		Bridge:  fmt.Sprintf("%s%d", bridgePrefix, i),
		Gateway: base.Next(),
		Prefix:  netip.PrefixFrom(base, networkBits),
	}
}

// bringUp names the bridge as ours first: from then on Sweep finds it.
func (n *Network) bringUp(ctx context.Context) error {
	batch := strings.Join([]string{
		fmt.Sprintf("link set %s alias %s%s", n.Bridge, aliasPrefix, n.Dir),
		fmt.Sprintf("address add %s/%d dev %s", n.Gateway, networkBits, n.Bridge),
		fmt.Sprintf("link set %s up", n.Bridge),
	}, "\n")
	if _, err := run(ctx, batch, "ip", "-batch", "-"); err != nil {
		return err
	}
	if err := n.openFilter(ctx); err != nil {
		return err
	}
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	return writeFileAtomic(filepath.Join(n.Dir, "network.json"), text, 0o644)
}

// openFilter lets frames between machines pass on hosts whose packet filter
// sees bridged frames and drops what it does not know, as Docker sets it up.
// Where the filter cannot be read or drops nothing there is nothing to open.
func (n *Network) openFilter(ctx context.Context) error {
	setting, err := os.ReadFile(bridgeFilter)
	if err != nil || strings.TrimSpace(string(setting)) != "1" {
		return nil //nolint:nilerr // The setting is absent where no filter sees bridged frames.
	}
	rules, err := run(ctx, "", "iptables", "-w", "5", "-S", "FORWARD")
	if err != nil || strings.TrimSpace(rules) == "-P FORWARD ACCEPT" {
		return nil //nolint:nilerr // Rules that cannot be read cannot be opened either.
	}
	if _, err := run(ctx, "", "iptables", n.filterRule("-I")...); err != nil {
		return err
	}
	n.Filtered = true
	return nil
}

func (n *Network) filterRule(action string) []string {
	return []string{"-w", "5", action, "FORWARD", "-i", n.Bridge, "-o", n.Bridge, "-j", "ACCEPT"}
}

// Close removes the bridge and the record. Machines still on the network lose
// their connection.
func (n *Network) Close(ctx context.Context) error {
	var failures []error
	if n.Filtered {
		if _, err := run(ctx, "", "iptables", n.filterRule("-D")...); err != nil {
			failures = append(failures, err)
		}
	}
	if err := deleteLink(ctx, n.Bridge); err != nil {
		failures = append(failures, err)
	}
	failures = append(failures, os.RemoveAll(n.Dir))
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("close network %s: %w", n.Bridge, err)
	}
	return nil
}

// Allocate takes the lowest free address for the machine called name. Machine
// records hold it until Free; processes may allocate at the same time.
func (n *Network) Allocate(name string) (netip.Addr, error) {
	// The first ten addresses are left to the host.
	address := n.Gateway
	for range 9 {
		address = address.Next()
	}
	for last := lastAddr(n.Prefix); address != last; address = address.Next() {
		err := n.reserve(address, name)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		return address, err
	}
	return netip.Addr{}, fmt.Errorf("allocate address on %s: all of %s are taken", n.Bridge, n.Prefix)
}

// reserve takes one address; the file's exclusive creation is the lock.
func (n *Network) reserve(address netip.Addr, name string) error {
	if !n.Prefix.Contains(address) {
		return fmt.Errorf("reserve address %s: not in %s", address, n.Prefix)
	}
	file, err := os.OpenFile(n.addressFile(address), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("reserve address %s: %w", address, err)
	}
	_, err = file.WriteString(name + "\n")
	return errors.Join(err, file.Close())
}

// Free gives an address back. Freeing a free address is no error.
func (n *Network) Free(address netip.Addr) error {
	if err := os.Remove(n.addressFile(address)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("free address %s: %w", address, err)
	}
	return nil
}

func (n *Network) addressFile(address netip.Addr) string {
	return filepath.Join(n.Dir, "addresses", address.String())
}

// cable names the host's end of the cable of the machine at address.
func (n *Network) cable(address netip.Addr) string {
	b := address.As4()
	return fmt.Sprintf("%sv%d", n.Bridge, (int(b[2])<<8|int(b[3]))&(1<<(32-networkBits)-1))
}

// deleteLink removes a link of the host; one that is gone already is no error.
func deleteLink(ctx context.Context, name string) error {
	if _, err := net.InterfaceByName(name); err != nil {
		return nil //nolint:nilerr // It is gone already.
	}
	if _, err := run(ctx, "", "ip", "link", "delete", name); err != nil {
		// The kernel takes a dead machine's cable away at a time of its own.
		if _, gone := net.InterfaceByName(name); gone == nil {
			return err
		}
	}
	return nil
}

// hostPrefixes returns the subnets this host has addresses in.
func hostPrefixes() ([]netip.Prefix, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var prefixes []netip.Prefix
	for _, addr := range addrs {
		if prefix, err := netip.ParsePrefix(addr.String()); err == nil {
			prefixes = append(prefixes, prefix.Masked())
		}
	}
	return prefixes, nil
}

func lastAddr(prefix netip.Prefix) netip.Addr {
	b := prefix.Addr().As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	n |= 1<<(32-prefix.Bits()) - 1
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

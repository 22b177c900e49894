package openstack

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"spillway.sh/spillway/bridge"
)

// Metadata of ours that is no tag of the engine's.
const (
	metaToken = "spillway-token"
	metaCall  = "spillway-call" // one for each request that was sent
	metaZone  = "spillway-zone" // that was asked for
	ours      = "spillway-"
)

// machine is a server as Nova shows it, with what only we need to know.
type machine struct {
	bridge.Instance
	name   string
	call   string
	made   time.Time
	unborn bool // it failed before it ever ran
	code   int  // of its fault
}

func (c *Cloud) machine(s *servers.Server) machine {
	m := machine{
		Instance: bridge.Instance{
			ID: s.ID, State: stateOf(s), Address: c.address(s), Token: s.Metadata[metaToken], Tags: map[string]string{},
			Launched: utc(s.LaunchedAt), Stopped: utc(s.TerminatedAt),
		},
		name: s.Name, call: s.Metadata[metaCall], made: utc(s.Created),
		unborn: s.Status == "ERROR" && s.LaunchedAt.IsZero(), code: s.Fault.Code,
	}
	if s.Status == "ERROR" {
		m.Fault = s.Fault.Message
	}
	if m.Launched.IsZero() {
		m.Launched = m.made
	}
	for k, v := range s.Metadata {
		if strings.HasPrefix(k, ours) && k != metaToken && k != metaCall && k != metaZone {
			m.Tags[k] = v
		}
	}
	flavor, _ := s.Flavor["original_name"].(string)
	zone := s.AvailabilityZone
	if asked := s.Metadata[metaZone]; asked != "" {
		zone = asked
	}
	m.Pool = bridge.Pool{Cloud: c.config.Name, Region: c.config.Region, Zone: zone, Type: flavor, Market: bridge.OnDemand}
	m.Rate = c.flavors[flavor].Rate
	return m
}

// stateOf is a server's state in our words. One that was switched off, or put on
// a shelf, still holds its place and its quota until it is deleted.
func stateOf(s *servers.Server) bridge.InstanceState {
	switch s.Status {
	case "DELETED", "SOFT_DELETED":
		return bridge.InstanceGone
	case "SHUTOFF", "SUSPENDED", "PAUSED", "SHELVED", "SHELVED_OFFLOADED":
		return bridge.InstanceStopping
	}
	switch {
	case s.TaskState == "deleting" || s.TaskState == "soft-deleting":
		return bridge.InstanceStopping
	case s.Status == "BUILD" || s.Status == "ERROR" && s.LaunchedAt.IsZero():
		return bridge.InstancePending
	}
	return bridge.InstanceRunning
}

// address is the machine's own on the network that it was put on; floating ones
// come last.
func (c *Cloud) address(s *servers.Server) string {
	type found struct {
		text string
		rank int
	}
	var all []found
	for network, list := range s.Addresses {
		entries, _ := list.([]any)
		for _, e := range entries {
			entry, _ := e.(map[string]any)
			text, _ := entry["addr"].(string)
			ip, err := netip.ParseAddr(text)
			if err != nil {
				continue
			}
			rank := 0
			if entry["OS-EXT-IPS:type"] == "floating" {
				rank += 4
			}
			if network != c.config.Network {
				rank += 2
			}
			if !ip.Is4() {
				rank++
			}
			all = append(all, found{text, rank})
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		return strings.Compare(a.text, b.text)
	})
	if len(all) == 0 {
		return ""
	}
	return all[0].text
}

// utc keeps "not said" what it is.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

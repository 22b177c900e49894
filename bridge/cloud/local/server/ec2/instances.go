package ec2

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

type state struct {
	Code int    `xml:"code"`
	Name string `xml:"name"`
}

// stateOf is a state in EC2's words. A machine in error never ran: EC2 shows it
// as terminated, with the reason.
func stateOf(s wire.State) state {
	switch s {
	case wire.StatePending:
		return state{0, "pending"}
	case wire.StateRunning:
		return state{16, "running"}
	case wire.StateStopping:
		return state{32, "shutting-down"}
	case wire.StateTerminated, wire.StateError:
	}
	return state{48, "terminated"}
}

type said struct {
	Code    string `xml:"code"`
	Message string `xml:"message"`
}

type group struct {
	ID   string `xml:"groupId"`
	Name string `xml:"groupName"`
}

type placement struct {
	Zone    string `xml:"availabilityZone"`
	Tenancy string `xml:"tenancy"`
}

type networkInterface struct {
	ID         string     `xml:"networkInterfaceId"`
	Subnet     string     `xml:"subnetId"`
	VPC        string     `xml:"vpcId"`
	Owner      string     `xml:"ownerId"`
	Status     string     `xml:"status"`
	PrivateIP  string     `xml:"privateIpAddress,omitempty"`
	Groups     []group    `xml:"groupSet>item"`
	Type       string     `xml:"interfaceType"`
	Attachment attachment `xml:"attachment"`
}

type attachment struct {
	ID                  string `xml:"attachmentId"`
	DeviceIndex         int    `xml:"deviceIndex"`
	Status              string `xml:"status"`
	DeleteOnTermination bool   `xml:"deleteOnTermination"`
}

type volumeOf struct {
	Device string `xml:"deviceName"`
	Ebs    struct {
		Volume              string `xml:"volumeId"`
		Status              string `xml:"status"`
		AttachTime          string `xml:"attachTime"`
		DeleteOnTermination bool   `xml:"deleteOnTermination"`
	} `xml:"ebs"`
}

type metadataOptions struct {
	State    string `xml:"state"`
	Tokens   string `xml:"httpTokens"`
	HopLimit int    `xml:"httpPutResponseHopLimit"`
	Endpoint string `xml:"httpEndpoint"`
	Tags     string `xml:"instanceMetadataTags"`
}

type instance struct {
	ID             string             `xml:"instanceId"`
	Image          string             `xml:"imageId"`
	State          state              `xml:"instanceState"`
	PrivateDNS     string             `xml:"privateDnsName"`
	DNS            string             `xml:"dnsName"`
	Reason         string             `xml:"reason"`
	Index          int                `xml:"amiLaunchIndex"`
	Type           string             `xml:"instanceType"`
	Launched       string             `xml:"launchTime"`
	Placement      placement          `xml:"placement"`
	Monitoring     string             `xml:"monitoring>state"`
	Subnet         string             `xml:"subnetId,omitempty"`
	VPC            string             `xml:"vpcId,omitempty"`
	PrivateIP      string             `xml:"privateIpAddress,omitempty"`
	StateReason    *said              `xml:"stateReason"`
	Architecture   string             `xml:"architecture"`
	RootDeviceType string             `xml:"rootDeviceType"`
	RootDeviceName string             `xml:"rootDeviceName"`
	Devices        []volumeOf         `xml:"blockDeviceMapping>item"`
	Virtualization string             `xml:"virtualizationType"`
	Lifecycle      string             `xml:"instanceLifecycle,omitempty"`
	SpotRequest    string             `xml:"spotInstanceRequestId,omitempty"`
	Token          string             `xml:"clientToken"`
	Tags           []tag              `xml:"tagSet>item"`
	Hypervisor     string             `xml:"hypervisor"`
	Interfaces     []networkInterface `xml:"networkInterfaceSet>item"`
	Groups         []group            `xml:"groupSet>item"`
	Metadata       metadataOptions    `xml:"metadataOptions"`
}

type reservation struct {
	ID        string     `xml:"reservationId"`
	Owner     string     `xml:"ownerId"`
	Groups    []group    `xml:"groupSet>item"`
	Instances []instance `xml:"instancesSet>item"`
}

func (q *request) reservation(all []Machine) reservation {
	out := reservation{ID: id("r", all[0].Reservation), Owner: q.owner()}
	for i := range all {
		out.Instances = append(out.Instances, q.instance(&all[i]))
	}
	return out
}

const stampForm = "2006-01-02T15:04:05.000Z"

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(stampForm)
}

// instance is one machine as EC2 shows it.
func (q *request) instance(m *Machine) instance {
	out := instance{
		ID: m.ID, Image: cmp.Or(m.Manner.Image, q.imageID()), State: stateOf(m.State), Index: m.Index, Type: m.Pool.Type,
		Launched: stamp(m.Launched), Placement: placement{m.Pool.Zone, "default"}, Monitoring: "disabled", Architecture: "x86_64",
		RootDeviceType: "ebs", RootDeviceName: rootDevice, Virtualization: "hvm", Hypervisor: "xen", Token: m.Token, Tags: tagsOf(m.Tags),
		Metadata: metadataOptions{State: "applied", Tokens: "optional", HopLimit: 1, Endpoint: "enabled", Tags: "disabled"},
	}
	if m.Manner.TokenRequired {
		out.Metadata.Tokens = "required"
	}
	if m.Manner.MetadataTags {
		out.Metadata.Tags = "enabled"
	}
	if m.Pool.Market == string(bridge.Spot) {
		out.Lifecycle, out.SpotRequest = "spot", spotRequestID(m.ID)
	}
	out.Reason, out.StateReason = reasonOf(&m.Instance)
	if out.State.Name == "terminated" {
		return out
	}
	groups := []group{{q.groupID(), groupName}}
	out.Subnet, out.VPC, out.Groups, out.PrivateIP = q.subnetID(m.Pool.Zone), q.vpcID(), groups, m.Address
	if m.Address != "" {
		out.PrivateDNS = "ip-" + strings.ReplaceAll(m.Address, ".", "-") + "." + m.Pool.Region + ".compute.internal"
	}
	out.Interfaces = []networkInterface{{
		ID: id("eni", m.ID), Subnet: out.Subnet, VPC: out.VPC, Owner: q.owner(), Status: "in-use", PrivateIP: m.Address, Groups: groups,
		Type: cmp.Or(m.Manner.Interface, "interface"), Attachment: attachment{id("eni-attach", m.ID), 0, "attached", true},
	}}
	disk := volumeOf{Device: rootDevice}
	disk.Ebs.Volume, disk.Ebs.Status, disk.Ebs.AttachTime, disk.Ebs.DeleteOnTermination = id("vol", m.ID), "attached", out.Launched, true
	out.Devices = []volumeOf{disk}
	return out
}

func tagsOf(tags map[string]string) []tag {
	var out []tag
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, tag{key, tags[key]})
	}
	return out
}

func spotRequestID(machine string) string { return "sir-" + id("", machine)[1:9] }

// reasonOf says why a machine ends or has ended.
func reasonOf(m *wire.Instance) (text string, reason *said) {
	switch {
	case m.State == wire.StateError && m.Fault != nil && m.Fault.Code == wire.CodeNoCapacity:
		return "Server.InsufficientInstanceCapacity", &said{"Server.InsufficientInstanceCapacity", "Server.InsufficientInstanceCapacity: There was insufficient capacity available to satisfy the launch request"}
	case m.State == wire.StateError || m.Ended == "boot-failed":
		message := "Server.InternalError: Internal error on launch"
		if m.Fault != nil {
			message += ": " + m.Fault.Message
		}
		return "Server.InternalError", &said{"Server.InternalError", message}
	case m.Ended == "":
		return "", nil
	}
	at := ""
	if !m.Stopped.IsZero() {
		at = " (" + m.Stopped.UTC().Format("2006-01-02 15:04:05 GMT") + ")"
	}
	switch m.Ended {
	case "reclaimed":
		return "Server.SpotInstanceTermination" + at, &said{"Server.SpotInstanceTermination", "Server.SpotInstanceTermination: Spot instance termination"}
	case "shutdown":
		return "Client.InstanceInitiatedShutdown" + at, &said{"Client.InstanceInitiatedShutdown", "Client.InstanceInitiatedShutdown: Instance initiated shutdown"}
	}
	return "User initiated" + at, &said{"Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown"}
}

// matching are a machine's attributes for filters.
func (q *request) matching(m *wire.Instance) attributes {
	s := stateOf(m.State)
	a := attributes{
		"instance-id": {m.ID}, "client-token": {m.Token}, "instance-state-name": {s.Name}, "instance-type": {m.Pool.Type},
		"availability-zone": {m.Pool.Zone}, "subnet-id": {q.subnetID(m.Pool.Zone)}, "vpc-id": {q.vpcID()}, "owner-id": {q.owner()},
		"private-ip-address": {m.Address}, "tag-key": slices.Collect(maps.Keys(m.Tags)),
	}
	if m.Pool.Market == string(bridge.Spot) {
		a["instance-lifecycle"], a["spot-instance-request-id"] = []string{"spot"}, []string{spotRequestID(m.ID)}
	}
	for key, value := range m.Tags {
		a["tag:"+key] = []string{value}
	}
	return a
}

var instanceFilters = []string{
	"instance-id", "client-token", "instance-state-name", "instance-type", "availability-zone", "subnet-id", "vpc-id", "owner-id",
	"private-ip-address", "tag-key", "instance-lifecycle", "spot-instance-request-id",
}

var instanceRule = regexp.MustCompile(`^i-[0-9a-z]+$`)

// find refuses ids that no machine of the request's region has.
func (q *request) find(ids []string, listed bool) ([]Machine, *Refusal) {
	if len(ids) == 0 {
		return nil, nil
	}
	var out []Machine
	var missing []string
	there := q.Find(ids)
	for _, want := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if !instanceRule.MatchString(want) {
			return nil, refuse("InvalidInstanceID.Malformed", "Invalid id: \"%s\"", want)
		}
		m, ok := there[want]
		if !ok || m.Pool.Region != q.Region || listed && !m.Visible {
			missing = append(missing, want)
			continue
		}
		out = append(out, m)
	}
	switch len(missing) {
	case 0:
		return out, nil
	case 1:
		return nil, refuse("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", missing[0])
	}
	return nil, refuse("InvalidInstanceID.NotFound", "The instance IDs '%s' do not exist", strings.Join(missing, ", "))
}

// look is what a request lists.
func (q *request) look(filters []filter) (Look, *Refusal) {
	ids := q.texts("InstanceId")
	if len(ids) > 0 && q.has("MaxResults") {
		return Look{}, refuse("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	}
	if n := q.num(pageMost, "MaxResults"); n < pageLeast || n > pageMost {
		return Look{}, refuse("InvalidParameterValue", "Value (%d) for parameter maxResults is invalid. Expecting a value between %d and %d", n, pageLeast, pageMost)
	}
	if _, no := q.find(ids, true); no != nil {
		return Look{}, no
	}
	return Look{Size: q.num(0, "MaxResults"), Next: q.str("NextToken"), Match: func(m *wire.Instance) bool {
		return m.Pool.Region == q.Region && chosen(ids, m.ID) && (len(filters) == 0 || q.matching(m).pass(filters))
	}}, nil
}

const pageLeast, pageMost = 5, 1000

type describeInstances struct {
	head
	Reservations []reservation `xml:"reservationSet>item"`
	Next         string        `xml:"nextToken,omitempty"`
}

func (q *request) describeInstances() (any, *Refusal) {
	filters, no := q.filters(instanceFilters...)
	if no != nil {
		return nil, no
	}
	look, no := q.look(filters)
	if no != nil {
		return nil, no
	}
	page, refused := q.List(look)
	if refused != nil {
		return nil, refused.refusal("")
	}
	out := &describeInstances{Next: page.Next}
	for len(page.Machines) > 0 {
		n := 1
		for n < len(page.Machines) && page.Machines[n].Reservation == page.Machines[0].Reservation {
			n++
		}
		out.Reservations = append(out.Reservations, q.reservation(page.Machines[:n]))
		page.Machines = page.Machines[n:]
	}
	return out, nil
}

type instanceStatus struct {
	ID       string `xml:"instanceId"`
	Zone     string `xml:"availabilityZone"`
	State    state  `xml:"instanceState"`
	Instance string `xml:"instanceStatus>status"`
	System   string `xml:"systemStatus>status"`
}

type describeInstanceStatus struct {
	head
	Statuses []instanceStatus `xml:"instanceStatusSet>item"`
	Next     string           `xml:"nextToken,omitempty"`
}

func (q *request) describeInstanceStatus() (any, *Refusal) {
	filters, no := q.filters("instance-state-name", "availability-zone")
	if no != nil {
		return nil, no
	}
	look, no := q.look(filters)
	if no != nil {
		return nil, no
	}
	match := look.Match
	if q.str("IncludeAllInstances") != "true" {
		look.Match = func(m *wire.Instance) bool { return m.State == wire.StateRunning && match(m) }
	}
	page, refused := q.List(look)
	if refused != nil {
		return nil, refused.refusal("")
	}
	out := &describeInstanceStatus{Next: page.Next}
	for _, m := range page.Machines {
		status := "not-applicable"
		if m.State == wire.StateRunning {
			status = "ok"
		}
		out.Statuses = append(out.Statuses, instanceStatus{m.ID, m.Pool.Zone, stateOf(m.State), status, status})
	}
	return out, nil
}

type stateChange struct {
	ID       string `xml:"instanceId"`
	Current  state  `xml:"currentState"`
	Previous state  `xml:"previousState"`
}

type terminateInstances struct {
	head
	Changes []stateChange `xml:"instancesSet>item"`
}

// terminate ends all that are named or, if one of them is not there, none.
func (q *request) terminate() (any, *Refusal) {
	found, no := q.find(q.texts("InstanceId"), false)
	if no != nil {
		return nil, no
	}
	if no := q.dry(); no != nil {
		return nil, no
	}
	changes, refused := q.Terminate(idsOf(found))
	if refused != nil {
		return nil, refused.refusal("")
	}
	out := &terminateInstances{}
	for _, c := range changes {
		out.Changes = append(out.Changes, stateChange{c.ID, stateOf(c.After), stateOf(c.Before)})
	}
	return out, nil
}

package honest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// told is what became of one step for one client.
type told struct {
	Asked  []asked
	Code   string
	Status int
	Answer []string
}

// visitor is a client in a world of its own.
type visitor struct {
	desk  *desk
	who   client
	wrong client // the same with another secret
	sdk   *sdk   // takes the steps that a command line is spared
	ids   *strings.Replacer
}

// visit opens a world and lets a client in.
func visit(t *testing.T, make func(*testing.T, site) client) *visitor {
	t.Helper()
	v := &visitor{desk: open(t, world)}
	s := site{v.desk.url, v.desk.key, v.desk.secret}
	v.sdk = &sdk{s}
	v.who = make(t, s)
	s.secret = "wrong"
	v.wrong = make(t, s)
	v.places(t)
	return v
}

// places finds out the ids that steps name.
func (v *visitor) places(t *testing.T) {
	t.Helper()
	var images struct{ Images []struct{ ImageId string } }
	var subnets struct {
		Subnets []struct{ SubnetId, AvailabilityZone string }
	}
	for op, to := range map[string]any{"DescribeImages": &images, "DescribeSubnets": &subnets} {
		r := v.sdk.do(t, line{Service: "ec2", Op: op, Region: region, Endpoint: v.desk.url, Params: json.RawMessage("{}")})
		text, err := json.Marshal(r.Answer)
		if err != nil || r.Code != "" {
			t.Fatal(r, err)
		}
		if err := json.Unmarshal(text, to); err != nil {
			t.Fatal(err)
		}
	}
	named := []string{"$IMAGE", images.Images[0].ImageId}
	for _, s := range subnets.Subnets {
		if name := map[string]string{"us-east-1a": "$SUBNET", "us-east-1b": "$OTHERSUBNET"}[s.AvailabilityZone]; name != "" {
			named = append(named, name, s.SubnetId)
		}
	}
	v.ids = strings.NewReplacer(named...)
	v.desk.take()
}

// line is a step in the words of the visitor's own world.
func (v *visitor) line(s *step) line {
	params := v.ids.Replace(s.params)
	for i, id := range v.desk.machines() {
		params = strings.ReplaceAll(params, fmt.Sprintf(`"$%d"`, i+1), `"`+id+`"`)
	}
	l := line{Service: "ec2", Op: s.op, Waiter: s.waiter, Region: region, Endpoint: v.desk.url, Pages: s.pages, Params: json.RawMessage(params)}
	if s.op == "GetCallerIdentity" {
		l.Service = "sts"
	}
	if s.region != "" {
		l.Region = s.region
	}
	return l
}

// walk takes one step. A client that is spared it is told nothing.
func (v *visitor) walk(t *testing.T, s *step) *told {
	t.Helper()
	l, who := v.line(s), v.who
	if s.secret != "" {
		who = v.wrong
	}
	_, short := who.(*cli)
	if short && !s.line {
		if s.secret == "" {
			v.sdk.do(t, l)
		}
		v.rest(t, s.op)
		v.desk.take()
		return nil
	}
	r := who.do(t, l)
	out := &told{Asked: v.desk.take(), Code: r.Code, Status: r.Status, Answer: flat("", map[string]any(r.Answer))}
	if short {
		out.Status = 0 // it does not say
	}
	if r.Code == "" {
		v.rest(t, s.op)
	}
	if r.Code != s.want {
		t.Errorf("%s: %s: %q %s, want %q", who.name(), s.name, r.Code, r.Message, s.want)
	}
	v.plain(out)
	return out
}

// rest waits until no machine is on its way up or down any more, so that everybody
// is shown the same, however slow they are.
func (v *visitor) rest(t *testing.T, op string) {
	t.Helper()
	if op != "RunInstances" && op != "TerminateInstances" {
		return
	}
	pending := json.RawMessage(`{"Filters": [{"Name": "instance-state-name", "Values": ["pending", "shutting-down"]}]}`)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		r := v.sdk.do(t, line{Service: "ec2", Op: "DescribeInstances", Region: region, Endpoint: v.desk.url, Params: pending})
		if r.Code != "" || time.Now().After(end) {
			t.Fatalf("machines are on their way: %+v", r)
		}
		if all, _ := r.Answer["Reservations"].([]any); len(all) == 0 {
			break
		}
	}
	v.desk.take()
}

var (
	randomToken = regexp.MustCompile(`^(ClientToken=|\S*\.ClientToken=)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$`)
	nextToken   = regexp.MustCompile(`^(\S*NextToken=).*`)
	moment      = regexp.MustCompile(`=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*$`)
	reservation = regexp.MustCompile(`=(r|eni|eni-attach|vol|sir)-[0-9a-f]{8,}$`)
)

// plain takes what differs from run to run out of what a client sent and got.
func (v *visitor) plain(o *told) {
	machines := v.desk.machines()
	all := []*[]string{&o.Answer}
	for i := range o.Asked {
		all = append(all, &o.Asked[i].Said)
	}
	for _, list := range all {
		for i, said := range *list {
			for n, id := range machines {
				said = strings.ReplaceAll(said, id, fmt.Sprintf("$%d", n+1))
			}
			said = randomToken.ReplaceAllString(said, "${1}(random)")
			said = nextToken.ReplaceAllString(said, "${1}(next)")
			said = reservation.ReplaceAllString(said, "=${1}-(id)")
			if strings.HasPrefix(said, ".") {
				said = moment.ReplaceAllString(said, "=(time)")
			}
			(*list)[i] = said
		}
		slices.Sort(*list)
	}
}

// clients are all that this machine has, ours first.
func clients(t *testing.T) map[string]func(*testing.T, site) client {
	t.Helper()
	out := map[string]func(*testing.T, site) client{
		"Debian's boto3":        func(t *testing.T, s site) client { return newBoto(t, debianPython, s) },
		"Debian's command line": func(t *testing.T, s site) client { return newCLI(t, debianCLI, s) },
	}
	python, program := newer(t)
	if python != "" {
		out["another boto3"] = func(t *testing.T, s site) client { return newBoto(t, python, s) }
	}
	if program != "" {
		out["another command line"] = func(t *testing.T, s site) client { return newCLI(t, program, s) }
	}
	return out
}

func TestForeignClientsAskTheSameAndAreToldTheSame(t *testing.T) {
	ours := visit(t, func(_ *testing.T, s site) client { return &sdk{s} })
	want := make([]*told, len(steps))
	for i := range steps {
		want[i] = ours.walk(t, &steps[i])
	}
	for name, make := range clients(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := visit(t, make)
			t.Log(v.who.name())
			for i := range steps {
				s := &steps[i]
				got := v.walk(t, s)
				if got == nil || s.pages > 0 {
					continue
				}
				compare(t, s, want[i], got)
			}
		})
	}
}

// compare holds one client's step against that of the SDK.
func compare(t *testing.T, s *step, want, got *told) {
	t.Helper()
	if diff := cmp.Diff(want.Asked, got.Asked); diff != "" {
		t.Errorf("%s: asked (-SDK +it):\n%s", s.name, diff)
	}
	if want.Code != got.Code || got.Status != 0 && want.Status != got.Status {
		t.Errorf("%s: told %d %q, the SDK %d %q", s.name, got.Status, got.Code, want.Status, want.Code)
	}
	if diff := cmp.Diff(want.Answer, got.Answer); diff != "" {
		t.Errorf("%s: understood (-SDK +it):\n%s", s.name, diff)
	}
}

// boto3's own waiters see machines come and go.
func TestWaitersOfBotoAreContent(t *testing.T) {
	v := visit(t, func(t *testing.T, s site) client { return newBoto(t, debianPython, s) })
	for _, s := range []step{
		{name: "two machines", op: "RunInstances", params: `{"ImageId": "$IMAGE", "InstanceType": "g6.xlarge", "MinCount": 2, "MaxCount": 2, ` + ended + `}`},
		{name: "until they are there", waiter: "instance_exists", params: `{"InstanceIds": ["$1", "$2"]}`},
		{name: "until they run", waiter: "instance_running", params: `{"InstanceIds": ["$1", "$2"]}`},
		{name: "until they are well", waiter: "instance_status_ok", params: `{"InstanceIds": ["$1", "$2"]}`},
		{name: "they end", op: "TerminateInstances", params: `{"InstanceIds": ["$1", "$2"]}`},
		{name: "until they are gone", waiter: "instance_terminated", params: `{"InstanceIds": ["$1", "$2"]}`},
	} {
		v.walk(t, &s)
	}
}

package desk_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/cloudtest"
	"spillway.sh/spillway/bridge/cloud/plugin/desk"
	"spillway.sh/spillway/bridge/cloud/plugin/host"
	"spillway.sh/spillway/bridge/cloud/plugin/host/hosttest"
	"spillway.sh/spillway/bridge/cloud/plugin/serve"
	"spillway.sh/spillway/bridge/cloud/plugin/wire"
)

// TestConformance runs the suite of every cloud with a person at the vendor who
// reads the letters, and machines with a real sshd.
func TestConformance(t *testing.T) {
	rig := hosttest.Start(t, 6)
	hook := newChannel(t)
	file, s := siteOf(t, hook.URL)
	s.Access = host.Host{Port: hosttest.Port, User: "root", KeyFile: rig.KeyFile}
	s.save(t, file)
	d, err := open(file)
	if err != nil {
		t.Fatal(err)
	}
	hire(t, hook, d, rig)
	cloudtest.Run(t, cloudtest.Provider{
		Open:        func(cloudtest.T) cloudtest.Cloud { return cloudOf(t, file) },
		Idempotency: cloudtest.ByToken, UserData: "#!/bin/sh\nsleep 3600\n", Stock: 6, Exact: true,
		Pool:     bridge.Pool{Cloud: "jianmi", Region: "bj", Type: kind, Market: bridge.OnDemand},
		Patience: 2 * time.Minute,
		LoseAnswer: func(cloudtest.T) {
			if err := os.WriteFile(file+"-die", nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
	})
	for i := range rig.Machines {
		if left := rig.In(t, i, "ls -A /var/lib/spillway; pgrep -a sleep || true"); left != "init" {
			t.Errorf("left on n%d: %s", i+1, left)
		}
	}
	ids := map[string]bool{}
	for i := range hook.letters {
		if id := hook.letters[i].ID; ids[id] {
			t.Errorf("letter %s was sent twice", id)
		} else {
			ids[id] = true
		}
	}
}

// shop is a desk in this process, with machines that do as they are told, and
// with its own clock.
type shop struct {
	*desk.Desk
	t     *testing.T
	hook  *channel
	shell *fakeShell
	site  site

	mu  sync.Mutex
	now time.Time
}

// fakeShell is every machine: it answers, unless its address is in dead.
type fakeShell struct {
	mu   sync.Mutex
	dead map[string]bool
	did  []string // address and what, in order
}

func (f *fakeShell) Run(_ context.Context, h *host.Host, script string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead[h.Address] {
		return "", errors.New("exit status 255: no route to host")
	}
	_, tail, _ := strings.Cut(script, "main() {\n")
	_, id, _ := strings.Cut(tail, "id='")
	id, _, _ = strings.Cut(id, "'")
	for what, done := range map[string]string{"look": "looked", "start": "started", "extend": "extended", "release": "released"} {
		if strings.HasSuffix(script, "\n"+what+"\ndone_with "+done+"\n}\nmain\nexit\n") {
			f.did = append(f.did, h.Address+" "+what)
			return "spillway-owned " + done + " " + id + "\n", nil
		}
	}
	return "", errors.New("not understood")
}

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func newShop(t *testing.T, change ...func(*desk.Options)) *shop {
	t.Helper()
	s := &shop{t: t, hook: newChannel(t), shell: &fakeShell{dead: map[string]bool{}}, now: noon}
	_, s.site = siteOf(t, s.hook.URL)
	s.reopen(change...)
	return s
}

// reopen is another process at the same desk.
func (s *shop) reopen(change ...func(*desk.Options)) {
	s.t.Helper()
	o := s.site.options(s.shell)
	o.Now = func() time.Time { s.mu.Lock(); defer s.mu.Unlock(); return s.now }
	for _, f := range change {
		f(&o)
	}
	var err error
	if s.Desk, err = desk.New(o); err != nil {
		s.t.Fatal(err)
	}
}

// after moves the clock to noon plus d, and has the daemon look.
func (s *shop) after(d time.Duration) []wire.Machine {
	s.t.Helper()
	s.mu.Lock()
	s.now = noon.Add(d)
	s.mu.Unlock()
	m, complete, err := s.List(s.t.Context(), &wire.List{Store: "store-1"})
	if err != nil || !complete {
		s.t.Fatalf("list: %v, complete %t", err, complete)
	}
	return m
}

func (s *shop) order(token string, count int) string {
	s.t.Helper()
	ticket, err := s.Create(s.t.Context(), create(token, count))
	if err != nil {
		s.t.Fatal(err)
	}
	return ticket
}

func create(token string, count int) *wire.Create {
	return &wire.Create{
		Token: token, Region: "bj", Type: kind, Market: "on-demand", Count: count, MaxRate: wire.Rate{Amount: "100", Currency: "CNY"},
		Tags: map[string]string{bridge.TagStore: "store-1", bridge.TagExpires: noon.Add(8 * time.Hour).Format(time.RFC3339)}, UserData: "#!/bin/sh\n", Expires: noon.Add(8 * time.Hour),
	}
}

func (s *shop) want(kinds ...string) {
	s.t.Helper()
	if diff := cmp.Diff(kinds, s.hook.kinds()); diff != "" {
		s.t.Errorf("letters (-want +sent):\n%s", diff)
	}
}

func shown(m []wire.Machine) string {
	var out []string
	for i := range m {
		out = append(out, strings.TrimSpace(m[i].State+" "+m[i].Address))
	}
	return strings.Join(out, ", ")
}

func brought(addresses ...string) []desk.Brought {
	var out []desk.Brought
	for _, a := range addresses {
		out = append(out, desk.Brought{Address: a, HostKey: "ssh-ed25519 AAAA"})
	}
	return out
}

func TestALifeByTicket(t *testing.T) {
	s := newShop(t)
	ticket := s.order("T1", 2)
	if again := s.order("T1", 2); again != ticket {
		t.Errorf("the same create is ticket %s and %s", ticket, again)
	}
	if got := shown(s.after(time.Minute)); got != "pending, pending" {
		t.Errorf("before the delivery: %s", got)
	}
	if _, err := s.Deliver(t.Context(), ticket, brought("10.0.0.5")); err == nil || !strings.Contains(err.Error(), "for 2 machines, 1 were named") {
		t.Errorf("half a delivery: %v", err)
	}
	if _, err := s.Deliver(t.Context(), ticket, brought("10.0.0.5", "10.0.0.5")); err == nil {
		t.Error("one address for two machines is taken")
	}
	s.after(12 * time.Minute)
	for range 2 {
		a, err := s.Deliver(t.Context(), ticket, brought("10.0.0.5", "10.0.0.6"))
		if err != nil || a.Late || !slices.ContainsFunc(a.Machines, func(m host.Machine) bool { return m.Phase == host.Running }) {
			t.Errorf("delivery: %+v, %v", a, err)
		}
	}
	m := s.after(13 * time.Minute)
	if got := shown(m); got != "running 10.0.0.5, running 10.0.0.6" || !m[0].Launched.Equal(noon.Add(12*time.Minute)) {
		t.Errorf("after the delivery: %s, from %s", got, m[0].Launched)
	}
	if err := s.Extend(t.Context(), []string{m[0].ID, m[1].ID}, noon.Add(10*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.Terminate(t.Context(), []string{m[0].ID}); err != nil {
		t.Fatal(err)
	}
	if got := shown(s.after(time.Hour)); got != "stopping 10.0.0.5, running 10.0.0.6" {
		t.Errorf("until its return is confirmed: %s", got)
	}
	s.after(2 * time.Hour)
	if _, err := s.Returned(t.Context(), ticket, []string{m[1].ID}, time.Time{}, false); err == nil {
		t.Error("a machine that works is taken for returned")
	}
	if _, err := s.Returned(t.Context(), ticket, nil, noon.Add(100*time.Minute), false); err != nil {
		t.Fatal(err)
	}
	m = s.after(121 * time.Minute)
	if got := shown(m); got != "gone 10.0.0.5, running 10.0.0.6" || !m[0].Stopped.Equal(noon.Add(100*time.Minute)) {
		t.Errorf("after the return: %s, stopped %s", got, m[0].Stopped)
	}
	if got := shown(s.after(10 * time.Hour)); got != "gone 10.0.0.5, stopping 10.0.0.6" {
		t.Errorf("at its end: %s", got)
	}
	if _, err := s.Returned(t.Context(), ticket, nil, time.Time{}, false); err != nil {
		t.Fatal(err)
	}
	if got := shown(s.after(10*time.Hour + time.Minute)); got != "gone 10.0.0.5, gone 10.0.0.6" {
		t.Errorf("in the end: %s", got)
	}
	s.want("order", "reminder", "extended", "return", "return-reminder", "return-reminder", "return")
	if got := strings.Join(s.shell.did, "; "); strings.Count(got, "10.0.0.5 start") != 1 || strings.Count(got, "10.0.0.6 start") != 1 {
		t.Errorf("a machine was booted again: %s", got)
	}
}

// TestRemindersAndTheDeadline looks at every minute, from two processes, and wants
// each letter once; and after a long sleep wants no heap of them.
func TestRemindersAndTheDeadline(t *testing.T) {
	s := newShop(t)
	s.order("T1", 1)
	for i := range 35 {
		s.reopen()
		s.after(time.Duration(i) * time.Minute)
	}
	s.want("order", "reminder", "reminder", "withdrawn")
	_, err := s.Observe(t.Context(), &wire.Observe{Token: "T1"})
	var r *serve.Refusal
	if !errors.As(err, &r) || r.Kind != bridge.CloudNoCapacity || !strings.Contains(r.Message, "was not delivered by 2026-12-01 12:30 UTC") {
		t.Errorf("the create came to nothing: %v", err)
	}
	slept := newShop(t)
	slept.order("T2", 1)
	slept.after(25 * time.Minute)
	slept.want("order", "reminder")
}

func TestSoldOut(t *testing.T) {
	s := newShop(t)
	ticket := s.order("T1", 2)
	for range 2 {
		if _, err := s.Refuse(t.Context(), ticket, "none before Friday"); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Observe(t.Context(), &wire.Observe{Token: "T1"})
	var r *serve.Refusal
	if !errors.As(err, &r) || r.Kind != bridge.CloudNoCapacity || !strings.Contains(r.Message, "none before Friday") {
		t.Errorf("%v; want no capacity, in the person's words", err)
	}
	if got := shown(s.after(time.Minute)); got != "gone, gone" {
		t.Error(got)
	}
	if _, err := s.Refuse(t.Context(), "D0", "x"); !errors.Is(err, desk.ErrNoTicket) {
		t.Errorf("a ticket that is none: %v", err)
	}
}

// TestTooLate is what must neither be lost nor paid for in silence.
func TestTooLate(t *testing.T) {
	s := newShop(t)
	ticket := s.order("T1", 1)
	s.mu.Lock()
	s.now = noon.Add(31 * time.Minute) // and nobody has looked since
	s.mu.Unlock()
	for range 2 {
		a, err := s.Deliver(t.Context(), ticket, brought("10.0.0.5"))
		if err != nil || !a.Late || a.Status != desk.Withdrawn {
			t.Errorf("%+v, %v; want to be told that it is too late", a, err)
		}
	}
	m := s.after(32 * time.Minute)
	if got := shown(m); got != "gone, stopping 10.0.0.5" {
		t.Errorf("%s; want the late machine shown, and to cost", got)
	}
	s.after(65 * time.Minute)
	s.want("order", "withdrawn", "return", "return-reminder")
	if len(s.shell.did) > 0 {
		t.Errorf("something was done on it: %v", s.shell.did)
	}
	if _, err := s.Returned(t.Context(), ticket, nil, time.Time{}, false); err != nil {
		t.Fatal(err)
	}
	if got := shown(s.after(66 * time.Minute)); got != "gone, gone 10.0.0.5" {
		t.Error(got)
	}
}

func TestAnOrderIsTakenBack(t *testing.T) {
	s := newShop(t)
	ticket := s.order("T1", 2)
	m := s.after(time.Minute)
	if err := s.Terminate(t.Context(), []string{m[0].ID}); err != nil {
		t.Fatal(err)
	}
	if err := s.Terminate(t.Context(), []string{m[0].ID, m[1].ID, "D000-9"}); err != nil {
		t.Fatal(err)
	}
	s.want("order", "changed", "withdrawn")
	if got := shown(s.after(2 * time.Minute)); got != "gone, gone" {
		t.Error(got)
	}
	if a, err := s.Refuse(t.Context(), ticket, "too late"); err != nil || a.Status != desk.Withdrawn {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestAMachineThatCannotBeCleaned goes back all the same, and the vendor is told
// to wipe it.
func TestAMachineThatCannotBeCleaned(t *testing.T) {
	s := newShop(t)
	ticket := s.order("T1", 1)
	s.shell.dead["10.0.0.5"] = true
	if _, err := s.Deliver(t.Context(), ticket, brought("10.0.0.5")); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		s.after(time.Duration(i+1) * time.Minute)
	}
	s.want("order", "trouble")
	m := s.after(20 * time.Minute)
	if err := s.Terminate(t.Context(), []string{m[0].ID}); err == nil || !strings.Contains(err.Error(), "no route to host") {
		t.Errorf("terminate: %v; want it said", err)
	}
	for i := range 10 {
		s.after(time.Duration(i+21) * time.Minute)
	}
	s.want("order", "trouble", "return")
	last := s.hook.letters[2]
	if last.Machines[0].Clean || !strings.Contains(last.TextEN, "could NOT be cleaned") || !strings.Contains(last.TextZH, "未能清理") {
		t.Errorf("%+v", last)
	}
	if got := shown(s.after(40 * time.Minute)); got != "stopping 10.0.0.5" {
		t.Error(got)
	}
	if _, err := s.Returned(t.Context(), ticket, nil, time.Time{}, false); err != nil {
		t.Fatal(err)
	}
	if got := shown(s.after(41 * time.Minute)); got != "gone 10.0.0.5" {
		t.Error(got)
	}
}

// TestAVendorTakesAMachine ends it with a reason.
func TestAVendorTakesAMachine(t *testing.T) {
	s := newShop(t)
	ticket := s.order("T1", 1)
	if _, err := s.Deliver(t.Context(), ticket, brought("10.0.0.5")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Returned(t.Context(), ticket, nil, time.Time{}, true); err != nil {
		t.Fatal(err)
	}
	if m := s.after(time.Minute); m[0].State != "gone" || m[0].Fault != "taken back by the vendor" {
		t.Errorf("%+v", m[0])
	}
}

// TestAChannelThatIsAway keeps letters until it takes them, each once, in order.
func TestAChannelThatIsAway(t *testing.T) {
	s := newShop(t)
	s.hook.refuse = 3
	ticket := s.order("T1", 1)
	_, waiting, err := s.Orders()
	if err != nil || len(waiting) != 1 || !strings.Contains(waiting[0].Outbox.Said, "503") || strings.Contains(waiting[0].Outbox.Said, s.hook.URL) {
		t.Fatalf("waiting: %+v, %v; want the letter, and why, without the channel's address", waiting, err)
	}
	for i := range 12 {
		s.reopen()
		s.after(time.Duration(i) * 10 * time.Second)
	}
	s.want("order")
	if l := s.hook.letters[0]; l.Ticket != ticket || l.Count != 1 || l.Outbox != nil || !strings.Contains(l.TextEN, "deliver "+ticket) || !strings.Contains(l.TextZH, "订购机器") {
		t.Errorf("%+v", l)
	}
}

func TestFormsOfChannels(t *testing.T) {
	for kind, c := range map[desk.Kind]struct{ yes, no, has string }{
		desk.Slack:    {"ok", "", `{"text":"[Spillway] `},
		desk.Feishu:   {`{"code":0,"msg":"success"}`, `{"code":19024,"msg":"Key Words Not Found"}`, `{"content":{"text":"[Spillway] `},
		desk.WeCom:    {`{"errcode":0,"errmsg":"ok"}`, `{"errcode":93000,"errmsg":"invalid webhook url"}`, `"text":{"content":"[Spillway] `},
		desk.DingTalk: {`{"errcode":0,"errmsg":"ok"}`, `{"errcode":310000,"errmsg":"keywords not in content"}`, `"msgtype":"text"`},
	} {
		t.Run(string(kind), func(t *testing.T) {
			as := func(o *desk.Options) { o.Channels[0].Kind = kind }
			s := newShop(t, as)
			if c.no != "" {
				s.hook.answer = c.no
				s.order("T0", 1)
				if _, waiting, err := s.Orders(); err != nil || len(waiting) != 1 || !strings.Contains(waiting[0].Outbox.Said, "it refused with code") {
					t.Errorf("a no that came with 200: %+v, %v", waiting, err)
				}
			}
			s.hook.answer = c.yes
			s.order("T1", 1)
			body := s.hook.bodies[len(s.hook.bodies)-1]
			if !strings.Contains(body, c.has) || !strings.Contains(body, "订购机器") || !strings.Contains(body, "machines are ordered") {
				t.Errorf("it was told %s", body)
			}
		})
	}
}

// TestAFullDisk orders nothing and says so; what was kept is still there.
func TestAFullDisk(t *testing.T) {
	s := newShop(t)
	s.order("T1", 1)
	// The file beside the state cannot be made: as good as no space for it.
	if err := os.Mkdir(s.site.Dir+"/state.json.new", 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := s.Create(t.Context(), create("T2", 1))
	var r *serve.Refusal
	if !errors.As(err, &r) || r.Kind != bridge.CloudThrottled || !strings.Contains(r.Message, "nothing was ordered") {
		t.Errorf("%v; want it said that nothing happened", err)
	}
	s.want("order")
	if err := os.Remove(s.site.Dir + "/state.json.new"); err != nil {
		t.Fatal(err)
	}
	if got := shown(s.after(time.Minute)); got != "pending" {
		t.Error(got)
	}
}

func TestTwoProcessesAtOnce(t *testing.T) {
	s := newShop(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			d, err := desk.New(func() desk.Options { o := s.site.options(s.shell); o.Now = func() time.Time { return noon }; return o }())
			if err == nil {
				_, err = d.Create(t.Context(), create([]string{"T1", "T2"}[i%2], 3))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s.after(time.Second)
	s.want("order", "order")
}

package bot_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bot"
	"spillway.sh/spillway/bot/slackd"
	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge/desk"
)

// asker has somebody speak and returns who the conversation was told it is.
func (r *rig) asker(user string) talk.Asker {
	r.t.Helper()
	before := r.talker.times()
	r.command(user, "/rent whoami")
	r.until(user+" is heard", func() bool { return r.talker.times() > before })
	r.talker.mu.Lock()
	defer r.talker.mu.Unlock()
	return r.talker.who[len(r.talker.who)-1]
}

// refused has somebody speak who must not be heard, and returns what they are
// told.
func (r *rig) refused(user, want string) {
	r.t.Helper()
	before, logged := r.talker.times(), len(r.log.String())
	if out, err := r.Command(context.Background(), user, burst, "/rent approve r-0015"); err != nil || out.Outcome != "acked" {
		r.t.Fatalf("%s: %+v, %v", user, out, err)
	}
	r.sees(user, burst, want)
	if r.talker.times() != before {
		r.t.Errorf("%s was heard", user)
	}
	if !strings.Contains(r.log.String()[logged:], "refused") {
		r.t.Errorf("the log does not tell of %s", user)
	}
}

func TestSecurityWhoIsNobodyHereIsRefusedAndLogged(t *testing.T) {
	r, base := door(t)
	// The table names all of them: what Slack says of them counts first.
	for user, want := range map[string]string{
		"U0GUS0001": "Guests", "U0UMA0001": "Guests", "U0CIB0001": "Bots", "U0SAM0001": "another Slack workspace", "U0OLD0001": "deactivated",
		"U0NEW0001": "No account", "U0NOBODY1": "does not say who you are",
	} {
		t.Run(user, func(t *testing.T) {
			k := r.rightly(user)
			k.body = strings.Replace(strings.Replace(k.body, ana, user, 1), "hooks.slack.com", "example.org", 1)
			if res := r.request(base, k); res.StatusCode != http.StatusOK {
				t.Fatalf("status %d", res.StatusCode)
			}
			r.until("the log tells of "+user, func() bool {
				return slices.ContainsFunc(strings.Split(r.log.String(), "\n"), func(l string) bool {
					return strings.Contains(l, "refused") && strings.Contains(l, user) && strings.Contains(l, want)
				})
			})
		})
	}
	if n := r.talker.times(); n != 0 {
		t.Errorf("%d of them were heard", n)
	}
	if n := r.figure("spillway_slack_refused_total", "reason=identity"); n != 7 {
		t.Errorf("%v refusals are counted", n)
	}
}

// What Slack tells of a change ends what was known before.
func TestSecurityAGuestSinceAMomentAgoIsRefused(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.begin()
	r.asker(tom)
	if err := r.Change(t.Context(), "users/"+tom, map[string]any{"is_restricted": true}); err != nil {
		t.Fatal(err)
	}
	r.refused(tom, "Guests")
}

func TestAccountsByAddressOnlyWhereTheConfigurationSaysSo(t *testing.T) {
	cases := map[string]struct {
		accounts bot.Accounts
		user     string
		want     string // the account; empty: refused
		why      string
	}{
		"address is off":              {bot.Accounts{Users: map[string]string{team + "/" + lea: "lea"}}, ana, "", "No account"},
		"address is on":               {bot.Accounts{EmailDomain: "hpc.example"}, ana, "ana", ""},
		"the address of root":         {bot.Accounts{EmailDomain: "hpc.example"}, "U0ROOT001", "", "No account"},
		"another domain":              {bot.Accounts{EmailDomain: "other.example"}, ana, "", "No account"},
		"an address nobody confirmed": {bot.Accounts{EmailDomain: "hpc.example"}, "U0NEW0001", "", "has not confirmed"},
		"table and address agree":     {bot.Accounts{EmailDomain: "hpc.example", Users: map[string]string{team + "/" + ana: "ana"}}, ana, "ana", ""},
		"table and address differ":    {bot.Accounts{EmailDomain: "hpc.example", Users: map[string]string{team + "/" + ana: "root"}}, ana, "", "More than one account"},
		"the table of another team":   {bot.Accounts{Users: map[string]string{"T0OTHER01/" + ana: "root"}}, ana, "", "No account"},
		"an account the host lacks":   {bot.Accounts{Users: map[string]string{team + "/" + ana: "nobody"}}, ana, "", "does not exist"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := slackd.DefaultWorkspace()
			w.Users = append(w.Users, &slackd.User{ID: "U0ROOT001", Name: "root", Email: "root@hpc.example", TeamID: team, Locale: "en-US", Zone: "UTC"})
			w.Channels[1].Members = append(w.Channels[1].Members, "U0ROOT001")
			r := newRig(t, slackd.Options{Workspace: w})
			r.options.Accounts = c.accounts
			r.begin()
			if c.want == "" {
				r.refused(c.user, c.why)
				return
			}
			if got := r.asker(c.user).Person.Name; got != c.want {
				t.Errorf("taken for %q, want %q", got, c.want)
			}
		})
	}
}

// An empty or unreadable group has no members: nobody is an approver by it.
func TestB_F07_AGroupThatCannotBeReadMakesNobodyAnApprover(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.options.Accounts.Groups = map[string]string{"S0NOBODY1": "gpu-approvers"}
	r.begin()
	if p := r.asker(mei).Person; p.Is(desk.Approver) {
		t.Errorf("by an empty group mei is %+v", p)
	}
	r.end()
	r.options.Accounts = accounts()
	if _, err := r.AddFault(t.Context(), slackd.Fault{On: "usergroups.users.list", Kind: slackd.FaultRefuse, Error: "missing_scope"}); err != nil {
		t.Fatal(err)
	}
	r.begin()
	if p := r.asker(mei).Person; p.Is(desk.Approver) || slices.Contains(p.Groups, "gpu-approvers") {
		t.Errorf("by an unreadable group mei is %+v", p)
	}
	if err := r.ClearFaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := r.asker(mei).Person; !p.Is(desk.Approver) {
		t.Errorf("by the group mei is %+v", p)
	}
}

// Who is in a group is asked at the click: who leaves it is out at once. And a
// group of Slack's makes nobody an admin, for more people can edit it.
func TestSecurityMembershipCountsAtTheClickAndNeverMakesAnAdmin(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.begin()
	p := r.asker(mei).Person
	if !p.Is(desk.Approver) || p.Is(desk.Admin) {
		t.Errorf("mei is %+v, want an approver and no admin", p)
	}
	if err := r.Change(t.Context(), "groups/"+approvers, map[string]any{"users": []string{lea}}); err != nil {
		t.Fatal(err)
	}
	if p := r.asker(mei).Person; p.Is(desk.Approver) {
		t.Errorf("out of the group mei still is %+v", p)
	}
}

// Two Slack accounts of one person are one account here, so that the desk knows
// the requester in both.
func TestB_F08_ASecondSlackAccountIsTheSamePerson(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.options.Accounts.Users[team+"/"+tom] = "ana"
	r.begin()
	if a, b := r.asker(ana).Person, r.asker(tom).Person; a.Name != b.Name || a.UID != b.UID {
		t.Errorf("one person is %+v and %+v", a, b)
	}
}

// One who has left does not keep the others from being told.
func TestB_F09_OneWhoLeftIsPassedOver(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.options.Accounts = bot.Accounts{EmailDomain: "hpc.example"}
	r.talker.due = func(time.Time) []talk.Effect {
		var out []talk.Effect
		for _, who := range []string{"gone", "olga", "mei"} {
			out = append(out, talk.Effect{Surface: talk.Direct, Account: who, Once: "ask/" + who, Message: text("please decide, %s", who)})
		}
		return out
	}
	r.begin()
	dm, err := r.OpenDM(t.Context(), mei)
	if err != nil {
		t.Fatal(err)
	}
	r.sees(mei, dm.ID, "please decide, mei")
	r.delivered()
	if n := r.figure("spillway_slack_dropped_total", "reason=no Slack user"); n != 2 {
		t.Errorf("%v are noted as gone, want 2", n)
	}
}

// On a grid a click carries the organisation-wide id and the table or the group
// the workspace's own.
func TestB_F10_BothIDsOfAGridAreOnePerson(t *testing.T) {
	w := slackd.DefaultWorkspace()
	w.Team.EnterpriseID = "E0GRID001"
	w.Groups[0].Users = append(w.Groups[0].Users, kim)
	r := newRig(t, slackd.Options{Workspace: w})
	r.begin()
	p := r.asker(kim)
	if p.Slack != "W0KIM0001" {
		t.Fatalf("the click carries %s, and the test wants the grid's id", p.Slack)
	}
	if p.Person.Name != "kim" || !p.Is(desk.Approver) {
		t.Errorf("kim is %+v", p.Person)
	}
	r.end()
	r.options.Accounts.Users = map[string]string{"E0GRID001/W0KIM0001": "kim", team + "/" + kim: "root"}
	r.begin()
	before := r.talker.times()
	r.command(kim, "/rent whoami")
	r.until("kim is answered", func() bool {
		return strings.Contains(r.log.String(), "accounts kim and root") || r.talker.times() > before
	})
	if r.talker.times() > before {
		t.Error("two accounts for one person, and one was taken")
	}
}

// Names are for display. Somebody who takes an approver's name stays who they
// are.
func TestB_F11_ANameIsNoIdentity(t *testing.T) {
	r := newRig(t, slackd.Options{})
	r.begin()
	if err := r.Change(t.Context(), "users/"+ana, map[string]any{"name": "mei", "real_name": "陈梅"}); err != nil {
		t.Fatal(err)
	}
	p := r.asker(ana)
	if p.Person.Name != "ana" || p.Is(desk.Approver) {
		t.Errorf("ana under mei's name is %+v", p.Person)
	}
	if p.Name != "mei" {
		t.Errorf("shown as %q, want the new name", p.Name)
	}
}

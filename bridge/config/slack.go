package config

import (
	"net"
	"regexp"
	"strings"

	"spillway.sh/spillway/bridge/config/strict"
)

// Slack is how the bot talks to Slack. Without tokens it talks to a Slack of
// this host's own, which Local says where to find.
type Slack struct {
	BotToken      Secret `json:"bot_token"`
	AppToken      Secret `json:"app_token"`      // of Socket Mode
	SigningSecret Secret `json:"signing_secret"` // of signed HTTP
	Listen        string `json:"listen"`         // host:port for signed HTTP; empty: Socket Mode
	App           string `json:"app"`            // A...; needed for signed HTTP
	API           string `json:"api"`            // of the Web API; empty: Slack's own
	Channel       string `json:"channel"`        // C...; where questions and grants are shown
	// Users are the Unix accounts of Slack users, by TEAM/USER.
	Users map[string]string `json:"users"`
	// EmailDomain, where given, lets NAME@EmailDomain be the account NAME.
	EmailDomain string `json:"email_domain"`
	// Groups are the Unix groups that members of a Slack user group are in, too.
	Groups map[string]string `json:"groups"`
	// Local is the address of a local Slack that is started; empty: none.
	Local string `json:"local"`
	// Workspace is the file of who is in the local Slack; empty: its own.
	Workspace string `json:"workspace"`
}

// DefaultLocalSlack is where a local Slack answers unless it is told otherwise.
const DefaultLocalSlack = "127.0.0.1:7480"

var (
	slackUser    = regexp.MustCompile(`^[TE][A-Z0-9]{2,}/[UW][A-Z0-9]{2,}$`)
	slackGroup   = regexp.MustCompile(`^S[A-Z0-9]{2,}$`)
	slackChannel = regexp.MustCompile(`^[CG][A-Z0-9]{2,}$`)
	slackApp     = regexp.MustCompile(`^A[A-Z0-9]{2,}$`)
	unixName     = regexp.MustCompile(`^[a-z_][a-z0-9._-]{0,31}$`)
	mailDomain   = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*\.[a-z]{2,}$`)
)

func matches(re *regexp.Regexp, wrong string) func(string) string {
	return func(s string) string {
		if !re.MatchString(s) {
			return wrong
		}
		return ""
	}
}

func (r *reader) slack(n strict.Node) {
	s := &Slack{}
	r.config.Slack = s
	given := func(key string) bool {
		for _, k := range []string{key, key + "_file", key + "_env"} {
			if _, ok := n.Get(k); ok {
				return true
			}
		}
		return false
	}
	account := matches(unixName, "want the name of a Unix account or group")
	fields := []strict.Field{
		strict.May("listen", "listen: 127.0.0.1:7481", strict.Text(&s.Listen, hostPort)),
		strict.May("app", "app: A0123ABCD", strict.Text(&s.App, matches(slackApp, "want the id of the app, which begins with A"))),
		strict.May("api", "api: https://slack.com/api/", address(&s.API)),
		strict.May("channel", "channel: C0123ABCD", strict.Text(&s.Channel, matches(slackChannel, "want the id of a channel, which begins with C: its name may change"))),
		strict.May("users", "users: {T0123ABCD/U0123ABCD: ana}", strict.Pairs(&s.Users, matches(slackUser, "want TEAM/USER by their ids, for example T0123ABCD/U0123ABCD"), account)),
		strict.May("email_domain", "email_domain: example.org", strict.Text(&s.EmailDomain, matches(mailDomain, "want the domain of the addresses, without @"))),
		strict.May("groups", "groups: {S0123ABCD: gpu-approvers}", strict.Pairs(&s.Groups, matches(slackGroup, "want the id of a user group, which begins with S"), account)),
		strict.May("local", "local: "+DefaultLocalSlack, strict.Text(&s.Local, loopback)),
		strict.May("workspace", "workspace: workspace.yaml", r.path(&s.Workspace, aFile)),
	}
	for _, f := range []struct {
		key string
		dst *Secret
	}{{"bot_token", &s.BotToken}, {"app_token", &s.AppToken}, {"signing_secret", &s.SigningSecret}} {
		if given(f.key) {
			fields = append(fields, r.secret(n, f.key, f.dst)...)
			continue
		}
		// Known keys, so that a slip of the pen is understood.
		file, env := f.key+"_file", f.key+"_env"
		fields = append(fields, strict.May(file, file+": /etc/spillway/"+f.key, func(strict.Node) {}), strict.May(env, env+": SPILLWAY_"+strings.ToUpper(f.key), func(strict.Node) {}))
	}
	if !n.Sound(func(n strict.Node) { n.Object(fields...) }) {
		return
	}
	if !given("bot_token") {
		r.slackHere(n, s, given)
		return
	}
	slackThere(n, s, given)
}

// slackThere finds what the keys of a section with a token say together.
func slackThere(n strict.Node, s *Slack, given func(string) bool) {
	switch {
	case s.Local != "":
		n.With("bot_token_file: /etc/spillway/slack-bot").Refuse("there are a token and a local Slack: keep one")
	case s.Listen == "" && !given("app_token"):
		n.With("app_token_file: /etc/spillway/slack-app").Refuse("nothing says how Slack reaches the bot: give app_token_file for Socket Mode, or listen for signed HTTP")
	case s.Listen != "" && (!given("signing_secret") || s.App == ""):
		n.With("signing_secret_file: /etc/spillway/slack-signing").Refuse("over HTTP signing_secret_file and app are needed: without them anybody could press buttons")
	case len(s.Users) == 0 && s.EmailDomain == "":
		n.With("users: {T0123ABCD/U0123ABCD: ana}").Refuse("nobody has an account: give users, or email_domain")
	case s.Channel == "":
		n.With("channel: C0123ABCD").Refuse("no channel: questions would be shown nowhere")
	}
}

// slackHere makes a section without a token one of a local Slack.
func (r *reader) slackHere(n strict.Node, s *Slack, given func(string) bool) {
	if given("app_token") || given("signing_secret") || s.Listen != "" || s.API != "" {
		n.With("bot_token_file: /etc/spillway/slack-bot").Refuse("bot_token_file is missing")
		return
	}
	if s.Local == "" {
		s.Local = DefaultLocalSlack
	}
}

// loopback refuses an address that others could reach: in a local Slack
// everybody can be anybody.
func loopback(s string) string {
	if wrong := hostPort(s); wrong != "" {
		return wrong
	}
	h, _, _ := net.SplitHostPort(s)
	if ip := net.ParseIP(h); ip == nil || !ip.IsLoopback() {
		return "want a loopback address: in a local Slack everybody can be anybody"
	}
	return ""
}

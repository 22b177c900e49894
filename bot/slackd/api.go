package slackd

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tokenKind is whose token a method wants.
type tokenKind int

const (
	botToken tokenKind = iota
	appToken
	noToken
)

// method is one method of the Web API.
type method struct {
	tier   tier
	token  tokenKind
	scopes []string // any of them; none: no scope is needed
	do     func(*call) (object, error)
}

// methods is everything the Web API can do here.
var methods map[string]method

func init() {
	channels := []string{"channels:read", "groups:read", "im:read", "mpim:read"}
	post := []string{"chat:write"}
	methods = map[string]method{
		"api.test":                     {special, noToken, nil, apiTest},
		"auth.test":                    {special, botToken, nil, authTest},
		"apps.connections.open":        {tier1, appToken, []string{"connections:write"}, connectionsOpen},
		"blocks.validate":              {special, botToken, nil, blocksValidate},
		"bots.info":                    {tier3, botToken, []string{"users:read"}, botsInfo},
		"chat.postMessage":             {special, botToken, post, postMessage},
		"chat.update":                  {tier3, botToken, post, updateMessage},
		"chat.delete":                  {tier3, botToken, post, deleteMessage},
		"chat.postEphemeral":           {tier4, botToken, post, postEphemeral},
		"chat.getPermalink":            {special, botToken, nil, getPermalink},
		"conversations.list":           {tier2, botToken, channels, conversationsList},
		"conversations.info":           {tier3, botToken, channels, conversationsInfo},
		"conversations.members":        {tier4, botToken, channels, conversationsMembers},
		"conversations.open":           {tier3, botToken, []string{"im:write", "mpim:write"}, conversationsOpen},
		"conversations.join":           {tier3, botToken, []string{"channels:join"}, conversationsJoin},
		"users.info":                   {tier4, botToken, []string{"users:read"}, usersInfo},
		"users.list":                   {tier2, botToken, []string{"users:read"}, usersList},
		"users.lookupByEmail":          {tier3, botToken, []string{"users:read.email"}, usersLookup},
		"usergroups.list":              {tier2, botToken, []string{"usergroups:read"}, groupsList},
		"usergroups.users.list":        {tier2, botToken, []string{"usergroups:read"}, groupsUsers},
		"views.open":                   {tier4, botToken, nil, viewsOpen},
		"views.push":                   {tier4, botToken, nil, viewsPush},
		"views.update":                 {tier4, botToken, nil, viewsUpdate},
		"views.publish":                {tier4, botToken, nil, viewsPublish},
		"files.getUploadURLExternal":   {tier4, botToken, []string{"files:write"}, uploadURL},
		"files.completeUploadExternal": {tier4, botToken, []string{"files:write"}, uploadComplete},
		"reactions.add":                {tier3, botToken, []string{"reactions:write"}, reactionsAdd},
	}
}

// call is one request to a method.
type call struct {
	s *Server
	args
	kind   tokenKind
	scopes []string
	now    time.Time
	base   string // address the caller reached us at
}

func (c *call) can(scope string) bool { return slices.Contains(c.scopes, scope) }

// refusal is ok:false with Slack's name for what is wrong.
type refusal struct {
	name  string
	extra object
}

func (r *refusal) Error() string { return r.name }

func refuse(name string) error { return &refusal{name: name} }

// invalid is a refusal that says where the arguments are wrong.
func invalid(name string, flaws []flaw) error {
	lines, marked := []string{}, []string{}
	for _, f := range flaws {
		lines = append(lines, f.line())
		marked = append(marked, "[ERROR] "+f.line())
	}
	return &refusal{name: name, extra: object{"errors": lines, "response_metadata": object{"messages": marked}}}
}

// Call is one Web API call, as the control interface tells it.
type Call struct {
	Method string    `json:"method"`
	At     time.Time `json:"at"`
	Status int       `json:"status"`
	OK     bool      `json:"ok"`
	Error  string    `json:"error,omitempty"`
	Fault  string    `json:"fault,omitempty"`
	Key    string    `json:"key,omitempty"` // channel, user or view it was about
}

// kept is how many calls, deliveries, notices and ephemeral messages of a
// person are remembered.
const kept = 2000

// remember adds to a list that forgets its beginning.
func remember[T any](list []T, v T) []T {
	if len(list) >= 2*kept {
		list = slices.Clone(list[len(list)-kept:])
	}
	return append(list, v)
}

// latest is the part of such a list that is shown.
func latest[T any](list []T) []T { return list[max(0, len(list)-kept):] }

// api serves /api/METHOD.
func (s *Server) api(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/api/")
	rec := &Call{Method: name, At: s.clock.now(), Status: http.StatusOK}
	defer s.note(rec)
	fault := s.faults.take(name, "api")
	if fault != nil {
		rec.Fault = fault.Kind
		if s.before(w, r, fault, rec) {
			return
		}
	}
	answer, err := s.run(w, r, name, rec)
	if fault != nil && s.after(w, fault, rec) {
		return
	}
	if limited, yes := errors.AsType[*tooFast](err); yes {
		s.tooMany(w, limited.wait, rec)
		return
	}
	if no, yes := errors.AsType[*refusal](err); yes {
		rec.Error = no.name
		answer = object{"ok": false, "error": no.name}
		maps.Copy(answer, no.extra)
	} else if answer["ok"] == nil {
		answer["ok"] = true
	}
	rec.OK = answer["ok"] == true
	writeJSON(w, http.StatusOK, answer)
}

// run does what the method does, or says why not.
func (s *Server) run(w http.ResponseWriter, r *http.Request, name string, rec *Call) (object, error) {
	m, known := methods[name]
	if !known {
		return nil, refuse("unknown_method")
	}
	c, err := s.read(r)
	if err != nil {
		return nil, err
	}
	rec.Key = c.first("channel", "channel_id", "user", "user_id", "view_id", "usergroup")
	s.mu.Lock()
	defer s.mu.Unlock()
	c.now = s.clock.now() // in the order in which calls are served, for the limits
	if err := s.authorise(w, r, c, m); err != nil {
		return nil, err
	}
	if wait := s.limits.take(name, m.tier, c); wait > 0 {
		return nil, &tooFast{wait}
	}
	answer, err := m.do(c)
	if answer == nil {
		answer = object{}
	}
	return answer, err
}

// authorise finds the token and checks what it may do.
func (s *Server) authorise(w http.ResponseWriter, r *http.Request, c *call, m method) error {
	if m.token == noToken {
		return nil
	}
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer && !c.json {
		token = c.str("token")
	}
	if token == "" {
		return refuse("not_authed")
	}
	switch {
	case equal(token, s.tokens.Bot):
		c.kind, c.scopes = botToken, s.work.App.Scopes
	case equal(token, s.tokens.App):
		c.kind, c.scopes = appToken, s.work.App.AppScopes
	default:
		return refuse("invalid_auth")
	}
	if s.revoked[c.kind] {
		return refuse("token_revoked")
	}
	if c.kind != m.token {
		return refuse("not_allowed_token_type")
	}
	w.Header().Set("X-OAuth-Scopes", strings.Join(c.scopes, ","))
	w.Header().Set("X-Accepted-OAuth-Scopes", strings.Join(m.scopes, ","))
	if len(m.scopes) > 0 && !slices.ContainsFunc(m.scopes, c.can) {
		return &refusal{name: "missing_scope", extra: object{"needed": strings.Join(m.scopes, ","), "provided": strings.Join(c.scopes, ",")}}
	}
	return nil
}

// tooMany answers 429.
func (s *Server) tooMany(w http.ResponseWriter, wait time.Duration, rec *Call) {
	rec.Status, rec.Error = http.StatusTooManyRequests, "ratelimited"
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))))
	writeJSON(w, http.StatusTooManyRequests, object{"ok": false, "error": "ratelimited"})
}

// note remembers a call and tells the feeds that see everything.
func (s *Server) note(rec *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = remember(s.calls, rec)
	s.tell("call", rec, "", "")
}

func apiTest(c *call) (object, error) {
	if name := c.str("error"); name != "" {
		return nil, refuse(name)
	}
	return object{"args": object{}}, nil
}

func authTest(c *call) (object, error) {
	w := c.s.work
	answer := object{
		"url": "https://" + w.Team.Domain + ".slack.com/", "team": w.Team.Name, "team_id": w.Team.ID,
		"user": w.user(w.App.BotUser).Name, "user_id": w.App.BotUser, "bot_id": w.App.BotID,
		"is_enterprise_install": w.Team.OrgInstall,
	}
	if w.Team.EnterpriseID != "" {
		answer["enterprise_id"] = w.Team.EnterpriseID
	}
	if w.Team.OrgInstall {
		answer["team_id"] = w.Team.EnterpriseID
	}
	return answer, nil
}

func botsInfo(c *call) (object, error) {
	a := c.s.work.App
	if id := c.str("bot"); id != "" && id != a.BotID {
		return nil, refuse("bot_not_found")
	}
	return object{"bot": object{"id": a.BotID, "name": a.Name, "app_id": a.ID, "user_id": a.BotUser, "deleted": false, "updated": 0, "icons": object{}}}, nil
}

// blocksValidate judges blocks, a message or a view without posting it.
func blocksValidate(c *call) (object, error) {
	given := 0
	for _, key := range []string{"blocks", "message", "view"} {
		if c.has(key) {
			given++
		}
	}
	if given != 1 {
		return nil, refuse("invalid_arguments")
	}
	flaws, name := []flaw(nil), "invalid_blocks"
	switch {
	case c.has("blocks"):
		flaws, _ = judgeMessage(c.raw("blocks"))
		flaws = append(flaws, c.s.undrawn(c.raw("blocks"))...)
		for i := range flaws {
			flaws[i].Pointer = strings.TrimPrefix(flaws[i].Pointer, "/blocks")
		}
	case c.has("message"):
		var m struct {
			Blocks rawJSON `json:"blocks"`
		}
		if c.into("message", &m) != nil {
			return nil, refuse("invalid_arguments")
		}
		name = "invalid_message"
		if len(m.Blocks) > 0 {
			flaws, _ = judgeMessage(m.Blocks)
			flaws = append(flaws, c.s.undrawn(m.Blocks)...)
		}
	default:
		name = "invalid_view"
		_, flaws = judgeView(c.raw("view"))
	}
	if len(flaws) > 0 {
		return nil, &refusal{name: name, extra: object{"errors": flaws}}
	}
	return nil, nil
}

func connectionsOpen(c *call) (object, error) {
	if c.s.disabled {
		return nil, refuse("apps_connections_disabled")
	}
	ticket := c.s.secret(16)
	c.s.tickets[ticket] = c.now.Add(ticketLife)
	scheme := "ws"
	if strings.HasPrefix(c.base, "https") {
		scheme = "wss"
	}
	_, host, _ := strings.Cut(c.base, "://")
	return object{"url": fmt.Sprintf("%s://%s/link/?ticket=%s&app_id=%s", scheme, host, ticket, c.s.work.App.ID)}, nil
}

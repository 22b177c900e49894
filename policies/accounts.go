package policies

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// mapping sends jobs to a team/project. Empty patterns match everything.
type mapping struct {
	account, user, cluster string // patterns
	to                     string // team/project; {account} stands for the scheduler account
}

// accountHole is replaced by the job's scheduler account.
const accountHole = "{account}"

// levelName keeps accounts readable and free of look-alike letters; a
// scheduler account with a slash must never climb into another team.
var (
	levelName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	personName  = regexp.MustCompile(`^@?[A-Za-z0-9_][A-Za-z0-9._\\@$+-]{0,63}$`)
	commentWord = regexp.MustCompile(`^[A-Za-z0-9:=._/-]{3,64}$`)
)

func (m *mapping) matches(d *bridge.Demand) bool {
	return like(m.account, d.Account) && like(m.user, d.User) && like(m.cluster, d.Cluster)
}

// target fills the hole. An account that is no plain name maps to nothing.
func (m *mapping) target(organisation, account string) (bridge.Account, bool) {
	to := m.to
	if strings.Contains(to, accountHole) {
		if !levelName.MatchString(account) {
			return "", false
		}
		to = strings.ReplaceAll(to, accountHole, account)
	}
	return bridge.Account(organisation + "/" + to), true
}

// like matches a pattern with * and ? against a name. The empty pattern and a
// lone star match everything, slashes too.
func like(pattern, name string) bool {
	if pattern == "" || pattern == "*" {
		return true
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

func (r *reader) mappings(n strict.Node) {
	strict.Each(func(e strict.Node) {
		var m mapping
		ok := e.Sound(func(e strict.Node) {
			e.Object(
				strict.May("account", `account: "hep-*"`, strict.Text(&m.account, pattern)),
				strict.May("user", "user: ana", strict.Text(&m.user, pattern)),
				strict.May("cluster", "cluster: main", strict.Text(&m.cluster, pattern)),
				strict.Need("to", "to: physics/hep", strict.Text(&m.to, target)),
			)
		})
		if ok && m.account == "" && m.user == "" && m.cluster == "" {
			e.With(`account: "*"`).Refuse("matches nothing: give account, user or cluster")
		}
		r.file.accounts = append(r.file.accounts, m)
	})(n)
}

func pattern(s string) string {
	if _, err := path.Match(s, ""); err != nil {
		return "not a pattern: * stands for any letters, ? for one"
	}
	return ""
}

func target(s string) string {
	levels := strings.Split(s, "/")
	if len(levels) != 2 {
		return "want team/project, two levels below the organisation"
	}
	for _, l := range levels {
		if !levelName.MatchString(strings.ReplaceAll(l, accountHole, "x")) {
			return "a name has letters, digits, dots and dashes; only {account} may be filled in"
		}
	}
	return ""
}

func level(s string) string {
	if !levelName.MatchString(s) {
		return "a name has letters, digits, dots and dashes"
	}
	return ""
}

func person(s string) string {
	if !personName.MatchString(s) {
		return "not a Unix account, nor a group with a leading @"
	}
	return ""
}

// optOut are the jobs that never leave, whatever the rules say.
type optOut struct {
	partitions, accounts, qos, users []string // patterns
	words                            []string // of the job's comment
}

// The words a job's comment is searched for unless the file gives others.
const (
	wordStay       = "spillway:no"
	wordCheckpoint = "spillway:checkpoint"
)

func (r *reader) optOuts(n strict.Node) {
	o := &r.file.optOut
	o.words = nil
	n.Object(
		strict.May("partitions", "partitions: [interactive]", strict.Texts(&o.partitions, pattern)),
		strict.May("accounts", `accounts: ["secret-*"]`, strict.Texts(&o.accounts, pattern)),
		strict.May("qos", "qos: [debug]", strict.Texts(&o.qos, pattern)),
		strict.May("users", "users: [root]", strict.Texts(&o.users, pattern)),
		strict.May("comments", `comments: ["spillway:no"]`, strict.Texts(&o.words, word)),
	)
	if _, given := n.Get("comments"); !given {
		o.words = []string{wordStay}
	}
}

func word(s string) string {
	if !commentWord.MatchString(s) {
		return "want one word of letters, digits and :=._/- with at least three of them"
	}
	return ""
}

// matchAny reports whether a name matches a pattern. Of several partitions one
// is enough: the job may start there.
func matchAny(patterns []string, name string, split bool) bool {
	if split && strings.Contains(name, ",") {
		return slices.ContainsFunc(strings.Split(name, ","), func(one string) bool { return matchAny(patterns, one, false) })
	}
	return slices.ContainsFunc(patterns, func(p string) bool { return like(p, name) })
}

// hasWord reports whether a comment has one of the words, standing alone.
func hasWord(comment string, words ...string) bool {
	fields := strings.FieldsFunc(comment, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`,;"'`, r)
	})
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(fields, w) })
}

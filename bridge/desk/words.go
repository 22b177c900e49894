package desk

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// Known are the names that words may mean, and the clock that times are read by.
type Known struct {
	GPUs     []string       `json:"gpus"`     // GPU types on offer
	Types    []string       `json:"types"`    // machine types on offer
	Places   []string       `json:"places"`   // clouds, regions, zones
	Projects []string       `json:"projects"` // for suggestions only
	Now      time.Time      `json:"-"`
	Zone     *time.Location `json:"-"` // of the asker; nil: UTC
}

// ReadWords reads a wish from words in any order. It never guesses: a word it
// does not know, a number without a unit, or money without a currency is an
// error that shows what was understood.
func ReadWords(words []string, known *Known) (Wish, error) {
	s := sentence{known: known, words: tidy(strings.Join(words, " "))}
	for len(s.words) > 0 {
		if err := s.next(); err != nil {
			return s.wish, err
		}
	}
	return s.wish, nil
}

type sentence struct {
	known *Known
	wish  Wish
	words []string
}

// currencies are those that can be written behind an amount.
var currencies = []string{"usd", "eur", "cny", "gbp", "jpy"}

var (
	sizeWord   = regexp.MustCompile(`^(\d+)[x*]([a-z][a-z0-9._-]*)$`)
	gpuColon   = regexp.MustCompile(`^(?:gpu:)?([a-z][a-z0-9._-]*):(\d+)$`)
	number     = regexp.MustCompile(`^\d+$`)
	decimal    = regexp.MustCompile(`^\d+(\.\d+)?$`)
	unitsWord  = regexp.MustCompile(`^(\d+(?:\.\d+)?[a-z]+)+$`)
	unitsPart  = regexp.MustCompile(`(\d+(?:\.\d+)?)([a-z]+)`)
	slurmTime  = regexp.MustCompile(`^(?:(\d+)-)?(\d+):([0-5]\d):([0-5]\d)$`)
	slurmDays  = regexp.MustCompile(`^(\d+)-(\d{1,2})(?::([0-5]\d))?$`)
	moneyWord  = regexp.MustCompile(`^(\$|usd|eur|cny|gbp|jpy)?(\d+(?:\.\d{1,6})?)(usd|eur|cny|gbp|jpy)?$`)
	amountUnit = regexp.MustCompile(`^(\d+)(cpus?|cores?|g|gb|gib|t|tb|tib)$`)
)

// next reads one word, or a word and what belongs to it. What is quoted is a
// reason.
func (s *sentence) next() error {
	if text, quoted := strings.CutPrefix(s.words[0], `"`); quoted {
		s.words = s.words[1:]
		return s.set(&Wish{Reason: text})
	}
	w := s.take()
	key, value, hasValue := strings.Cut(w, "=")
	if flag, ok := strings.CutPrefix(key, "--"); ok {
		if hasValue {
			s.words = append([]string{value}, s.words...)
		}
		w = flag
	}
	if read, ok := grammar[w]; ok {
		return read(s, w)
	}
	if project, ok := strings.CutPrefix(w, "@"); ok && project != "" {
		return s.set(&Wish{Project: project})
	}
	return s.quantity(w)
}

// grammar is every word that is a word here, and how it is read.
var grammar = map[string]func(*sentence, string) error{
	"spot": inMarket(bridge.Spot), "preemptible": inMarket(bridge.Spot),
	"on-demand": inMarket(bridge.OnDemand), "ondemand": inMarket(bridge.OnDemand), "od": inMarket(bridge.OnDemand),
	"project": ofProject, "account": ofProject, "-a": ofProject,
	"cluster": named(func(v string) *Wish { return &Wish{Cluster: v} }),
	"job":     named(func(v string) *Wish { return &Wish{Job: bridge.JobID(v)} }),
	"type":    named(func(v string) *Wish { return &Wish{Type: v} }),
	"on":      (*sentence).place, "in": (*sentence).place, "place": (*sentence).place, "region": (*sentence).place,
	"max": (*sentence).money, "under": (*sentence).money, "<=": (*sentence).money,
	"for": (*sentence).lasting, "duration": (*sentence).lasting, "until": (*sentence).until, "till": (*sentence).until,
	"count":   (*sentence).counted,
	"because": (*sentence).reason, "reason": (*sentence).reason,
	"with": nothing, "of": nothing, "and": nothing, "a": nothing, "an": nothing, "please": nothing, "each": nothing,
	"gpu": nothing, "gpus": nothing, "time": nothing,
}

var ofProject = named(func(v string) *Wish { return &Wish{Project: v} })

func nothing(*sentence, string) error { return nil }

func inMarket(m bridge.Market) func(*sentence, string) error {
	return func(s *sentence, _ string) error { return s.set(&Wish{Market: m}) }
}

// named reads the word that follows as a name.
func named(of func(string) *Wish) func(*sentence, string) error {
	return func(s *sentence, what string) error {
		if len(s.words) == 0 {
			return s.bad("", "%s of which name? A word is missing after %q", what, what)
		}
		return s.set(of(s.take()))
	}
}

// reason takes what is quoted, or else all that is left, as it was written.
func (s *sentence) reason(string) error {
	n := len(s.words)
	if n > 0 && s.words[0][0] == quote {
		n = 1
	}
	text := strings.ReplaceAll(strings.Join(s.words[:n], " "), `"`, "")
	s.words = s.words[n:]
	return s.set(&Wish{Reason: text})
}

// until reads when it is to end.
func (s *sentence) until(what string) error {
	t, err := s.when(what)
	if err != nil {
		return err
	}
	return s.set(&Wish{Until: t})
}

// counted reads a number of GPUs.
func (s *sentence) counted(what string) error {
	if len(s.words) == 0 {
		return s.bad("", "how many? A number is missing after %q", what)
	}
	return s.count(s.take(), func(k int) *Wish { return &Wish{GPUs: k} })
}

// lasting refuses a bare number where a duration is meant.
func (s *sentence) lasting(string) error {
	if len(s.words) > 0 && number.MatchString(s.words[0]) && (len(s.words) == 1 || !isUnit(strings.ToLower(s.words[1]))) {
		return s.bareNumber(s.take())
	}
	return nil
}

// quantity reads sizes, durations and numbers with the word that follows.
func (s *sentence) quantity(w string) error {
	if m := sizeWord.FindStringSubmatch(w); m != nil {
		return s.sized(m[1], m[2])
	}
	if m := gpuColon.FindStringSubmatch(w); m != nil {
		return s.sized(m[2], m[1])
	}
	if m := amountUnit.FindStringSubmatch(w); m != nil {
		return s.amount(m[1], m[2])
	}
	if d, ok := readDuration(w); ok {
		return s.set(&Wish{Seconds: int64(d / time.Second)})
	}
	if decimal.MatchString(w) && len(s.words) > 0 {
		return s.numbered(w)
	}
	if number.MatchString(w) {
		return s.bareNumber(w)
	}
	if moneyWord.MatchString(w) || strings.HasPrefix(w, "$") {
		return s.bad("max "+w, "%s is money: say what it is for", w)
	}
	if gpu, ok := among(s.known.GPUs, w); ok {
		return s.set(&Wish{GPUType: gpu})
	}
	if kind, ok := among(s.known.Types, w); ok {
		return s.set(&Wish{Type: kind})
	}
	if place, ok := among(s.known.Places, w); ok {
		return s.set(&Wish{Place: place})
	}
	return s.unknown(w)
}

// numbered reads a number and the word after it: "8 h100", "2 nodes", "6 hours", "64 gb".
func (s *sentence) numbered(n string) error {
	unit := s.take()
	switch {
	case slices.Contains([]string{"node", "nodes", "machine", "machines"}, unit) && number.MatchString(n):
		return s.count(n, func(k int) *Wish { return &Wish{Machines: k} })
	case unit == "x" || unit == "*":
		if len(s.words) > 0 {
			return s.sized(n, s.take())
		}
	case amountUnit.MatchString(n + unit):
		return s.amount(n, unit)
	case s.isKind(unit):
		return s.sized(n, unit)
	}
	if d, ok := readDuration(n + unit); ok {
		return s.set(&Wish{Seconds: int64(d / time.Second)})
	}
	if !number.MatchString(n) {
		return s.unknown(n)
	}
	s.words = append([]string{unit}, s.words...)
	return s.bareNumber(n)
}

// isKind reports whether a word names GPUs or machines.
func (s *sentence) isKind(w string) bool {
	_, gpu := among(s.known.GPUs, w)
	_, machine := among(s.known.Types, w)
	return gpu || machine || w == "gpu" || w == "gpus"
}

// among finds a name in a list whatever its case, and returns it as listed.
func among(names []string, w string) (string, bool) {
	if i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, w) }); i >= 0 {
		return names[i], true
	}
	return "", false
}

// sized reads a count of GPUs or of machines of a type.
func (s *sentence) sized(n, what string) error {
	if what == "gpu" || what == "gpus" {
		return s.count(n, func(k int) *Wish { return &Wish{GPUs: k} })
	}
	if gpu, ok := among(s.known.GPUs, what); ok {
		return s.count(n, func(k int) *Wish { return &Wish{GPUs: k, GPUType: gpu} })
	}
	if kind, ok := among(s.known.Types, what); ok {
		return s.count(n, func(k int) *Wish { return &Wish{Machines: k, Type: kind} })
	}
	all := append(slices.Clone(s.known.GPUs), s.known.Types...)
	near := nearest(what, all)
	if near == "" {
		return s.bad("", "no GPU or machine type is called %q; known: %s", what, listed(all))
	}
	return s.bad(fmt.Sprintf("%sx%s", n, near), "no GPU or machine type is called %q; did you mean %s? Known: %s", what, near, listed(all))
}

func (s *sentence) count(n string, of func(int) *Wish) error {
	k, err := strconv.Atoi(n)
	if err != nil || k < 1 || k > maxCount {
		return s.bad("", "%s is not a number of things one can rent (1 to %d)", n, maxCount)
	}
	return s.set(of(k))
}

// maxCount is more than any one request may mean.
const maxCount = 10_000

func (s *sentence) amount(n, unit string) error {
	k, err := strconv.ParseInt(n, 10, 32)
	if err != nil || k < 1 {
		return s.bad("", "%s%s is not an amount", n, unit)
	}
	switch unit[0] {
	case 'c':
		return s.set(&Wish{CPUs: int(k)})
	case 't':
		return s.set(&Wish{MemoryMiB: k << 20})
	}
	return s.set(&Wish{MemoryMiB: k << 10})
}

func (s *sentence) bareNumber(n string) error {
	return s.bad("for "+n+"m", "%s what? Say %sm for minutes, %sh for hours, or %sxh100 for GPUs", n, n, n, n)
}

func (s *sentence) place(w string) error {
	if len(s.words) == 0 {
		return s.bad("", "a cloud or region is missing after %q", w)
	}
	v := s.take()
	if place, ok := among(s.known.Places, v); ok {
		return s.set(&Wish{Place: place})
	}
	if near := nearest(v, s.known.Places); near != "" {
		return s.bad("in "+near, "no cloud, region or zone is called %q; did you mean %s? Known: %s", v, near, listed(s.known.Places))
	}
	return s.bad("", "no cloud, region or zone is called %q; known: %s", v, listed(s.known.Places))
}

// money reads a ceiling. Without a currency it is refused, and so is a sign
// that two currencies share.
func (s *sentence) money(w string) error {
	if len(s.words) == 0 {
		return s.bad("", "how much? An amount is missing after %q", w)
	}
	v := s.take()
	if decimal.MatchString(v) && len(s.words) > 0 && slices.Contains(currencies, strings.ToLower(s.words[0])) {
		v += s.take()
	}
	m, err := readMoney(v)
	if err != nil {
		fixed := ""
		if decimal.MatchString(v) {
			fixed = "max $" + v
		}
		e := AsError(err)
		bad := AsError(s.bad(fixed, "%s", e.Wrong))
		bad.format, bad.args = e.format, e.args
		return bad
	}
	return s.set(&Wish{Max: m})
}

func (s *sentence) take() string {
	w := strings.TrimPrefix(strings.ToLower(s.words[0]), `"`)
	s.words = s.words[1:]
	return w
}

func (s *sentence) set(o *Wish) error { return s.wish.merge(o) }

func (s *sentence) unknown(w string) error {
	words := slices.Concat([]string{"spot", "on-demand", "project", "max", "for", "because", "in", "job", "nodes", "until", "cluster"}, s.known.GPUs, s.known.Types, s.known.Places)
	near := nearest(strings.TrimLeft(w, "-"), words)
	if near == "" {
		return s.bad("", "the word %q means nothing here", w)
	}
	return s.bad(near, "the word %q means nothing here; did you mean %s?", w, near)
}

// bad is an error with what was understood and one line that works, made of
// what was understood, the corrected word and what had not been read yet.
func (s *sentence) bad(fixed, format string, args ...any) error {
	try := strings.Join(slices.DeleteFunc([]string{"spillway rent", s.wish.String(), fixed, Line(s.words)}, func(s string) bool { return s == "" }), " ")
	if s.wish.String() == "" && fixed == "" {
		try = "spillway rent 8xh100 for 2h"
	}
	e := &Error{Kind: BadRequest, Understood: s.wish.String(), Try: try}
	return e.says(format, args...)
}

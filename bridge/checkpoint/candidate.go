package checkpoint

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// candidate is something that looks like a checkpoint.
type candidate struct {
	name  string // below the root
	dir   bool
	files []file // a file with what belongs to it; of a folder, filled in by check
	step  int64
	at    time.Time // newest of its files
	bytes int64
	save  time.Duration // from its first file to its last
	flaw  *flaw         // known without a look inside
}

func fromFile(f *file) candidate {
	c := candidate{name: f.name, dir: f.dir, step: stepOf(f.base()), at: f.at}
	if !f.dir {
		c.files = []file{*f}
	}
	if f.link {
		c.flaw = &flaw{bridge.FlawForeign, "a link; what it leads to counts by its own name"}
	}
	return c
}

// sum fills in what a candidate's files say together.
func (c *candidate) sum() {
	if len(c.files) == 0 {
		return
	}
	first := c.files[0].at
	c.at, c.bytes = time.Time{}, 0
	for i := range c.files {
		if f := &c.files[i]; !f.dir {
			c.bytes += f.size
			if f.at.After(c.at) {
				c.at = f.at
			}
			if f.at.Before(first) {
				first = f.at
			}
		}
	}
	c.save = c.at.Sub(first)
}

// kind is one framework's way of writing checkpoints.
type kind struct {
	name string
	// itself reports whether a folder with these entries is a checkpoint.
	itself func(base string, es []file) bool
	// gather finds what looks like checkpoints among the entries of a folder.
	gather func(es []file) []candidate
	// check returns nil for a complete one, a *flaw, or what could not be read.
	check func(l *look, c *candidate) error
	// order sorts those the framework would resume from first; nil: newest first.
	order func(l *look, dir string, es []file, cs []candidate) error
}

// kinds are all frameworks, in the order in which an unnamed one is looked for.
var kinds = []kind{deepSpeed, huggingFace, tensorFlow, lightning, pyTorch, generic}

// Frameworks are the names a rule may give.
func Frameworks() []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.name)
	}
	slices.Sort(out)
	return out
}

func newestFirst(a, b candidate) int {
	if !a.at.IsZero() && !b.at.IsZero() {
		if c := b.at.Compare(a.at); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(b.step, a.step), strings.Compare(b.name, a.name))
}

// byStep puts the highest step first, as frameworks do that go by it.
func byStep(_ *look, _ string, _ []file, cs []candidate) error {
	slices.SortStableFunc(cs, func(a, b candidate) int { return cmp.Compare(b.step, a.step) })
	return nil
}

var stepWord = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:global_?step|step|iter(?:ation)?|ckpt|checkpoint|snapshot|model|it)[-_=.]?0*(\d{1,18})(?:\D|$)`)

var onlyDigits = regexp.MustCompile(`^0*(\d{1,18})(?:\.[a-z]+)?$`)

// stepOf reads a step from a name; -1: it does not say. "step" wins over what
// may as well be a count of files.
func stepOf(name string) int64 {
	if m := onlyDigits.FindStringSubmatch(name); m != nil {
		return number(m[1])
	}
	all := stepWord.FindAllStringSubmatch(name, -1)
	if len(all) == 0 {
		return -1
	}
	best := all[len(all)-1]
	for _, m := range all {
		if strings.Contains(strings.ToLower(m[0]), "step") {
			best = m
		}
	}
	return number(best[1])
}

func number(digits string) int64 {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

var temporary = regexp.MustCompile(`(?i)(^tmp[-_.]|^\.(?:tmp|nfs|~)|[._-](?:tmp|temp|part|partial|incomplete|writing|inprogress|swp|lock)(?:\d{0,6}|[-_.]\w{1,16})$|_temp$|~$|\.tmp\.)`)

// isTemporary reports whether a name is that of something being written.
func isTemporary(name string) bool { return temporary.MatchString(name) }

// unfinished are the entries that still have a temporary name.
func unfinished(es []file) []candidate {
	var out []candidate
	for i := range es {
		if isTemporary(es[i].base()) {
			c := fromFile(&es[i])
			c.flaw = &flaw{bridge.FlawTemporary, path.Base(es[i].name)}
			out = append(out, c)
		}
	}
	return out
}

// pick makes candidates of the entries a test says yes to.
func pick(es []file, yes func(*file) bool) []candidate {
	var out []candidate
	for i := range es {
		if !isTemporary(es[i].base()) && yes(&es[i]) {
			out = append(out, fromFile(&es[i]))
		}
	}
	return out
}

func hasSuffix(f *file, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(f.name, s) })
}

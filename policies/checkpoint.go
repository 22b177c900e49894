package policies

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

const s3Scheme = "s3://"

const maxFresh = 7 * 24 * time.Hour

// checkpoint reads where jobs keep their checkpoints, or none.
func (r *reader) checkpoint(dst **bridge.CheckpointRule) func(strict.Node) {
	return func(n strict.Node) {
		if text, ok := n.Scalar(); ok && text == "none" {
			return
		}
		c := &bridge.CheckpointRule{}
		sound := n.Sound(func(n strict.Node) {
			n.Object(
				strict.May("name", "name: runs", strict.Text(&c.Name)),
				strict.May("framework", "framework: pytorch", strict.Choice(&c.Framework,
					"pytorch", "lightning", "deepspeed", "huggingface", "tensorflow", "generic")),
				strict.Need("path", `path: "/scratch/%u/%{ckpt}"`, strict.Text(&c.Path, checkpointPath)),
				strict.May("roots", `roots: ["/scratch/%u"]`, filled(strict.Texts(&c.Roots, checkpointRoot))),
				strict.May("max_age", "max_age: 30m", strict.Span(&c.MaxAge, time.Minute, maxFresh)),
				strict.May("required", "required: true", strict.Flag(&c.Required)),
				strict.May("atomic", "atomic: true", strict.Flag(&c.Atomic)),
			)
		})
		if sound {
			r.checkCheckpoint(n, c)
		}
		if c.Name == "" {
			c.Name = c.Path
		}
		*dst = c
	}
}

// checkCheckpoint finds keys that do not go together.
func (r *reader) checkCheckpoint(n strict.Node, c *bridge.CheckpointRule) {
	at, _ := n.Get("path")
	begin := fixedPart(c.Path)
	switch {
	case len(c.Roots) == 0 && strings.HasPrefix(c.Path, "%"):
		at.With(`roots: ["/scratch/%u"]`).Fault("begins with what a job says of itself: give the roots it may lead into")
	case len(c.Roots) == 0 && (begin == "/" || begin == s3Scheme):
		at.With(`path: "/scratch/%u/%{ckpt}"`).Fault("any folder of the host could be meant: begin with a fixed one, or give roots")
	case len(c.Roots) > 0 && !strings.HasPrefix(c.Path, "%") && !slices.ContainsFunc(c.Roots, func(root string) bool { return mayLie(c.Path, root) }):
		at.Fault("lies in none of the roots, " + strings.Join(c.Roots, ", "))
	}
	if c.Atomic && c.Framework != "" && c.Framework != "generic" {
		if a, ok := n.Get("atomic"); ok {
			a.With("framework: generic").Fault(c.Framework + " shows by itself what is complete; atomic is for generic")
		}
	}
	inBucket := func(s string) bool { return strings.HasPrefix(s, s3Scheme) }
	if inBucket(c.Path) || slices.ContainsFunc(c.Roots, inBucket) {
		r.file.objects = append(r.file.objects, at.With("storage: {access_key_file: s3.key}").Later("is in object storage, and the configuration has no storage section"))
	}
}

// fixedPart is the beginning of a path up to the folder before the first
// placeholder or pattern.
func fixedPart(s string) string {
	if i := strings.IndexAny(s, `%*?[\`); i >= 0 {
		s = s[:i]
	}
	return s[:strings.LastIndex(s, "/")+1]
}

// mayLie reports whether a path could lie below a root, as far as both are fixed.
func mayLie(p, root string) bool {
	a, b := fixedPart(p), fixedPart(strings.TrimSuffix(root, "/")+"/")
	return strings.HasPrefix(a, b) || strings.Contains(root, "%") && strings.HasPrefix(b, a)
}

var placeholder = regexp.MustCompile(`%(\{[A-Za-z_][A-Za-z0-9_.:/-]*\}|.|$)`)

// checkpointPath is the check of where to look.
func checkpointPath(s string) string {
	if !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, s3Scheme) && !strings.HasPrefix(s, "%{") {
		return "want an absolute path, s3://bucket/prefix, or %{key} of the job's comment at its beginning"
	}
	if bucket, _, _ := strings.Cut(strings.TrimPrefix(s, s3Scheme), "/"); strings.HasPrefix(s, s3Scheme) && (bucket == "" || strings.ContainsAny(bucket, "%*?[")) {
		return "want the name of a bucket after s3://"
	}
	if slices.Contains(strings.Split(s, "/"), "..") {
		return "leads upwards"
	}
	for _, m := range placeholder.FindAllStringSubmatch(s, -1) {
		if k := m[1]; len(k) < 2 && !slices.Contains([]string{"u", "j", "x"}, k) {
			return fmt.Sprintf("unknown %%%s: there are %%u (user), %%j (job id), %%x (job name) and %%{key} (key=value of the job's comment)", k)
		}
	}
	if _, err := path.Match(placeholder.ReplaceAllString(s, "x"), ""); err != nil {
		return "not a pattern: a [ is not closed, or a \\ stands alone"
	}
	return ""
}

// checkpointRoot is the check of a folder that jobs may lead into.
func checkpointRoot(s string) string {
	rest, inBucket := strings.CutPrefix(s, s3Scheme)
	switch {
	case !inBucket && !strings.HasPrefix(s, "/"):
		return "want an absolute path or s3://bucket/prefix"
	case strings.Trim(rest, "/") == "":
		return "everything is no root: name a folder"
	case slices.Contains(strings.Split(s, "/"), ".."):
		return "leads upwards"
	case strings.ContainsAny(s, `*?[\`):
		return "a root is no pattern; only %u may stand in it"
	case inBucket && strings.HasPrefix(rest, "%"):
		return "want the name of a bucket after s3://"
	}
	for _, m := range placeholder.FindAllStringSubmatch(s, -1) {
		if m[1] != "u" {
			return "only %u, the user, may stand in a root"
		}
	}
	return ""
}

// NeedsStorage returns the paths that are in object storage as faults, for a
// configuration that has no access to any; nil: there are none.
func (f *File) NeedsStorage() error {
	if len(f.objects) == 0 {
		return nil
	}
	return slices.Clone(f.objects)
}

// checkProgress finds keys about spot that contradict each other; fault places
// what is wrong at one of keys.
func checkProgress(t *terms, fault func(wrong, example string, keys ...string)) {
	if t.Class != bridge.P2 {
		return // it chooses no market, which is said at the key itself
	}
	both := slices.Contains(t.Markets, bridge.Spot) && slices.Contains(t.Markets, bridge.OnDemand)
	if t.Progress && !both {
		fault("progress chooses between spot and on-demand, and markets allows one of them only", "markets: [spot, on-demand]", "progress", "markets")
	}
	if t.Work > 0 && !t.Progress {
		fault("work is what progress reckons with, and there is no progress", "progress: true", "work")
	}
	if c := t.Checkpoint; c != nil && c.Required && !slices.Contains(t.Markets, bridge.Spot) {
		fault("a required checkpoint keeps jobs from spot, and markets has no spot", "markets: [spot, on-demand]", "checkpoint", "markets")
	}
}

package checkpoint

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"

	"spillway.sh/spillway/bridge"
)

const s3Scheme = "s3://"

// place is where to look: a root that policy lists, and the way from there, one
// pattern for each level.
type place struct {
	bucket string // empty: a file system
	root   string // a folder, or a prefix in the bucket
	levels []string
}

// String is the place as people write it.
func (p *place) String() string { return p.at(literal(strings.Join(p.levels, "/"))) }

// at is the full name of something below the root.
func (p *place) at(below string) string {
	if p.bucket != "" {
		return s3Scheme + p.bucket + "/" + strings.TrimPrefix(path.Join(p.root, below), "/")
	}
	return path.Join(p.root, below)
}

// placeOf fills in what a rule's path is made of, and finds the root it lies in.
func placeOf(rule *bridge.CheckpointRule, job *bridge.CheckpointJob) (*place, error) {
	trouble := func(kind bridge.CheckpointTrouble, err error) error {
		return &bridge.CheckpointError{Kind: kind, Place: rule.Path, Err: err}
	}
	full, err := fill(rule.Path, job, true)
	if err != nil {
		return nil, trouble(kindOf(err), err)
	}
	bucket, levels, err := split(full)
	if err != nil {
		return nil, trouble(bridge.TroubleOutside, err)
	}
	roots := rule.Roots
	if len(roots) == 0 {
		roots = []string{fixedPart(rule.Path)}
	}
	for _, r := range roots {
		r, err := fill(r, job, false)
		if err != nil {
			return nil, trouble(kindOf(err), err)
		}
		b, want, err := split(r)
		if err != nil || b != bucket || bucket == "" && len(want) == 0 || len(want) > len(levels) {
			continue
		}
		inside := true
		for i, w := range want {
			inside = inside && literal(levels[i]) == w
		}
		if inside {
			prefix := strings.Join(want, "/")
			if bucket == "" {
				prefix = "/" + prefix
			}
			return &place{bucket: bucket, root: prefix, levels: levels[len(want):]}, nil
		}
	}
	return nil, trouble(bridge.TroubleOutside, fmt.Errorf("%s is in none of %s", literal(full), strings.Join(roots, ", ")))
}

// errUnsaid is a job that does not give a part of the path.
var errUnsaid = errors.New("the job does not say it")

func kindOf(err error) bridge.CheckpointTrouble {
	if errors.Is(err, errUnsaid) {
		return bridge.TroubleUnsaid
	}
	return bridge.TroubleOutside
}

// fill replaces %u, %j, %x and %{key}. Values are quoted for use in a pattern;
// only that of a key may lead through several folders.
func fill(text string, job *bridge.CheckpointJob, pattern bool) (string, error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "%")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		if after == "" {
			return "", errors.New("a lone % at the end")
		}
		value, rest, many := "", after[1:], false
		switch after[0] {
		case 'u':
			value = job.User
		case 'j':
			value = string(job.Job)
		case 'x':
			value = job.Name
		case '{':
			key, more, closed := strings.Cut(after[1:], "}")
			if !closed {
				return "", errors.New("%{ without }")
			}
			value, rest, many = said(job, key), more, true
		default:
			return "", fmt.Errorf("unknown %%%c", after[0])
		}
		if err := sound(value, many); err != nil {
			return "", fmt.Errorf("%%%s: %w", strings.TrimSuffix(after, rest), err)
		}
		if pattern {
			value = quoted(value)
		}
		b.WriteString(value)
		text = rest
	}
}

// sound refuses values that could lead somewhere else.
func sound(value string, many bool) error {
	switch {
	case value == "":
		return errUnsaid
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("has control characters")
	case !many && strings.Contains(value, "/"):
		return fmt.Errorf("%q would be several folders", value)
	case !many && (value == "." || value == ".."):
		return fmt.Errorf("%q would be another folder", value)
	}
	return nil
}

// said is what an annotation or a key=value in the job's comment gives.
func said(job *bridge.CheckpointJob, key string) string {
	if v := job.Annotations[key]; v != "" {
		return v
	}
	words := strings.FieldsFunc(job.Comment, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`,;"'`, r) })
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok && k == key {
			return v
		}
	}
	return ""
}

// split cuts a full path into its levels. Empty ones and dots go, and what
// leads upwards is refused.
func split(full string) (bucket string, levels []string, err error) {
	rest := full
	if after, ok := strings.CutPrefix(full, s3Scheme); ok {
		bucket, rest, _ = strings.Cut(after, "/")
		bucket = literal(bucket)
		if bucket == "" {
			return "", nil, errors.New("s3:// without a bucket")
		}
	} else if !strings.HasPrefix(full, "/") {
		return "", nil, fmt.Errorf("%q is neither an absolute path nor s3://", literal(full))
	}
	for l := range strings.SplitSeq(rest, "/") {
		switch literal(l) {
		case "", ".":
		case "..":
			return "", nil, fmt.Errorf("%q leads upwards", literal(full))
		default:
			levels = append(levels, l)
		}
	}
	return bucket, levels, nil
}

// fixedPart is the folder of a rule's path that no job can change. The last
// level never belongs to it: the job makes that one.
func fixedPart(rulePath string) string {
	fixed := rulePath
	if i := strings.IndexAny(rulePath, `%*?[\`); i >= 0 {
		fixed = rulePath[:i]
	}
	return fixed[:strings.LastIndex(fixed, "/")+1]
}

const special = `*?[\`

// quoted makes a value stand for itself in a pattern.
func quoted(value string) string {
	var b strings.Builder
	for _, r := range value {
		if strings.ContainsRune(special, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// literal takes the quotes of quoted away again.
func literal(pattern string) string {
	var b strings.Builder
	escaped := false
	for _, r := range pattern {
		if r == '\\' && !escaped {
			escaped = true
			continue
		}
		escaped = false
		b.WriteRune(r)
	}
	return b.String()
}

// isPattern reports whether a level stands for more than one name.
func isPattern(level string) bool {
	for i := 0; i < len(level); i++ {
		switch level[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}

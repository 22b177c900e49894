package desk

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
)

// Wish is what somebody wants to rent, in fields, in words, or both. Nothing
// in it has a default that costs money: no duration, no size.
type Wish struct {
	// Words are read in any order: "8xh100 for 6h spot project nlp max $120".
	Words []string `json:"words,omitempty"`

	Machines int    `json:"machines,omitempty"`
	Type     string `json:"type,omitempty"` // the cloud's name of a machine type
	// GPUs is of each machine when Machines is given, else altogether.
	GPUs      int    `json:"gpus,omitempty"`
	GPUType   string `json:"gpu_type,omitempty"`
	CPUs      int    `json:"cpus,omitempty"`       // of each machine
	MemoryMiB int64  `json:"memory_mib,omitempty"` // of each machine

	Seconds int64         `json:"duration_seconds,omitempty"`
	Until   time.Time     `json:"until,omitzero"` // instead of a duration
	Zone    string        `json:"zone,omitempty"` // that times in words are of; empty: UTC
	Market  bridge.Market `json:"market,omitempty"`
	Max     bridge.Money  `json:"max"` // at most this much in all; zero: what policy allows
	Project string        `json:"project,omitempty"`
	Cluster string        `json:"cluster,omitempty"`
	Place   string        `json:"place,omitempty"` // cloud, region or zone
	Job     bridge.JobID  `json:"job,omitempty"`   // size and time are this job's
	Reason  string        `json:"reason,omitempty"`
}

func (w *Wish) duration() time.Duration { return time.Duration(w.Seconds) * time.Second }

// String says the wish in the words that would make it again.
func (w *Wish) String() string {
	var out []string
	add := func(ok bool, format string, args ...any) {
		if ok {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	add(w.Job != "", "job %s", w.Job)
	add(w.Type != "", "%dx%s", max(w.Machines, 1), w.Type)
	add(w.Type == "" && w.Machines > 0, "%s", Count(w.Machines, "machine"))
	gpu := w.GPUType
	if gpu == "" {
		gpu = "gpu"
	}
	add(w.GPUs > 0, "%dx%s", w.GPUs, gpu)
	add(w.CPUs > 0, "%dcpu", w.CPUs)
	add(w.MemoryMiB > 0, "%dgib", (w.MemoryMiB+1023)/1024)
	add(w.GPUs == 0 && w.GPUType != "", "gpu %s", w.GPUType)
	add(w.Seconds > 0 && w.Until.IsZero(), "for %s", compact(w.duration()))
	add(!w.Until.IsZero(), "until %s", w.Until.UTC().Format(instantForm))
	add(w.Market != "", "%s", w.Market)
	add(w.Max.Micro > 0, "max %s", exact(w.Max))
	add(w.Project != "", "project %s", w.Project)
	add(w.Cluster != "", "cluster %s", w.Cluster)
	add(w.Place != "", "in %s", w.Place)
	add(w.Reason != "", `because "%s"`, strings.ReplaceAll(w.Reason, `"`, "'"))
	return strings.Join(out, " ")
}

// exact says an amount to the last decimal, as the parser reads it: a rounded
// one would mean another.
func exact(m bridge.Money) string {
	s := fmt.Sprintf("%d.%06d", m.Micro/bridge.Micro, m.Micro%bridge.Micro)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".") + strings.ToLower(string(m.Currency))
}

// compact says a duration as the parser reads it: "1d2h", "90m", "45s".
func compact(d time.Duration) string {
	var b strings.Builder
	for _, u := range []struct {
		d time.Duration
		s string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := d / u.d; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.s)
			d -= n * u.d
		}
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}

// merge lays words over fields; a word that contradicts a field is an error.
func (w *Wish) merge(o *Wish) error {
	if o.Max.Currency != "" && w.Max.Currency != "" && o.Max.Currency != w.Max.Currency {
		return contradiction(w, "maximum", exact(w.Max), exact(o.Max))
	}
	if o.Max.Currency != "" {
		w.Max.Currency = o.Max.Currency
	}
	return cmp.Or(
		lay(w, "type", &w.Type, o.Type), lay(w, "GPU", &w.GPUType, o.GPUType), lay(w, "market", &w.Market, o.Market),
		lay(w, "project", &w.Project, o.Project), lay(w, "cluster", &w.Cluster, o.Cluster), lay(w, "place", &w.Place, o.Place),
		lay(w, "job", &w.Job, o.Job), lay(w, "reason", &w.Reason, o.Reason),
		lay(w, "duration in seconds", &w.Seconds, o.Seconds), lay(w, "end", &w.Until, o.Until), lay(w, "memory", &w.MemoryMiB, o.MemoryMiB), lay(w, "maximum", &w.Max.Micro, o.Max.Micro),
		lay(w, "number of machines", &w.Machines, o.Machines), lay(w, "number of GPUs", &w.GPUs, o.GPUs), lay(w, "number of CPUs", &w.CPUs, o.CPUs),
	)
}

// lay puts a value where none is yet.
func lay[T comparable](w *Wish, what string, at *T, v T) error {
	var none T
	if v == none || v == *at {
		return nil
	}
	if *at != none {
		return contradiction(w, what, fmt.Sprint(*at), fmt.Sprint(v))
	}
	*at = v
	return nil
}

func contradiction(w *Wish, what, a, b string) error {
	e := &Error{Kind: BadRequest, Understood: w.String(), Try: "spillway rent " + w.String()}
	return e.says("the %s is given twice: %s and %s", what, a, b)
}

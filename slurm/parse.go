package slurm

import (
	"fmt"
	"strings"
)

// ParseError is an answer of the scheduler that is not understood: garbage, a
// cut-off, or a version to come. The queue behind it is unknown, not empty.
type ParseError struct {
	What  string // jobs, nodes, partitions, configuration
	Count int    // parts that are not understood
	Part  int    // the first of them, from 1
	Text  string // its beginning
	Err   error
}

// Error names the first part that is not understood and what is wrong with it.
func (e *ParseError) Error() string {
	return fmt.Sprintf("read %s: %d not understood, the first at %d (%q): %v", e.What, e.Count, e.Part, e.Text, e.Err)
}

// Unwrap returns what is wrong with the first part.
func (e *ParseError) Unwrap() error { return e.Err }

// mishaps collects what is wrong with the parts of an answer.
type mishaps struct {
	what  string
	first *ParseError
}

func (m *mishaps) add(part int, text string, err error) {
	if m.first == nil {
		m.first = &ParseError{What: m.what, Part: part, Text: clip(text, 80), Err: err}
	}
	m.first.Count++
}

// err is nil or a *ParseError, without the typed nil.
func (m *mishaps) err() error {
	if m.first == nil {
		return nil
	}
	return m.first
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}

const (
	unitSeparator   = "\x1f"
	recordSeparator = "\x1e"
)

// queueFormat is the argument of squeue -O: fields, then the free texts behind
// separators that carry a nonce nobody can know when choosing a job name.
func queueFormat(nonce string) string {
	var b strings.Builder
	for i, f := range fields {
		b.WriteString(f.name + ":")
		if i == len(fields)-1 {
			b.WriteString(unitSeparator + nonce + ",")
			break
		}
		b.WriteString(unitSeparator + ",")
	}
	for i, f := range freeFields {
		b.WriteString(f.name + ":")
		if i == len(freeFields)-1 {
			b.WriteString(recordSeparator + nonce)
			break
		}
		b.WriteString(unitSeparator + nonce + ",")
	}
	return b.String()
}

// parseQueue reads what squeue printed in queueFormat. Nothing is left out in
// silence: text after the last record is an error too.
func parseQueue(data []byte, nonce string) ([]job, error) {
	t := queueText{string(data), nonce} // one copy; the fields are parts of it
	jobs := make([]job, 0, strings.Count(t.text, t.end()))
	bad := mishaps{what: "jobs"}
	t.each(&bad, func(part int, record string) {
		jobs = append(jobs, job{})
		if err := parseRecord(&jobs[len(jobs)-1], record, unitSeparator+nonce); err != nil {
			bad.add(part, record, err)
		}
	})
	return jobs, bad.err()
}

// queueText is what squeue printed in queueFormat. Of a long queue nearly all
// records wait: they are read one at a time, so that there is never a job in
// memory for each.
type queueText struct{ text, nonce string }

func (t queueText) end() string { return recordSeparator + t.nonce + "\n" }

// each hands over the records with their places, from 1.
func (t queueText) each(bad *mishaps, do func(part int, record string)) {
	end, text := t.end(), t.text
	for part := 1; text != ""; part++ {
		record, rest, found := strings.Cut(text, end)
		if !found {
			bad.add(part, record, fmt.Errorf("cut off in the middle"))
			return
		}
		text = rest
		do(part, record)
	}
}

// waits reports whether a record, its fields in their order, is of a job that
// waits.
func waits(record string) bool {
	_, rest, _ := strings.Cut(record, unitSeparator)
	return strings.HasPrefix(rest, pendingState+unitSeparator)
}

// others reads the jobs that do not wait, and counts those that do.
func (t queueText) others() (jobs []job, waiting int, err error) {
	bad := mishaps{what: "jobs"}
	t.each(&bad, func(part int, record string) {
		if waits(record) {
			waiting++
			return
		}
		jobs = append(jobs, job{})
		if err := parseRecord(&jobs[len(jobs)-1], record, unitSeparator+t.nonce); err != nil {
			bad.add(part, record, err)
		}
	})
	return jobs, waiting, bad.err()
}

// waiting hands over the jobs that wait, one after the other in the same memory.
func (t queueText) waiting(bad *mishaps, do func(part int, j *job)) {
	var j job
	t.each(bad, func(part int, record string) {
		if !waits(record) {
			return
		}
		j = job{}
		if err := parseRecord(&j, record, unitSeparator+t.nonce); err != nil {
			bad.add(part, record, err)
			return
		}
		do(part, &j)
	})
}

func parseRecord(j *job, record, unit string) error {
	head, frees, found := strings.Cut(record, unit)
	if !found {
		return fmt.Errorf("no free texts")
	}
	if err := parseFields(j, fields, head, unitSeparator); err != nil {
		return err
	}
	return parseFields(j, freeFields, frees, unit)
}

func parseFields(j *job, fields []field, text, separator string) error {
	for i, f := range fields {
		value, rest, found := strings.Cut(text, separator)
		if found == (i == len(fields)-1) {
			return fmt.Errorf("not %d fields", len(fields))
		}
		if err := f.read(j, value); err != nil {
			return fmt.Errorf("field %s: %w", f.name, err)
		}
		text = rest
	}
	return nil
}

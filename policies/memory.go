package policies

// few is how many of the values first seen are kept in front of a memory: most
// facts have no more.
const few = 8

// names numbers strings from 1.
type names struct {
	first  []string
	byName map[string]uint64
}

// find returns the number of a name; zero: it has none.
func (n *names) find(s string) uint64 {
	for i, name := range n.first {
		if name == s {
			return uint64(i) + 1
		}
	}
	return n.byName[s]
}

// add numbers a name that has no number yet.
func (n *names) add(s string) {
	if n.byName == nil {
		n.byName = map[string]uint64{}
	}
	n.byName[s] = uint64(len(n.byName)) + 1
	if len(n.first) < few {
		n.first = append(n.first, s)
	}
}

// front holds outcomes of a column that are asked for again and again, before
// its maps: of the first few texts, and of small numbers.
type front struct {
	texts    []string
	outcomes []*outcome
	small    [64]*outcome
}

func (f *front) text(s string) *outcome {
	for i, text := range f.texts {
		if text == s {
			return f.outcomes[i]
		}
	}
	return nil
}

func (f *front) number(n int64) *outcome {
	if n < 0 || n >= int64(len(f.small)) {
		return nil
	}
	return f.small[n]
}

func (f *front) addText(s string, o *outcome) {
	if len(f.texts) < few {
		f.texts, f.outcomes = append(f.texts, s), append(f.outcomes, o)
	}
}

func (f *front) addNumber(n int64, o *outcome) {
	if n >= 0 && n < int64(len(f.small)) {
		f.small[n] = o
	}
}

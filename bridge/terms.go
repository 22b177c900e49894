package bridge

import "slices"

// termsTable numbers equal terms, so that demands are grouped by what policy
// says and not by which pointer it said it with.
type termsTable struct {
	byPointer map[*Terms]int32
	byRule    map[string][]int32
	terms     []*Terms
}

func (t *termsTable) number(terms *Terms) int32 {
	if n, ok := t.byPointer[terms]; ok {
		return n
	}
	if t.byPointer == nil {
		t.byPointer, t.byRule = map[*Terms]int32{}, map[string][]int32{}
	}
	for _, n := range t.byRule[terms.Rule] {
		if equalTerms(t.terms[n], terms) {
			t.byPointer[terms] = n
			return n
		}
	}
	n := int32(len(t.terms))
	t.terms = append(t.terms, terms)
	t.byPointer[terms] = n
	t.byRule[terms.Rule] = append(t.byRule[terms.Rule], n)
	return n
}

func equalTerms(a, b *Terms) bool {
	x, y := *a, *b
	if !slices.Equal(x.Markets, y.Markets) || !slices.Equal(x.Clouds, y.Clouds) || !slices.Equal(x.Regions, y.Regions) {
		return false
	}
	return x.Burst == y.Burst && x.Why == y.Why && x.Rule == y.Rule && x.Class == y.Class && x.Account == y.Account &&
		x.Wait == y.Wait && x.MaxRate == y.MaxRate && x.MaxCost == y.MaxCost && x.Most == y.Most && x.Least == y.Least &&
		x.Idle == y.Idle && x.Life == y.Life && x.Reclaims == y.Reclaims && x.AskAbove == y.AskAbove && x.Ask == y.Ask &&
		x.AskFor == y.AskFor && x.Share == y.Share && x.Signal == y.Signal && x.SignalTo == y.SignalTo &&
		x.SignalWindow == y.SignalWindow && x.Comment == y.Comment
}

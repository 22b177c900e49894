package bridge

import "slices"

// termsTable numbers equal terms, so that demands are grouped by what policy
// says and not by which pointer it said it with.
type termsTable struct {
	byPointer map[*Terms]int32
	byRule    map[string][]int32
	list      []*Terms
	last      *Terms
	lastNo    int32
}

func (t *termsTable) number(terms *Terms) int32 {
	if terms == t.last {
		return t.lastNo
	}
	n, ok := t.byPointer[terms]
	if !ok {
		n = t.add(terms)
	}
	t.last, t.lastNo = terms, n
	return n
}

func (t *termsTable) add(terms *Terms) int32 {
	if t.byPointer == nil {
		t.byPointer, t.byRule = map[*Terms]int32{}, map[string][]int32{}
	}
	for _, n := range t.byRule[terms.Rule] {
		if equalTerms(t.list[n], terms) {
			t.byPointer[terms] = n
			return n
		}
	}
	n := int32(len(t.list))
	t.list = append(t.list, terms)
	t.byPointer[terms] = n
	t.byRule[terms.Rule] = append(t.byRule[terms.Rule], n)
	return n
}

func equalTerms(a, b *Terms) bool { //nolint:gocyclo // One comparison for each field.
	return slices.Equal(a.Markets, b.Markets) && slices.Equal(a.Clouds, b.Clouds) && slices.Equal(a.Regions, b.Regions) &&
		slices.Equal(a.Attributes, b.Attributes) && a.Network == b.Network && a.DataGiB == b.DataGiB && a.CheckpointGiB == b.CheckpointGiB &&
		a.Burst == b.Burst && a.Why == b.Why && a.Rule == b.Rule && a.Class == b.Class && a.Account == b.Account &&
		a.Wait == b.Wait && a.MaxRate == b.MaxRate && a.MaxCost == b.MaxCost && a.Most == b.Most && a.Least == b.Least &&
		a.Idle == b.Idle && a.Life == b.Life && a.Reclaims == b.Reclaims && a.AskAbove == b.AskAbove && a.Ask == b.Ask &&
		a.AskFor == b.AskFor && a.Share == b.Share && a.Signal == b.Signal && a.SignalTo == b.SignalTo &&
		a.SignalWindow == b.SignalWindow && a.Comment == b.Comment &&
		equalRules(a.Checkpoint, b.Checkpoint) && a.Progress == b.Progress && a.Work == b.Work
}

func equalRules(a, b *CheckpointRule) bool {
	return a == b || a != nil && b != nil && a.Name == b.Name && a.Framework == b.Framework && a.Path == b.Path &&
		slices.Equal(a.Roots, b.Roots) && a.Atomic == b.Atomic && a.MaxAge == b.MaxAge && a.Required == b.Required
}

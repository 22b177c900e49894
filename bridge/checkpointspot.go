package bridge

// Bars says why a rule keeps a demand with this newest checkpoint from spot;
// empty: it does not. A nil checkpoint is one that nobody knows of.
func (r *CheckpointRule) Bars(d *Demand, ck *Checkpoint) Reason {
	known := ck != nil
	if !known {
		ck = &Checkpoint{}
	}
	switch freshness(d, r, ck, known) { //nolint:exhaustive // It gives no other.
	case noCheckpoint:
		return ReasonNoCheckpoint
	case oldCheckpoint:
		return ReasonOldCheckpoint
	}
	return ""
}

package sim

import "context"

// End has the whole ledger replayed and the last sight judged, for those who let
// time pass themselves and do not Play. What was found is in Violations.
func (w *World) End(ctx context.Context) error {
	w.audit(ctx)
	w.Check(ctx)
	return w.ended(ctx)
}

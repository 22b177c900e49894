package sim

import (
	"context"
	"time"
)

// End has the whole ledger replayed and the last sight judged, for those who let
// time pass themselves and do not Play. What was found is in Violations.
func (w *World) End(ctx context.Context) error {
	w.seen.audited = time.Time{} // due
	w.Check(ctx)
	return w.ended(ctx)
}

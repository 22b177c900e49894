package bridge

// BudgetState is how a budget stands in its period.
type BudgetState string

// The states. Over-committed is less than what is posted and held already: the
// limit was lowered, a yes exceeded it, or a bill ran over. It stops nothing that
// runs; nothing new is admitted, and nothing extended, within it.
const (
	BudgetOK            BudgetState = "ok"
	BudgetUsedUp        BudgetState = "used-up" // nothing is left
	BudgetOverCommitted BudgetState = "over-committed"
)

// State is how the budget stands. One whose sum cannot be formed buys nothing.
func (b *Balance) State() BudgetState {
	switch left, err := b.Left(); {
	case err != nil || left.Micro == 0:
		return BudgetUsedUp
	case left.Micro < 0:
		return BudgetOverCommitted
	}
	return BudgetOK
}

package bridge

// PostedSum is what one account posted on one cloud and class of GPU in some
// time, without the accounts below it. An empty cloud and class are of rentals
// that ended before those were kept.
type PostedSum struct {
	Scope
	Amount Money `json:"amount"`
}

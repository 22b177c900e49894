package invariant

// always are judged at every sight, atTheEnd when all is over.
var (
	always   []rule
	atTheEnd []rule
)

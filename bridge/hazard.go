package bridge

import "time"

// Hazard is what was seen of reclaims in one spot pool. Both figures lose half
// their weight in hazardHalf, so that the market of last month does not judge
// that of today.
type Hazard struct {
	Pool  Pool          `json:"pool"`
	Lived time.Duration `json:"lived"` // machine time, decayed
	Taken int64         `json:"taken"` // reclaims in thousandths, decayed
	At    time.Time     `json:"at"`    // both are as of
}

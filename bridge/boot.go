package bridge

import "time"

// Boot is what a boot script needs to reach the bridge once.
type Boot struct {
	URL    string // of the enrolment service, https
	CA     string // PEM the machine pins
	Ticket string // short-lived, one use for each machine of the rental
	// Expires is when the machine must be off, whatever happens to us.
	Expires time.Time
}

package bridge

import "time"

// Boot is what a boot script needs to reach the bridge once.
type Boot struct {
	URL    string // of the enrolment service, https
	CA     string // PEM the machine pins
	Ticket string // short-lived, one use for each machine of the rental
	// Agent is the SHA-256 of the machine's agent, in hex, and Arch the machines
	// it runs on, in the words of uname -m. The enrolment service has it.
	Agent string
	Arch  string
	// Expires is when the machine must be off, whatever happens to us.
	Expires time.Time
}

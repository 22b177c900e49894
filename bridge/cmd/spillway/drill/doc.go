// Package drill tries one offer out before it is needed: it rents one machine
// the way a job would get it, runs a probe on it, gives it back, and says how
// long each step took and what all of it cost.
//
// The probe is a job that is sent held, so that nothing runs before the machine
// is there; the machine is rented for that job, joins, passes its own checks and is let
// in by the daemon as for any other. Then the job is aimed at it and let go.
package drill

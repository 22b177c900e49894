// Package enrol gives a booted machine what it needs to join its cluster,
// secrets included, once and over TLS. User data carries none of it: only the
// address, the certificate authority to pin, and a ticket.
//
// A ticket names a rental, an attempt and a deadline, under a MAC of a secret
// that never leaves the bridge's state directory. It is good for each machine
// of its rental once: the machine must be one its cloud shows for the rental,
// come from the address its cloud shows for it, and not have been claimed from
// elsewhere before.
//
//	GET  /v1/agent   ?sum=SHA-256, Authorization: Bearer TICKET
//	                 200  the program that machines run as their agent; the boot
//	                      script pins its sum
//	POST /v1/enrol   body {"ticket": TICKET, "instance": PROVIDER-ID}
//	                 200  an object: node, expires and now (RFC 3339), lease, wants
//	                      (see bridge.Wants), and the strings that the
//	                      scheduler's Enrolment adds
//	                 401  not a ticket of ours, or past its deadline
//	                 403  not this machine's ticket: final
//	                 429, 503  not yet: again after Retry-After seconds
//	POST /v1/fault   body {"ticket": TICKET, "text": TEXT}: the agent cannot run
//
// What a machine says later it says with its lease, from its own address, and
// of itself alone. Fields that are not known here are passed over.
//
//	POST /v1/report  Authorization: Bearer LEASE, body bridge.Report
//	                 200  {"expires": TIME, "now": TIME, "every": NANOSECONDS,
//	                      "version": TEXT}: the machine is off by then
//	                 401  not a lease of ours
//	                 403  another machine's lease
//	                 410  its rental has ended: off now
//	GET  /v1/lease   the same answer without a report
package enrol

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
//	POST /v1/enrol   body {"ticket": TICKET, "instance": PROVIDER-ID}
//	                 200  one flat object of strings: node, expires (RFC 3339), lease,
//	                      and what the scheduler's Enrolment adds
//	                 401  not a ticket of ours, or past its deadline
//	                 403  not this machine's ticket: final
//	                 429, 503  not yet: again after Retry-After seconds
//	GET  /v1/lease   Authorization: Bearer LEASE, as the answer gave it
//	                 200  {"expires": TIME}: the machine is off by then
//	                 410  its rental has ended: off now
package enrol

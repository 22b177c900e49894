// Package server is the local cloud: a program of its own that rents out
// machines as clouds do, with stock, prices that move, quotas, rate limits,
// notices and reclaims, and that fails on request in all the ways clouds fail.
// It serves the demo, the end-to-end tests and anybody who wants to try a
// policy without paying.
//
// # What it keeps
//
// One directory, one server at a time:
//
//	state.json     all clouds, machines and creates; replaced whole, synced
//	ledger.jsonl   starts, notices, extensions and stops; appended, synced
//	tokens/        one secret per account (CLOUD-ACCOUNT) and the operator's (admin)
//	lock           held while a server runs
//
// Nothing is answered before it is durable. The state is written first, and
// what a crash then kept out of the ledger is added at the next start. The
// ledger alone judges cost and orphans: see [Judge]. Machines outlive the
// server; the next one in the same directory takes them over, boots those that
// were about to boot and ends those whose time came meanwhile.
//
// # Money
//
// A machine costs from the moment its create is accepted until it is off, that
// is terminated and no longer stopping, at the rate of its pool at create,
// which it keeps for life. Started steps count whole and no machine costs less
// than the minimum. Where the cloud has a term, a machine on demand that ends
// sooner, whoever ends it, also costs the given part of the rest of it. Machines
// in error never ran and cost nothing.
//
// # Calls of customers
//
// JSON over HTTP, each with "Authorization: Bearer TOKEN". A failure's body is
// {"error": {"code", "message"}}; the codes are in package wire.
//
//	POST   /v1/CLOUD/instances        create, wire.Create -> wire.Created
//	GET    /v1/CLOUD/operations/ID    an accepted create, wire.Operation
//	GET    /v1/CLOUD/instances        list, wire.Page; ?tag=k=v (all of several), ?token=,
//	                                  ?id= (any of several), ?limit=, ?page=NEXT
//	GET    /v1/CLOUD/instances/ID     one machine, wire.Instance
//	DELETE /v1/CLOUD/instances/ID     terminate; again is no error; 404 for an unknown id
//	PATCH  /v1/CLOUD/instances/ID     wire.Update: another end, more tags
//	GET    /v1/CLOUD/offers           wire.Offers, with prices of this moment
//	GET    /v1/CLOUD/events           wire.Events after ?cursor=, waiting up to ?wait=30s
//
// A create makes all machines or none (unless its pool is partial) and is
// idempotent by token: the same token with the same parameters is the same
// operation and the same machines, with others IdempotentParameterMismatch. A
// create that is refused leaves no trace and its token unused. What may be
// asked for is limited by [TokenMax], [CountMax], [UserDataMax], [TagsMax],
// [TagKeyMax] and [TagValueMax]; how often, by [CreateRate] and its neighbours
// times the world's limits, with Retry-After.
//
// A lack of stock is told in the pool's shape, one of the five that clouds
// have: 503 at once; 200 with errors; 202 with an operation that has failed;
// 202 with machines in error; 202 with an operation that fails after a while.
//
// New machines are missing from list and get for the cloud's visibility time.
// Ended ones stay there, terminated, for its linger time. A listing's total
// counts all its pages, so a page that got lost can be noticed; later pages
// show the listing as it was when the first was asked for.
//
// A machine ends when terminated, when its expires comes, when it switches
// itself off, and, on the spot market, by reclaim: after a notice and the
// cloud's lead when the price rises above the machine's own max_rate or a
// command says so.
//
// # Calls in EC2's words
//
// The same clouds are rented out in Amazon's own protocol at /aws/CLOUD: see package
// ec2. Accounts, stock, prices, quotas, faults and the ledger are the same; a
// machine made in one of the two formats is seen in both. Machines that EC2's words
// made have no end of their own.
//
// # Inside a machine
//
// The user-data is run by root, as it is, with /bin/sh unless it begins with
// "#!". The metadata service answers at 169.254.169.254 with EC2's paths:
//
//	/latest/user-data
//	/latest/meta-data/instance-id, ami-launch-index, instance-type, instance-life-cycle
//	/latest/meta-data/placement/region, placement/availability-zone
//	/latest/meta-data/tags/instance/, tags/instance/KEY, expires
//	/latest/meta-data/spot/instance-action, spot/termination-time   (404 until there is a notice)
//
// Session tokens (IMDSv2) are given at /latest/api/token. They are needed, and the
// tags are shown, as a create in EC2's words says; others need none and show them.
// Each machine gets only its own, whatever address it claims: the service
// listens inside the machine's own network namespace. As in real clouds every
// process in the machine can ask it; user-data must close it to jobs.
//
// # Calls of the operator
//
// With the operator's token:
//
//	POST   /v1/faults        wire.Fault or wire.Faults: faults to set, commands to carry out
//	GET    /v1/faults        those that are set
//	DELETE /v1/faults[/ID]   take one or all away
//	GET    /v1/ledger        the ledger, one wire.Entry a line
//	POST   /v1/purge         end every machine and wait until all are gone
//
// Faults do not outlive the server.
package server

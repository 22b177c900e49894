// Package engine is the only place that orders side effects. One file is one
// step of the flow; reading them in the order of Cycle is reading the product.
//
//	observe    clouds listed, then the store read, then queues: what is true now
//	sweep      lists against store: machines found, noticed, gone, absent, orphaned
//	reclaim    drain, signal, requeue, make eligible; bury what is gone
//	decide     the pure core, with the jobs that are about to wait again
//	reserve    hold and create intent in one transaction, or a question
//	approve    questions that lapse or are not needed any more
//	provision  create until created or refused; unknown is neither
//	join       registered in time; whole gangs admitted in one call
//	watch      jobs come and go; membership, meter, warnings, extension
//	route      idle machines serve the next job of their project
//	release    drain, dismiss, terminate until the cloud says gone
//	settle     post the cost, return the rest of the hold
//	breaker    too much fails at once: no new money
//	report     what was seen and done, for desk, metrics and log
//
// Every step is safe to repeat: it looks at what is stored and observed, does
// the next thing, and records it. A step that fails is reported and never
// stops another; release, settle and sweep go on whatever happens.
//
// The rules that keep money and machines together, each with its invariant in
// the tests: nothing is created before hold and intent are stored (I4); a
// call's outcome that is unknown is tried again with the same token, and only a
// refusal without doubt or two complete lists end it (I2); nothing is judged
// absent or ended on a partial or stale view (I8); what another store rented is
// never touched (I1); the books of a rental close when its machines are gone
// and a later list bears it out (I6); nothing waits to be released (I5).
//
// The loop goroutine alone changes rentals. Calls that may take long run
// beside it, one for each key, and are picked up by the next cycle; what the
// engine remembers in memory may be lost at any moment.
//
// Choices: independent machines of a rental are admitted as they come, a gang
// (Rental.Gang > 1) when all of it has registered; a job that did not opt in to
// a signal is requeued at its notice, since the requeue's own SIGTERM is the
// longest warning it can get; a replacement is asked for at the notice, before
// the job waits again; survivors of a broken gang go back, because an overlay
// belongs to one rental and a gang needs all its nodes in one, but not before its
// job has used its window, in which the notice may yet be called off; what a
// machine's clock says can shorten its own window and never lengthen it.
package engine

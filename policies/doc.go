// Package policies turns a site's policy file into the terms on which each
// waiting job may leave the cluster.
//
// A file is strict YAML: numbers are typed fields, conditions are CEL over
// job.* and cluster.*, compiled and type-checked when the file is loaded. A
// mistake is reported with line, column, what was understood, what is wrong
// and a valid example, all mistakes at once; nothing starts with a wrong file.
//
// The order in which a job is judged:
//
//	opted out (partition, account, QOS, user, a word in its comment)
//	the first rule whose condition holds gives class and terms
//	class P0 never leaves; an unmapped account, observe mode or an account
//	without any budget never buys
//
// Terms are pure: the same job and the same facts give the same terms, and
// jobs the file cannot tell apart share one pointer.
package policies

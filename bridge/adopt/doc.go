// Package adopt rebuilds the books when the store is lost, damaged, or a copy
// from before: from the tags of the machines that the clouds list, and from what
// the schedulers hold. Look finds what there is and changes nothing; Take makes
// or completes the store. No cloud and no scheduler is written to.
package adopt

// Package pool is a plugin's cloud of machines that stand there already and are
// reached by SSH. A create claims free ones, durably and all or none, and starts
// the boot script on them; a terminate gives them back as they were. A machine
// is free again when that is certain, and not before.
package pool

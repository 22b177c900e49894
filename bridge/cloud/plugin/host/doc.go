// Package host is a machine that somebody else owns and that is reached by SSH.
// It is lent: it is looked at, a boot script is started on it, and in the end all
// that was started is ended, what was changed is put back, and what is secret is
// removed. It is never switched off.
//
// What was there before is written down on the machine itself before anything is
// changed, and the program that puts it back lies there too, so that the
// machine's own agent can do it at the end of its time while nobody reaches it.
//
// Shell asks with the system's ssh client: never interactive, with the one key
// that is named, and with the host's own key pinned.
package host

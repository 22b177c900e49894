// Package serve is the plugin's side of the protocol: it reads the request, has
// it done, and writes the answer. It also keeps what a plugin must not forget
// between two calls: a file that is locked, synced and replaced whole.
package serve

// Package socket carries the desk over a Unix socket: HTTP with JSON, one path
// for each ask. The kernel says who is asking (SO_PEERCRED), so there is no
// token and no password; the socket is open to everybody on the host, and the
// desk's role table decides inside.
package socket

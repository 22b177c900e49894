// Package books is the store as the desk needs it: the same rows, with the
// desk's own errors and figures. The desk itself knows no store.
package books

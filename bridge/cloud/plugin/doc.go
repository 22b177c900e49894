// Package plugin is a cloud that a program of somebody else speaks for: one
// process a call, a request on its standard input, an answer on its standard
// output. It serves vendors without a library, machines that come by ticket, and
// machines that stand there already.
//
// A plugin is not trusted to be right. What it writes is checked before a word of
// it is believed, and what is not understood is no answer: a create is then
// unknown, a list proves nothing. One that hangs is ended with all it started.
package plugin

// Package desk is what people can ask Spillway for: what waits and why, what a
// machine would cost, to rent, to release, to approve, what was spent. It is
// one code for the command line, the socket and the bot.
//
// Each question is a method of Desk with a typed request and a typed answer,
// both plain JSON; the table in asks.go names them all. Every method takes the
// Person who asks, known by Unix account, and answers only what the role table
// in person.go allows.
//
// Errors are *Error: what was understood, what is wrong, and one thing that
// works. Money and duration are never guessed.
//
// The desk decides nothing that the engine would decide: it reads the engine's
// latest look and plan, and hands orders and answers to the ports in ports.go.
package desk

// Package local is the local cloud as the engine sees it. Its [Cloud] is an
// engine.Cloud and an engine.Teller; the server it talks to is package server,
// which also documents the protocol.
//
// The adapter never repeats a call by itself: whether a create is sent again
// is the engine's decision, as only the engine knows what is held for it.
// Whatever is not clearly a refusal is bridge.CloudUnknown: a time-out, a
// broken connection, a server error, an answer that cannot be read, a code
// that is not known. All clusters that rent from one account should share one
// Cloud, as its rate limiter keeps them together under the account's limits.
package local

// Package card draws what the desk answers as Slack blocks: cards, lists,
// forms and the home tab, in English and Chinese. It is pure: the same answer
// gives the same message, so that any surface can be drawn again at any time.
//
// A button carries an opaque id, a revision and a seal, never an amount or a
// name: what it means is read from the desk when it is pressed.
package card

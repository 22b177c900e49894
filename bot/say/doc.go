// Package say is the conversation: what people type, press and send in Slack
// goes to the desk, and what the desk answers goes back in words, in English or
// in Chinese as the reader's Slack is set. What happens by itself is told by it
// too.
//
// Nothing here decides: rights, money and states are the desk's. Replies are
// texts that stand for themselves (plain_text), so that nothing somebody typed
// can become a link or a mention; cards, lists and forms are drawn by package
// card.
package say

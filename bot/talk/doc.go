// Package talk is the vocabulary between Slack's transports and what the bot
// says: what somebody did, who they are here, and what Slack is to show. It
// does nothing itself.
package talk

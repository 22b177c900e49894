// Package bot carries what people do in Slack to the conversation that answers
// them, and what is to be shown to Slack.
//
// Two ways lead in, Socket Mode and signed HTTP, and one dispatcher takes what
// comes by either: it is stored, then acknowledged, then worked on. What is to
// be shown is stored together with "this was answered" and delivered after, so
// that a process that ends between any two steps neither loses an answer nor
// gives it twice.
//
// Rules kept here whatever the conversation does:
//
//   - nothing in an interaction is authority: who somebody is, is asked of Slack
//     and of the table of accounts, and refused when either does not say
//   - secrets (tokens, trigger ids, response URLs) stay in memory
//   - Slack's limits are kept before Slack has to say so, decisions go first
//   - nothing of Slack is waited for by anybody else
package bot

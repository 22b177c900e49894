// Package honest has nothing but tests, and Judge for those of others. Slack's
// own JavaScript clients, its types and a browser judge the local Slack and
// what the bot draws: a judge that we did not write is no mirror of our own
// misunderstandings.
//
//	clients_test.go    Bolt in Socket Mode and over signed HTTP; the Web API client
//	page_test.go       the page in Chromium, built again and driven as a person would
//	pictures_test.go   every card, form and home tab as a picture, compared with the kept one
//	report_test.go     the weekly report on wide and narrow screens and on paper, as pictures
//	types_test.go      every golden message against the types of @slack/types
//
// The npm packages, Node.js among them, are installed at their locked versions
// into the user's cache folder, once. `go test -update` writes pictures and
// the page's dist anew.
package honest

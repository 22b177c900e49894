package talk

import (
	"context"
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bridge/desk"
)

// Kind is what somebody did.
type Kind string

// The kinds of interaction. Options is autocomplete, and Home the opening of
// the bot's home tab.
const (
	Command    Kind = "command"
	Action     Kind = "action"
	Submission Kind = "submission"
	Options    Kind = "options"
	Home       Kind = "home"
	Event      Kind = "event"
)

// Interaction is one thing somebody did in Slack, the same for both
// transports. Nothing in it is authority: what it claims is read again.
type Interaction struct {
	Key        string    `json:"key"` // the same delivery twice has the same key
	Kind       Kind      `json:"kind"`
	Team       string    `json:"team"`
	Enterprise string    `json:"enterprise,omitempty"`
	User       string    `json:"user"`
	Channel    string    `json:"channel,omitempty"`
	Command    string    `json:"command,omitempty"` // "/rent" or "/release"
	Text       string    `json:"text,omitempty"`    // as typed
	Action     string    `json:"action,omitempty"`  // action_id, or the event's type
	Value      string    `json:"value,omitempty"`
	Message    Ref       `json:"message"`        // that carried the button
	Card       string    `json:"card,omitempty"` // key of that message, where it has one
	Ephemeral  bool      `json:"ephemeral,omitempty"`
	Callback   string    `json:"callback,omitempty"` // of a form
	Private    string    `json:"private,omitempty"`  // metadata of a form
	View       string    `json:"view,omitempty"`
	State      Fields    `json:"state,omitempty"` // of a form, by action_id
	Trigger    string    `json:"-"`               // trigger_id, good for three seconds
	Response   string    `json:"-"`               // response_url; a secret
	At         time.Time `json:"at"`
}

// Fields are the values of a form by action_id.
type Fields map[string]string

// Ref is where a message is.
type Ref struct {
	Channel string `json:"channel,omitempty"`
	TS      string `json:"ts,omitempty"`
}

// Asker is a Slack user and the account they are here.
type Asker struct {
	desk.Person
	Slack string         `json:"slack"` // U...
	Name  string         `json:"name"`  // for display only
	Lang  desk.Lang      `json:"lang"`
	Zone  *time.Location `json:"-"`
}

// Message is what Slack is to show. Text stands for it in notifications.
type Message struct {
	Text   string        `json:"text"`
	Blocks []slack.Block `json:"blocks"`
}

// Surface is where an effect shows.
type Surface string

// The surfaces. Reply is seen by the asker alone. Card is a message with a key
// that is posted once and edited in place after; Thread hangs under a card.
const (
	Reply  Surface = "reply"
	Card   Surface = "card"
	Thread Surface = "thread"
	Direct Surface = "direct"
	Form   Surface = "form"
	Tab    Surface = "tab" // the user's home tab
	// FormErrors refuse a submission, by block_id.
	FormErrors Surface = "form-errors"
	// Upload puts files under a card, in one message.
	Upload Surface = "upload"
)

// Lane is how urgent a message is. Decisions go ahead of reports.
type Lane int

// The lanes, most urgent first.
const (
	Decisions Lane = iota
	Expiries
	Alerts
	Reports
)

// Effect is one thing Slack is to show.
type Effect struct {
	Surface Surface                 `json:"surface"`
	Lane    Lane                    `json:"lane"`
	Key     string                  `json:"key,omitempty"`     // of a card, or of a message that must go out once
	Channel string                  `json:"channel,omitempty"` // of a card
	User    string                  `json:"user,omitempty"`    // of a direct message or tab: a Slack id
	Account string                  `json:"account,omitempty"` // or a Unix account, looked up when sent
	Message Message                 `json:"message"`
	View    *slack.ModalViewRequest `json:"view,omitempty"`
	Errors  map[string]string       `json:"errors,omitempty"`
	// Replace edits the ephemeral message whose button was pressed.
	Replace bool `json:"replace,omitempty"`
	// Edit changes a card where it is shown already, and shows it nowhere new.
	Edit bool `json:"edit,omitempty"`
	// Else is the channel for an account that has no Slack user.
	Else string `json:"else,omitempty"`
	// Files go up with an Upload. Of a message with a chart they are its picture,
	// which goes under it where Slack does not draw charts, and only there.
	Files []File `json:"files,omitempty"`
	// Once, where given, lets the first effect of this name out and no other:
	// reminders and alerts are made anew at every look.
	Once string `json:"once,omitempty"`
}

// File is something to upload. Alt says in words what a picture shows.
type File struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Alt   string `json:"alt,omitempty"`
	Bytes []byte `json:"bytes"`
}

// Choice is one line of autocomplete.
type Choice struct{ Text, Value string }

// Conversation answers people, in the words of package bot/say.
type Conversation interface {
	// Hear answers one interaction. An error is a fault of ours: people's
	// mistakes are answered in the effects.
	Hear(ctx context.Context, who Asker, in Interaction) ([]Effect, error)
	// Suggest answers autocomplete, within two seconds.
	Suggest(ctx context.Context, who Asker, in Interaction) ([]Choice, error)
	// Stranger answers somebody who has no account here.
	Stranger(in Interaction, lang desk.Lang, why string) []Effect
}

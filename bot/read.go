package bot

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
)

// form is what kind of payload Slack sent.
type form string

const (
	formCommand     form = "command"
	formInteractive form = "interactive"
	formEvent       form = "event"
)

// arrival is one payload with what is only of its transport.
type arrival struct {
	in  talk.Interaction
	app string // api_app_id; empty over Socket Mode, where the connection is the app's
	// wants is true when the sender can be answered by more than "received".
	wants bool
}

// errIgnored is a payload that nobody has to answer.
var errIgnored = errors.New("nothing that is answered")

// read turns a payload of either transport into an interaction.
func read(f form, payload []byte, now time.Time) (arrival, error) {
	var a arrival
	var err error
	switch f {
	case formCommand:
		a, err = readCommand(payload)
	case formInteractive:
		a, err = readInteractive(payload)
	case formEvent:
		a, err = readEvent(payload)
	}
	if err != nil {
		return a, err
	}
	a.in.At = now
	return a, nil
}

// keyOf hashes what names a delivery: neither a trigger nor a whole payload is
// kept, and yet the same one is known again.
func keyOf(kind talk.Kind, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return string(kind) + ":" + hex.EncodeToString(sum[:16])
}

func readCommand(payload []byte) (arrival, error) {
	var c slack.SlashCommand
	if err := json.Unmarshal(payload, &c); err != nil {
		return arrival{}, fmt.Errorf("read command: %w", err)
	}
	if c.Command == "" || c.UserID == "" || c.TriggerID == "" {
		return arrival{}, errors.New("read command: it lacks a command, a user or a trigger")
	}
	return arrival{app: c.APIAppID, in: talk.Interaction{
		Key: keyOf(talk.Command, c.TriggerID), Kind: talk.Command, Team: c.TeamID, Enterprise: c.EnterpriseID, User: c.UserID,
		Channel: c.ChannelID, Command: c.Command, Text: c.Text, Trigger: c.TriggerID, Response: c.ResponseURL,
	}}, nil
}

// extras are the fields of an interaction that slack-go does not read.
type extras struct {
	ActionTS string `json:"action_ts"`
	Message  struct {
		TS       string `json:"ts"`
		Metadata struct {
			Type    string            `json:"event_type"`
			Payload map[string]string `json:"event_payload"`
		} `json:"metadata"`
	} `json:"message"`
	User struct {
		TeamID string `json:"team_id"`
	} `json:"user"`
}

func readInteractive(payload []byte) (arrival, error) {
	var c slack.InteractionCallback
	var x extras
	if err := json.Unmarshal(payload, &c); err != nil {
		return arrival{}, fmt.Errorf("read interaction: %w", err)
	}
	if err := json.Unmarshal(payload, &x); err != nil {
		// Metadata of others may be of any shape; without it, it is only not known
		// which card this is.
		x = extras{}
	}
	if c.User.ID == "" {
		return arrival{}, errors.New("read interaction: it lacks a user")
	}
	a := arrival{app: c.APIAppID, in: talk.Interaction{
		Team: cmp.Or(c.Team.ID, x.User.TeamID), Enterprise: c.Enterprise.ID, User: c.User.ID,
		Trigger: c.TriggerID, Response: c.ResponseURL,
	}}
	switch c.Type { //nolint:exhaustive // The others are never asked for.
	case slack.InteractionTypeBlockActions:
		return asAction(a, &c, &x)
	case slack.InteractionTypeViewSubmission:
		return asSubmission(a, &c)
	case slack.InteractionTypeBlockSuggestion:
		a.wants = true
		a.in.Kind, a.in.Action, a.in.Value = talk.Options, c.ActionID, c.Value
		a.in.Callback, a.in.Private = c.View.CallbackID, c.View.PrivateMetadata
		a.in.Key = keyOf(talk.Options, string(payload))
		return a, nil
	}
	return a, errIgnored
}

func asAction(a arrival, c *slack.InteractionCallback, x *extras) (arrival, error) {
	if len(c.ActionCallback.BlockActions) == 0 {
		return a, errors.New("read interaction: an action without one")
	}
	act, in := c.ActionCallback.BlockActions[0], &a.in
	in.Kind, in.Action, in.Value = talk.Action, act.ActionID, chosen(act)
	in.Channel = cmp.Or(c.Channel.ID, c.Container.ChannelID)
	in.Message = talk.Ref{Channel: in.Channel, TS: cmp.Or(c.Container.MessageTs, x.Message.TS)}
	in.Ephemeral = c.Container.IsEphemeral
	if x.Message.Metadata.Type == metadataType {
		in.Card = x.Message.Metadata.Payload["card"]
	}
	if c.View.Type == slack.VTModal {
		in.View, in.Callback, in.Private, in.State = c.View.ID, c.View.CallbackID, c.View.PrivateMetadata, fields(c.View.State)
	} else if c.BlockActionState != nil {
		in.State = fields(&slack.ViewState{Values: c.BlockActionState.Values})
	}
	in.Key = keyOf(talk.Action, cmp.Or(c.TriggerID, act.ActionTs), act.ActionTs, act.ActionID, act.BlockID, in.User)
	return a, nil
}

func asSubmission(a arrival, c *slack.InteractionCallback) (arrival, error) {
	a.wants = true
	in := &a.in
	in.Kind, in.View, in.Callback, in.Private = talk.Submission, c.View.ID, c.View.CallbackID, c.View.PrivateMetadata
	in.State = fields(c.View.State)
	if len(c.ResponseURLs) > 0 {
		in.Response, in.Channel = c.ResponseURLs[0].ResponseURL, c.ResponseURLs[0].ChannelID
	}
	state, err := json.Marshal(in.State)
	if err != nil {
		return a, fmt.Errorf("read form: %w", err)
	}
	// The same form may be sent again after an error was shown, so what is in it
	// belongs to its name.
	in.Key = keyOf(talk.Submission, c.TriggerID, c.View.ID, c.View.Hash, in.User, string(state))
	return a, nil
}

// fields flattens the state of a form by action_id.
func fields(s *slack.ViewState) talk.Fields {
	if s == nil || len(s.Values) == 0 {
		return nil
	}
	out := talk.Fields{}
	for _, block := range s.Values {
		for id := range block {
			act := block[id]
			out[id] = chosen(&act)
		}
	}
	return out
}

// chosen is the value of any element.
func chosen(a *slack.BlockAction) string {
	several := make([]string, 0, len(a.SelectedOptions))
	for _, o := range a.SelectedOptions {
		several = append(several, o.Value)
	}
	when := ""
	if a.SelectedDateTime > 0 {
		when = time.Unix(a.SelectedDateTime, 0).UTC().Format(time.RFC3339)
	}
	return cmp.Or(a.Value, a.SelectedOption.Value, strings.Join(several, ","), a.SelectedUser, strings.Join(a.SelectedUsers, ","),
		a.SelectedConversation, a.SelectedChannel, a.SelectedDate, a.SelectedTime, when)
}

func readEvent(payload []byte) (arrival, error) {
	var e struct {
		Type       string `json:"type"`
		ID         string `json:"event_id"`
		Team       string `json:"team_id"`
		Enterprise string `json:"enterprise_id"`
		App        string `json:"api_app_id"`
		Event      struct {
			Type    string          `json:"type"`
			User    json.RawMessage `json:"user"`
			Tab     string          `json:"tab"`
			Subteam string          `json:"subteam_id"`
			Group   struct {
				ID string `json:"id"`
			} `json:"subteam"`
			Channel json.RawMessage `json:"channel"`
		} `json:"event"`
	}
	if err := json.Unmarshal(payload, &e); err != nil {
		return arrival{}, fmt.Errorf("read event: %w", err)
	}
	if e.Type != "event_callback" || e.ID == "" {
		return arrival{}, errIgnored
	}
	a := arrival{app: e.App, in: talk.Interaction{
		Key: keyOf(talk.Event, e.ID), Kind: talk.Event, Team: e.Team, Enterprise: e.Enterprise,
		Action: e.Event.Type, User: idIn(e.Event.User), Channel: idIn(e.Event.Channel), Value: cmp.Or(e.Event.Subteam, e.Event.Group.ID),
	}}
	if e.Event.Type == "app_home_opened" {
		if e.Event.Tab != "" && e.Event.Tab != "home" {
			return a, errIgnored
		}
		a.in.Kind, a.in.Channel = talk.Home, ""
	}
	return a, nil
}

// idIn is an id that Slack sends either as such or in an object.
func idIn(raw json.RawMessage) string {
	var id string
	if json.Unmarshal(raw, &id) == nil {
		return id
	}
	var o struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(raw, &o) == nil {
		return o.ID
	}
	return ""
}

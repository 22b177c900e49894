package slackd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Client drives a local Slack through its control interface: it types, clicks
// and reads as people do, and breaks things. Tests and the demo use it.
type Client struct {
	// Base is the address of the server, Token its control token.
	Base, Token string
	// HTTP is http.DefaultClient when nil.
	HTTP *http.Client
}

// Command has a person type a slash command in a channel.
func (c *Client) Command(ctx context.Context, user, channel, text string) (out Outcome, err error) {
	err = c.do(ctx, "command", act{User: user, Channel: channel, Text: text}, &out)
	return out, err
}

// Press has a person use a button, menu or picker of a message; value is only
// for those that need one.
func (c *Client) Press(ctx context.Context, user, channel, ts, action string, value any) (out Outcome, err error) {
	err = c.do(ctx, "press", act{User: user, Channel: channel, TS: ts, ActionID: action, Value: value}, &out)
	return out, err
}

// PressInView is Press in a form or in Home.
func (c *Client) PressInView(ctx context.Context, user, view, action string, value any) (out Outcome, err error) {
	err = c.do(ctx, "press", act{User: user, ViewID: view, ActionID: action, Value: value}, &out)
	return out, err
}

// Submit has a person fill in a form and send it.
func (c *Client) Submit(ctx context.Context, user, view string, values map[string]map[string]any) (out Outcome, err error) {
	err = c.do(ctx, "submit", act{User: user, ViewID: view, Values: values}, &out)
	return out, err
}

// CloseView has a person close a form.
func (c *Client) CloseView(ctx context.Context, user, view string) (out Outcome, err error) {
	err = c.do(ctx, "close", act{User: user, ViewID: view}, &out)
	return out, err
}

// Suggest has a person type into an external select of a form.
func (c *Client) Suggest(ctx context.Context, user, view, action, typed string) (out Outcome, err error) {
	err = c.do(ctx, "suggest", act{User: user, ViewID: view, ActionID: action, Value: typed}, &out)
	return out, err
}

// OpenHome has a person open the app's home tab.
func (c *Client) OpenHome(ctx context.Context, user string) (out Outcome, err error) {
	err = c.do(ctx, "open-home", act{User: user}, &out)
	return out, err
}

// OpenDM is the direct message of a person with the app.
func (c *Client) OpenDM(ctx context.Context, user string) (*Channel, error) {
	var out struct{ Channel *Channel }
	err := c.do(ctx, "open-dm", act{User: user}, &out)
	return out.Channel, err
}

// Messages are those of a channel as a person sees them, oldest first; all of
// them when user is empty.
func (c *Client) Messages(ctx context.Context, channel, user string) ([]*Message, error) {
	var out struct{ Messages []*Message }
	err := c.get(ctx, "messages?"+url.Values{"channel": {channel}, "user": {user}}.Encode(), &out)
	return out.Messages, err
}

// Views are the open forms of a person, bottom first.
func (c *Client) Views(ctx context.Context, user string) ([]*View, error) {
	var out struct{ Views []*View }
	err := c.get(ctx, "views?user="+url.QueryEscape(user), &out)
	return out.Views, err
}

// Home is a person's home tab; nil when there is none.
func (c *Client) Home(ctx context.Context, user string) (*View, error) {
	var out struct{ View *View }
	err := c.get(ctx, "home?user="+url.QueryEscape(user), &out)
	return out.View, err
}

// Notices are what Slack itself told a person.
func (c *Client) Notices(ctx context.Context, user string) ([]*Notice, error) {
	var out struct{ Notices []*Notice }
	err := c.get(ctx, "notices?user="+url.QueryEscape(user), &out)
	return out.Notices, err
}

// Calls are the last calls of a Web API method; of all when it is empty.
func (c *Client) Calls(ctx context.Context, method string) ([]*Call, error) {
	var out struct{ Calls []*Call }
	err := c.get(ctx, "calls?method="+url.QueryEscape(method), &out)
	return out.Calls, err
}

// Deliveries are the last envelopes or requests sent to the bot.
func (c *Client) Deliveries(ctx context.Context) ([]*Delivery, error) {
	var out struct{ Deliveries []*Delivery }
	err := c.get(ctx, "deliveries", &out)
	return out.Deliveries, err
}

// AddFault switches a fault on and returns it with its id.
func (c *Client) AddFault(ctx context.Context, f Fault) (Fault, error) {
	err := c.do(ctx, "faults", f, &f)
	return f, err
}

// ClearFaults switches all faults off.
func (c *Client) ClearFaults(ctx context.Context) error {
	return c.send(ctx, http.MethodDelete, "faults", nil, nil)
}

// Advance makes Slack's clock jump.
func (c *Client) Advance(ctx context.Context, by time.Duration) error {
	return c.do(ctx, "clock", map[string]int64{"advance_ms": by.Milliseconds()}, nil)
}

// Speed makes rate limits and event retries run faster.
func (c *Client) Speed(ctx context.Context, n float64) error {
	return c.do(ctx, "clock", map[string]float64{"speed": n}, nil)
}

// Sockets freezes, thaws, cuts or disconnects all connections.
func (c *Client) Sockets(ctx context.Context, do, reason string) error {
	return c.do(ctx, "sockets", map[string]string{"do": do, "reason": reason}, nil)
}

// Revoke takes tokens back: bot, app or all.
func (c *Client) Revoke(ctx context.Context, which string) error {
	return c.do(ctx, "tokens", map[string]string{"revoke": which}, nil)
}

// Redeliver sends what was delivered before once more.
func (c *Client) Redeliver(ctx context.Context, delivery string) (out Outcome, err error) {
	err = c.do(ctx, "redeliver", map[string]string{"delivery": delivery}, &out)
	return out, err
}

// Event delivers any event. With the same id twice it is a duplicate.
func (c *Client) Event(ctx context.Context, event map[string]any, id string) error {
	return c.do(ctx, "event", map[string]any{"event": event, "event_id": id}, nil)
}

// Change changes fields of "users/U", "groups/S" or "channels/C".
func (c *Client) Change(ctx context.Context, path string, fields map[string]any) error {
	return c.do(ctx, path, fields, nil)
}

// Scopes replaces the scopes of the bot token.
func (c *Client) Scopes(ctx context.Context, scopes []string) error {
	return c.do(ctx, "scopes", map[string][]string{"bot": scopes}, nil)
}

// Without has the workspace not draw some types of blocks: what has one is
// refused with invalid_blocks.
func (c *Client) Without(ctx context.Context, blocks ...string) error {
	return c.do(ctx, "without", map[string][]string{"blocks": blocks}, nil)
}

func (c *Client) get(ctx context.Context, path string, out any) error {
	return c.send(ctx, http.MethodGet, path, nil, out)
}

func (c *Client) do(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("ask local Slack for %s: %w", path, err)
	}
	return c.send(ctx, http.MethodPost, path, body, out)
}

func (c *Client) send(ctx context.Context, method, path string, body []byte, out any) error {
	if err := c.exchange(ctx, method, path, body, out); err != nil {
		return fmt.Errorf("ask local Slack for %s: %w", path, err)
	}
	return nil
}

func (c *Client) exchange(ctx context.Context, method, path string, body []byte, out any) error {
	r, err := http.NewRequestWithContext(ctx, method, c.Base+"/control/"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+c.Token)
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		var m mistake
		if json.NewDecoder(answer.Body).Decode(&m) != nil || m.Error == "" {
			m.Error = answer.Status
		}
		return errors.New(m.Error)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(out)
}

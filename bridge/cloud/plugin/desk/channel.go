package desk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Kind is the form in which a channel takes letters.
type Kind string

// The kinds of channels.
const (
	Webhook  Kind = "webhook" // the whole letter in JSON
	Slack    Kind = "slack"   // an incoming webhook
	Feishu   Kind = "feishu"
	WeCom    Kind = "wecom"
	DingTalk Kind = "dingtalk"
)

// Channel is where letters go.
type Channel struct {
	Name string
	Kind Kind
	// URL returns the address, which is a secret with most kinds.
	URL func() (string, error)
}

const (
	channelLimit = 10 * time.Second
	replyMost    = 64 << 10
)

// send hands a letter to a channel.
func (c *Channel) send(ctx context.Context, l *Letter, text string) error {
	address, err := c.URL()
	if err != nil {
		return fmt.Errorf("channel %s: %w", c.Name, err)
	}
	body, err := json.Marshal(c.form(l, text))
	if err != nil {
		return fmt.Errorf("channel %s: write letter: %w", c.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, channelLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("channel %s: its address is none", c.Name) // the error has the address in it
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", l.ID)
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return fmt.Errorf("channel %s: %w", c.Name, u.Err)
	} else if err != nil {
		return fmt.Errorf("channel %s: %w", c.Name, err)
	}
	defer func() { _ = resp.Body.Close() }()
	reply, err := io.ReadAll(io.LimitReader(resp.Body, replyMost))
	if err != nil {
		return fmt.Errorf("channel %s: read reply: %w", c.Name, err)
	}
	if err := c.judge(resp.StatusCode, reply); err != nil {
		return fmt.Errorf("channel %s: %w", c.Name, err)
	}
	return nil
}

func (c *Channel) form(l *Letter, text string) any {
	switch c.Kind {
	case Slack:
		return map[string]string{"text": text}
	case Feishu:
		return map[string]any{"msg_type": "text", "content": map[string]string{"text": text}}
	case WeCom, DingTalk:
		return map[string]any{"msgtype": "text", "text": map[string]string{"content": text}}
	case Webhook:
	}
	return l
}

// judge tells a yes from a no: some say no with 200 and a code in the text.
func (c *Channel) judge(status int, reply []byte) error {
	if status < 200 || status > 299 {
		return fmt.Errorf("it answered %d: %.200q", status, reply)
	}
	var said struct {
		Code    int    `json:"code"`    // Feishu
		ErrCode int    `json:"errcode"` // WeCom, DingTalk
		Msg     string `json:"msg"`
		ErrMsg  string `json:"errmsg"`
	}
	switch c.Kind {
	case Feishu, WeCom, DingTalk:
		if err := json.Unmarshal(reply, &said); err != nil {
			return fmt.Errorf("it answered %.200q, which is no reply of %s", reply, c.Kind)
		}
	case Webhook, Slack:
		return nil
	}
	if said.Code != 0 || said.ErrCode != 0 {
		return fmt.Errorf("it refused with code %d: %s%s", said.Code+said.ErrCode, said.Msg, said.ErrMsg)
	}
	return nil
}

package crash

import (
	"context"
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot"
	"spillway.sh/spillway/bridge"
)

// Box puts a hook round what the bot keeps.
func Box(in bot.Box, a Around) bot.Box { return box{port{"Box", "", a}, in} }

type box struct {
	port
	in bot.Box
}

// Slack puts a hook round every call of Slack's Web API.
func Slack(in bot.Slack, a Around) bot.Slack { return slackAPI{port{"Slack", "", a}, in} }

type slackAPI struct {
	port
	in bot.Slack
}

func (b box) Knock(ctx context.Context, ks []bridge.Knock) (fresh []bool, err error) {
	return ask(ctx, &b.port, "Knock", func(ctx context.Context) ([]bool, error) { return b.in.Knock(ctx, ks) }, ks)
}

func (b box) Knocks(ctx context.Context, limit int) ([]bridge.Knock, error) {
	return ask(ctx, &b.port, "Knocks", func(ctx context.Context) ([]bridge.Knock, error) { return b.in.Knocks(ctx, limit) }, limit)
}

func (b box) Answer(ctx context.Context, key string, ps []bridge.Parcel) (first bool, err error) {
	return ask(ctx, &b.port, "Answer", func(ctx context.Context) (bool, error) { return b.in.Answer(ctx, key, ps) }, key, ps)
}

func (b box) Send(ctx context.Context, ps []bridge.Parcel) error {
	return tell(ctx, &b.port, "Send", func(ctx context.Context) error { return b.in.Send(ctx, ps) }, ps)
}

func (b box) SentOnce(ctx context.Context, name string) (bool, error) {
	return ask(ctx, &b.port, "SentOnce", func(ctx context.Context) (bool, error) { return b.in.SentOnce(ctx, name) }, name)
}

func (b box) Parcels(ctx context.Context, limit int) ([]bridge.Parcel, error) {
	return ask(ctx, &b.port, "Parcels", func(ctx context.Context) ([]bridge.Parcel, error) { return b.in.Parcels(ctx, limit) }, limit)
}

func (b box) Parcel(ctx context.Context, id int64) (p bridge.Parcel, ok bool, err error) {
	type found struct {
		parcel bridge.Parcel
		ok     bool
	}
	v, err := ask(ctx, &b.port, "Parcel", func(ctx context.Context) (found, error) {
		p, ok, err := b.in.Parcel(ctx, id)
		return found{p, ok}, err
	}, id)
	return v.parcel, v.ok, err
}

func (b box) Delivered(ctx context.Context, p bridge.Parcel, next time.Time, shown ...bridge.Copy) error {
	return tell(ctx, &b.port, "Delivered", func(ctx context.Context) error { return b.in.Delivered(ctx, p, next, shown...) }, p, next, shown)
}

func (b box) PutOff(ctx context.Context, id int64, until time.Time) error {
	return tell(ctx, &b.port, "PutOff", func(ctx context.Context) error { return b.in.PutOff(ctx, id, until) }, id, until)
}

func (b box) Copies(ctx context.Context, key string) ([]bridge.Copy, error) {
	return ask(ctx, &b.port, "Copies", func(ctx context.Context) ([]bridge.Copy, error) { return b.in.Copies(ctx, key) }, key)
}

func (b box) Show(ctx context.Context, shown ...bridge.Copy) error {
	return tell(ctx, &b.port, "Show", func(ctx context.Context) error { return b.in.Show(ctx, shown...) }, shown)
}

func (b box) Hide(ctx context.Context, c bridge.Copy) error {
	return tell(ctx, &b.port, "Hide", func(ctx context.Context) error { return b.in.Hide(ctx, c) }, c)
}

func (b box) ForgetParcels(ctx context.Context) error {
	return tell(ctx, &b.port, "ForgetParcels", func(ctx context.Context) error { return b.in.ForgetParcels(ctx) })
}

func (b box) NewsCursor(ctx context.Context) (int64, error) {
	return ask(ctx, &b.port, "NewsCursor", func(ctx context.Context) (int64, error) { return b.in.NewsCursor(ctx) })
}

func (b box) NewsAfter(ctx context.Context, id int64, limit int) ([]bridge.News, error) {
	return ask(ctx, &b.port, "NewsAfter", func(ctx context.Context) ([]bridge.News, error) { return b.in.NewsAfter(ctx, id, limit) }, id, limit)
}

func (b box) Told(ctx context.Context, id int64, ps []bridge.Parcel) error {
	return tell(ctx, &b.port, "Told", func(ctx context.Context) error { return b.in.Told(ctx, id, ps) }, id, ps)
}

func (s slackAPI) AuthTestContext(ctx context.Context) (*slack.AuthTestResponse, error) {
	return ask(ctx, &s.port, "AuthTestContext", func(ctx context.Context) (*slack.AuthTestResponse, error) { return s.in.AuthTestContext(ctx) })
}

func (s slackAPI) PostMessageContext(ctx context.Context, channel string, o ...slack.MsgOption) (string, string, error) {
	v, err := ask(ctx, &s.port, "PostMessageContext", func(ctx context.Context) ([2]string, error) {
		where, ts, err := s.in.PostMessageContext(ctx, channel, o...)
		return [2]string{where, ts}, err
	}, channel, o)
	return v[0], v[1], err
}

func (s slackAPI) PostEphemeralContext(ctx context.Context, channel, user string, o ...slack.MsgOption) (string, error) {
	return ask(ctx, &s.port, "PostEphemeralContext", func(ctx context.Context) (string, error) { return s.in.PostEphemeralContext(ctx, channel, user, o...) }, channel, user, o)
}

func (s slackAPI) UpdateMessageContext(ctx context.Context, channel, ts string, o ...slack.MsgOption) (string, string, string, error) {
	v, err := ask(ctx, &s.port, "UpdateMessageContext", func(ctx context.Context) ([3]string, error) {
		where, stamp, text, err := s.in.UpdateMessageContext(ctx, channel, ts, o...)
		return [3]string{where, stamp, text}, err
	}, channel, ts, o)
	return v[0], v[1], v[2], err
}

func (s slackAPI) OpenViewContext(ctx context.Context, trigger string, v slack.ModalViewRequest) (*slack.ViewResponse, error) {
	return ask(ctx, &s.port, "OpenViewContext", func(ctx context.Context) (*slack.ViewResponse, error) { return s.in.OpenViewContext(ctx, trigger, v) }, trigger, v)
}

func (s slackAPI) UpdateViewContext(ctx context.Context, v slack.ModalViewRequest, external, hash, view string) (*slack.ViewResponse, error) {
	return ask(ctx, &s.port, "UpdateViewContext", func(ctx context.Context) (*slack.ViewResponse, error) {
		return s.in.UpdateViewContext(ctx, v, external, hash, view)
	}, v, external, hash, view)
}

func (s slackAPI) PublishViewContext(ctx context.Context, r slack.PublishViewContextRequest) (*slack.ViewResponse, error) {
	return ask(ctx, &s.port, "PublishViewContext", func(ctx context.Context) (*slack.ViewResponse, error) { return s.in.PublishViewContext(ctx, r) }, r)
}

func (s slackAPI) GetUserInfoContext(ctx context.Context, user string, o ...slack.GetUserInfoOption) (*slack.User, error) {
	return ask(ctx, &s.port, "GetUserInfoContext", func(ctx context.Context) (*slack.User, error) { return s.in.GetUserInfoContext(ctx, user, o...) }, user, o)
}

func (s slackAPI) GetUserByEmailContext(ctx context.Context, email string) (*slack.User, error) {
	return ask(ctx, &s.port, "GetUserByEmailContext", func(ctx context.Context) (*slack.User, error) { return s.in.GetUserByEmailContext(ctx, email) }, email)
}

func (s slackAPI) GetUserGroupMembersContext(ctx context.Context, group string, o ...slack.GetUserGroupMembersOption) ([]string, error) {
	return ask(ctx, &s.port, "GetUserGroupMembersContext", func(ctx context.Context) ([]string, error) { return s.in.GetUserGroupMembersContext(ctx, group, o...) }, group, o)
}

func (s slackAPI) GetUploadURLExternalContext(ctx context.Context, f slack.GetUploadURLExternalParameters) (*slack.GetUploadURLExternalResponse, error) {
	return ask(ctx, &s.port, "GetUploadURLExternalContext", func(ctx context.Context) (*slack.GetUploadURLExternalResponse, error) {
		return s.in.GetUploadURLExternalContext(ctx, f)
	}, f)
}

func (s slackAPI) UploadToURL(ctx context.Context, f slack.UploadToURLParameters) error {
	return tell(ctx, &s.port, "UploadToURL", func(ctx context.Context) error { return s.in.UploadToURL(ctx, f) }, f)
}

func (s slackAPI) CompleteUploadExternalContext(ctx context.Context, f slack.CompleteUploadExternalParameters) (*slack.CompleteUploadExternalResponse, error) {
	return ask(ctx, &s.port, "CompleteUploadExternalContext", func(ctx context.Context) (*slack.CompleteUploadExternalResponse, error) {
		return s.in.CompleteUploadExternalContext(ctx, f)
	}, f)
}

func (s slackAPI) GetConversationInfoContext(ctx context.Context, in *slack.GetConversationInfoInput) (*slack.Channel, error) {
	return ask(ctx, &s.port, "GetConversationInfoContext", func(ctx context.Context) (*slack.Channel, error) { return s.in.GetConversationInfoContext(ctx, in) }, in)
}

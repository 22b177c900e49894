package bot

import (
	"context"
	"time"

	"github.com/slack-go/slack"

	"spillway.sh/spillway/bot/talk"
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// Box keeps what came in and what is to go out. One method is one transaction;
// the store has them all.
type Box interface {
	Inbox
	Outbox
	Feed
}

// Inbox keeps what people did until it is answered.
type Inbox interface {
	Knock(ctx context.Context, ks []bridge.Knock) (fresh []bool, err error)
	Knocks(ctx context.Context, limit int) ([]bridge.Knock, error)
	Answer(ctx context.Context, key string, ps []bridge.Parcel) (first bool, err error)
}

// Outbox keeps what is to be shown until it was delivered, and where it is.
type Outbox interface {
	Send(ctx context.Context, ps []bridge.Parcel) error
	SentOnce(ctx context.Context, name string) (bool, error)
	Parcels(ctx context.Context, limit int) ([]bridge.Parcel, error)
	Parcel(ctx context.Context, id int64) (p bridge.Parcel, ok bool, err error)
	Delivered(ctx context.Context, p bridge.Parcel, next time.Time, shown ...bridge.Copy) error
	PutOff(ctx context.Context, id int64, until time.Time) error
	Copies(ctx context.Context, key string) ([]bridge.Copy, error)
	Show(ctx context.Context, shown ...bridge.Copy) error
	Hide(ctx context.Context, c bridge.Copy) error
	ForgetParcels(ctx context.Context) error
}

// Feed is the record of what happened, and how far it was told.
type Feed interface {
	NewsCursor(ctx context.Context) (int64, error)
	NewsAfter(ctx context.Context, id int64, limit int) ([]bridge.News, error)
	Told(ctx context.Context, id int64, ps []bridge.Parcel) error
}

// Slack is what the bot calls of Slack's Web API. *slack.Client has it.
type Slack interface {
	AuthTestContext(ctx context.Context) (*slack.AuthTestResponse, error)
	PostMessageContext(ctx context.Context, channel string, o ...slack.MsgOption) (string, string, error)
	PostEphemeralContext(ctx context.Context, channel, user string, o ...slack.MsgOption) (string, error)
	UpdateMessageContext(ctx context.Context, channel, ts string, o ...slack.MsgOption) (string, string, string, error)
	OpenViewContext(ctx context.Context, trigger string, v slack.ModalViewRequest) (*slack.ViewResponse, error)
	UpdateViewContext(ctx context.Context, v slack.ModalViewRequest, external, hash, view string) (*slack.ViewResponse, error)
	PublishViewContext(ctx context.Context, r slack.PublishViewContextRequest) (*slack.ViewResponse, error)
	GetUserInfoContext(ctx context.Context, user string, o ...slack.GetUserInfoOption) (*slack.User, error)
	GetUserByEmailContext(ctx context.Context, email string) (*slack.User, error)
	GetUserGroupMembersContext(ctx context.Context, group string, o ...slack.GetUserGroupMembersOption) ([]string, error)
	GetUploadURLExternalContext(ctx context.Context, f slack.GetUploadURLExternalParameters) (*slack.GetUploadURLExternalResponse, error)
	UploadToURL(ctx context.Context, f slack.UploadToURLParameters) error
	CompleteUploadExternalContext(ctx context.Context, f slack.CompleteUploadExternalParameters) (*slack.CompleteUploadExternalResponse, error)
	GetConversationInfoContext(ctx context.Context, in *slack.GetConversationInfoInput) (*slack.Channel, error)
}

// Teller turns what happened into messages. Package bot/say has one.
type Teller interface {
	// Tell is told what happened, in order, each once.
	Tell(ctx context.Context, news []bridge.News) ([]talk.Effect, error)
	// Remind is asked every few seconds what is due by now: reminders, cards of
	// questions whose time is over. What goes out once says so by Effect.Once.
	Remind(ctx context.Context, now time.Time) ([]talk.Effect, error)
}

// People returns the person of a Unix account who is in some more groups than
// the host knows of, or an error when there is no such account.
type People func(ctx context.Context, account string, more []string) (desk.Person, error)

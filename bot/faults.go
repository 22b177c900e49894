package bot

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/slack-go/slack"
)

// The words of Slack's errors that mean more than "not now".
var (
	// fatalErrors end the use of a token: nothing that is tried again helps.
	fatalErrors = []string{
		"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "org_login_required", "ekm_access_denied",
		"missing_scope", "not_allowed_token_type", "link_disabled", "app_missing_action_url", "invalid_app_id",
	}
	// revokedErrors say that the app is not installed any more.
	revokedErrors = []string{"account_inactive", "token_revoked", "invalid_auth", "not_authed", "token_expired"}
	goneErrors    = []string{"users_not_found", "user_not_found", "user_disabled", "user_deactivated", "account_inactive_user"}
	// formErrors refuse what a message looks like.
	formErrors = []string{"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "invalid_attachments", "invalid_arguments", "markdown_text_conflict"}
	// placeErrors refuse where it goes; a person can put that right.
	placeErrors = []string{"missing_scope", "channel_not_found", "not_in_channel", "is_archived", "restricted_action", "restricted_action_read_only_channel", "team_access_not_granted", "no_permission"}
	// lostErrors say that the message to be edited is no more, or not ours.
	lostErrors = []string{"message_not_found", "cant_update_message", "edit_window_closed", "is_inactive", "thread_not_found"}
)

// wordOf is Slack's own word for an error; empty when it is not Slack's.
func wordOf(err error) string {
	if e, ok := errors.AsType[slack.SlackErrorResponse](err); ok {
		return e.Err
	}
	return ""
}

func isOneOf(err error, words []string) bool {
	return err != nil && slices.Contains(words, wordOf(err))
}

func gone(err error) bool { return isOneOf(err, goneErrors) }

// retryAfter is how long Slack wants not to be called.
func retryAfter(err error) (time.Duration, bool) {
	if e, ok := errors.AsType[*slack.RateLimitedError](err); ok {
		return max(e.RetryAfter, time.Second), true
	}
	if e, ok := errors.AsType[slack.StatusCodeError](err); ok && e.Code == http.StatusTooManyRequests {
		return time.Second, true
	}
	return 0, false
}

// passing reports whether an error says nothing of the call: the network, or
// Slack being unwell. Whether the call was carried out is not known.
func passing(err error) bool {
	if _, ok := retryAfter(err); ok {
		return true
	}
	if e, ok := errors.AsType[slack.StatusCodeError](err); ok {
		return e.Code >= http.StatusInternalServerError
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	switch wordOf(err) {
	case "internal_error", "fatal_error", "service_unavailable", "request_timeout", "ratelimited", "rate_limited", "team_added_to_org", "accesslimited":
		return true
	case "":
		return !errors.Is(err, context.Canceled) // a broken reply
	}
	return false
}

// patiently asks again for a moment when Slack is only busy. It is for
// questions, which may be asked twice.
func patiently[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	for try := 0; ; try++ {
		v, err := ask()
		if err == nil || try == 3 || !passing(err) || ctx.Err() != nil {
			return v, err
		}
		pause, limited := retryAfter(err)
		if !limited {
			pause = 200 * time.Millisecond << try
		}
		select {
		case <-ctx.Done():
			return v, err
		case <-time.After(pause):
		}
	}
}

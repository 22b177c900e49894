package bot

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
)

// secrets look like this: Slack's tokens, addresses that need no token, tickets
// of connections, and what follows the name of an authorisation.
var secrets = regexp.MustCompile(`(?i)\bx(?:ox[a-z]|app)-[A-Za-z0-9-]+|hooks\.slack\.com/[^\s"']+|(?:wss?://[^\s"'?]+\?)[^\s"']+|/(?:commands|actions|hooks|response)/[^\s"']{16,}|authorization:?\s*(?:bearer|basic)?\s*[^\s"',}]+|\bbearer\s+[^\s"',}]+`)

const redacted = "<redacted>"

func redact(s string) string { return secrets.ReplaceAllString(s, redacted) }

// Redacted is a handler that takes Slack's secrets out of every line before h
// writes it.
func Redacted(h slog.Handler) slog.Handler { return &redacting{h} }

type redacting struct{ next slog.Handler }

// Enabled asks the next handler.
func (r *redacting) Enabled(ctx context.Context, l slog.Level) bool { return r.next.Enabled(ctx, l) }

// Handle passes a line on without its secrets.
func (r *redacting) Handle(ctx context.Context, rec slog.Record) error {
	out := slog.NewRecord(rec.Time, rec.Level, redact(rec.Message), rec.PC)
	rec.Attrs(func(a slog.Attr) bool { out.AddAttrs(clean(a)); return true })
	return r.next.Handle(ctx, out) //nolint:wrapcheck // A handler around another one returns its error.
}

// WithAttrs cleans what every line will carry.
func (r *redacting) WithAttrs(as []slog.Attr) slog.Handler {
	out := make([]slog.Attr, len(as))
	for i, a := range as {
		out[i] = clean(a)
	}
	return &redacting{r.next.WithAttrs(out)}
}

// WithGroup opens the group in the next handler.
func (r *redacting) WithGroup(name string) slog.Handler { return &redacting{r.next.WithGroup(name)} }

// clean redacts a value of any kind; what could hide text is turned into it.
func clean(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	switch a.Value.Kind() { //nolint:exhaustive // Numbers and times hold no secret.
	case slog.KindString:
		a.Value = slog.StringValue(redact(a.Value.String()))
	case slog.KindGroup:
		as := a.Value.Group()
		out := make([]slog.Attr, len(as))
		for i := range as {
			out[i] = clean(as[i])
		}
		a.Value = slog.GroupValue(out...)
	case slog.KindAny:
		a.Value = slog.StringValue(redact(fmt.Sprint(a.Value.Any())))
	}
	return a
}

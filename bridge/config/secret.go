package config

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// redacted stands for a secret wherever one would be shown.
const redacted = "<redacted>"

// Secret is a value that may be used and never shown. It keeps the way to the
// value, not the value, so that no printing of its fields can leak it, and so
// that a changed file is read anew.
type Secret struct {
	file   string
	reveal func() (string, error)
}

// Errors of secrets.
var (
	ErrNoSecret    = errors.New("no secret is given")
	ErrEmptySecret = errors.New("the secret is empty")
)

// SecretFile is a secret in a file, read each time it is needed.
func SecretFile(path string) Secret {
	return Secret{path, func() (string, error) {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read secret: %w", err)
		}
		return filled(string(data))
	}}
}

// SecretValue is a secret that came by the environment.
func SecretValue(value string) Secret {
	return Secret{"", func() (string, error) { return filled(value) }}
}

func filled(s string) (string, error) {
	if s = strings.TrimSpace(s); s == "" {
		return "", ErrEmptySecret
	}
	return s, nil
}

// File is the path of the secret, or empty if it is in no file.
func (s Secret) File() string { return s.file }

// Given reports whether there is a secret at all.
func (s Secret) Given() bool { return s.reveal != nil }

// Reveal returns the secret itself, without surrounding white space, or
// ErrNoSecret, ErrEmptySecret or what reading it gave.
func (s Secret) Reveal() (string, error) {
	if s.reveal == nil {
		return "", ErrNoSecret
	}
	return s.reveal()
}

// String hides the secret.
func (s Secret) String() string { return redacted }

// GoString hides the secret.
func (s Secret) GoString() string { return redacted }

// Format hides the secret from every verb.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted) }

// LogValue hides the secret from logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the secret from JSON, YAML and XML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

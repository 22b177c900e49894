// Package config reads spillway.yaml: where the bridge keeps its state, which
// clusters it watches, which clouds it may rent from, and its times.
//
// The file is strict YAML. Every mistake in it is reported at once, with line,
// column and a valid example; missing files are named. No secret is ever in the
// file: a secret is named by a file (token_file) or an environment variable
// (token_env), and prints as <redacted> wherever it is shown.
package config

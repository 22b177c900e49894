package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"spillway.sh/spillway/bridge/config/strict"
)

// expected is what a path must lead to.
type expected int

const (
	anything expected = iota // made by the bridge itself
	aFile
	aFolder
	aSecret
)

// path reads a path: ${NAME} stands for an environment variable, a relative
// path starts at the configuration's own folder.
func (r *reader) path(dst *string, want expected) func(strict.Node) {
	return func(n strict.Node) {
		var s string
		if !n.Sound(strict.Text(&s)) {
			return
		}
		missing := ""
		s = os.Expand(s, func(name string) string {
			v, ok := r.getenv(name)
			if !ok && missing == "" {
				missing = name
			}
			return v
		})
		if missing != "" {
			n.Fault("the environment has no " + missing)
			return
		}
		if !filepath.IsAbs(s) {
			s = filepath.Join(r.dir, s)
		}
		*dst = filepath.Clean(s)
		if r.files {
			if wrong := look(*dst, want); wrong != "" {
				n.Fault(wrong)
			}
		}
	}
}

// look says what is wrong with what a path leads to.
func look(path string, want expected) string {
	if want == anything {
		return ""
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no " + path
	case err != nil:
		return "cannot be looked at: " + reason(err)
	case want == aFolder && !info.IsDir():
		return path + " is not a folder"
	case want != aFolder && !info.Mode().IsRegular():
		return path + " is not a file"
	case want == aSecret && info.Mode().Perm()&0o007 != 0:
		return path + " can be read by everybody: chmod 600 " + path
	case want == aSecret && info.Size() == 0:
		return path + " is empty"
	case want == aFolder:
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return "cannot be read: " + reason(err)
	}
	_ = f.Close() // nothing was written
	return ""
}

// reason is the cause without the operation's own repeating of the path.
func reason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Path + ": " + pe.Err.Error()
	}
	return err.Error()
}

// secret is the keys by which a secret may be given: a file or an environment
// variable, never the file itself. Exactly one of them.
func (r *reader) secret(parent strict.Node, key string, dst *Secret) []strict.Field {
	file, env := key+"_file", key+"_env"
	fileExample, envExample := file+": /etc/spillway/"+key, env+": SPILLWAY_"+strings.ToUpper(key)
	_, hasFile := parent.Get(file)
	_, hasEnv := parent.Get(env)
	_, hasPlain := parent.Get(key)
	fromFile := strict.May
	if !hasEnv && !hasPlain {
		fromFile = strict.Need
	}
	return []strict.Field{
		strict.May(key, fileExample, func(n strict.Node) {
			n.FaultKey("a secret is never in this file: give " + file + " or " + env)
		}),
		fromFile(file, fileExample, func(n strict.Node) {
			var path string
			if n.Sound(r.path(&path, aSecret)) {
				*dst = SecretFile(path)
			}
		}),
		strict.May(env, envExample, func(n strict.Node) {
			if hasFile {
				n.With(fileExample).FaultKey("there is " + file + " too: keep one")
				return
			}
			r.fromEnvironment(n, dst)
		}),
	}
}

func (r *reader) fromEnvironment(n strict.Node, dst *Secret) {
	var variable string
	if !n.Sound(strict.Text(&variable)) {
		return
	}
	value, _ := r.getenv(variable)
	if r.files && strings.TrimSpace(value) == "" {
		n.Fault("the environment has no such variable, or an empty one")
		return
	}
	*dst = SecretValue(value)
}

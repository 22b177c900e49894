package slackd

import (
	"crypto/subtle"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

type rawJSON = json.RawMessage

// args are the arguments of a call, from a form or a JSON body.
type args struct {
	values map[string]any // strings from a form
	json   bool
}

// read takes a request apart.
func (s *Server) read(r *http.Request) (*call, error) {
	c := &call{s: s, base: base(r)}
	c.values = map[string]any{}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && r.Method == http.MethodPost && r.ContentLength > 0 {
		return nil, refuse("invalid_post_type")
	}
	r.Body = http.MaxBytesReader(nil, r.Body, maxBody)
	switch kind {
	case "application/json":
		c.json = true
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, refuse("request_timeout")
		}
		if len(body) > 0 && json.Unmarshal(body, &c.values) != nil {
			return nil, refuse("invalid_json")
		}
	case "", "application/x-www-form-urlencoded", "multipart/form-data":
		if kind == "multipart/form-data" {
			err = r.ParseMultipartForm(maxBody)
		} else {
			err = r.ParseForm()
		}
		if err != nil {
			return nil, refuse("invalid_form_data")
		}
		for k, v := range r.Form {
			if k == "token" && r.PostForm.Get(k) == "" {
				continue // Slack takes no token from an address
			}
			c.values[k] = v[0]
		}
	default:
		return nil, refuse("invalid_post_type")
	}
	return c, nil
}

// base is the address the caller reached us at; tools of the demo may come
// through a name of their own.
func base(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

func (a args) has(key string) bool {
	v, there := a.values[key]
	return there && v != nil && v != ""
}

// given reports whether the argument was sent at all, empty or not.
func (a args) given(key string) bool {
	v, there := a.values[key]
	return there && v != nil
}

func (a args) str(key string) string {
	switch v := a.values[key].(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// first is the first of the arguments that is there.
func (a args) first(keys ...string) string {
	for _, k := range keys {
		if s := a.str(k); s != "" {
			return s
		}
	}
	return ""
}

func (a args) yes(key string) bool {
	s := a.str(key)
	return s == "true" || s == "1"
}

// number reads a count, with a default and a highest value.
func (a args) number(key string, without, most int) int {
	n, err := strconv.Atoi(a.str(key))
	if err != nil || n <= 0 {
		return without
	}
	return min(n, most)
}

// raw is a JSON argument: text in a form, either in a JSON body.
func (a args) raw(key string) rawJSON {
	switch v := a.values[key].(type) {
	case nil:
		return nil
	case string:
		return rawJSON(strings.TrimSpace(v))
	default:
		out, err := json.Marshal(v)
		if err != nil {
			return nil
		}
		return out
	}
}

func (a args) into(key string, v any) error { return json.Unmarshal(a.raw(key), v) }

// list is an argument of several ids, as an array or with commas.
func (a args) list(key string) []string {
	if l, ok := a.values[key].([]any); ok {
		out := []string{}
		for _, v := range l {
			if s, ok := v.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return strings.FieldsFunc(a.str(key), func(r rune) bool { return r == ',' || r == ' ' })
}

// equal compares secrets without telling how much of them is right.
func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a caller that left needs no answer
}

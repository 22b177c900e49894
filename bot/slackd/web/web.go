// Package web holds the page of the local Slack, built and ready. Its source
// is beside it; `make page` builds dist again, and a test compares the two.
//
// The page is the same for everybody and holds no secret: the token of the
// control interface comes in the fragment of the address, as in
// http://127.0.0.1:7090/#token=..., which a browser sends to nobody.
package web

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed dist
var dist embed.FS

// policy keeps the browser from asking any other host for anything.
const policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// Page serves the page below "/".
func Page() http.Handler {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the folder is embedded
	}
	serve := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		serve.ServeHTTP(w, r)
	})
}

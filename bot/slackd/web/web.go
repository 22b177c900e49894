// Package web holds the page of the local Slack, built and ready. Its source
// is beside it; `make page` builds dist again, and a test compares the two.
//
// The page is the same for everybody and holds no secret: the token of the
// control interface comes in the fragment of the address, as in
// http://127.0.0.1:7040/#token=..., which a browser sends to nobody.
package web

import (
	"embed"
	"io/fs"
	"net/url"
)

//go:embed dist
var dist embed.FS

// Files are the page, to be served at "/" beside /control/.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return files
}

// Address is where a person opens the page of a local Slack. It lets in who
// has it, so it is printed for the person who started it and logged nowhere.
func Address(base, token string) string {
	return base + "/#" + url.Values{"token": {token}}.Encode()
}

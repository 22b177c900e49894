package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"spillway.sh/spillway/bridge/desk"
)

// zoneHere is the name of the time zone that times on the command line are of;
// empty, which is UTC, when the host does not say.
func zoneHere() string {
	name, set := os.LookupEnv("TZ")
	if !set {
		at, err := filepath.EvalSymlinks("/etc/localtime")
		if err != nil {
			return ""
		}
		_, name, _ = strings.Cut(at, "zoneinfo/")
	}
	if _, err := time.LoadLocation(name); err != nil || name == "Local" {
		return ""
	}
	return name
}

// here says a text of the desk with its instants in the host's zone.
func here(text string) string {
	zone, err := time.LoadLocation(zoneHere())
	if err != nil {
		return text
	}
	return desk.InZone(text, zone)
}

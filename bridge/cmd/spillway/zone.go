package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"
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

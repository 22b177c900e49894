package config

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// gateChecks are the checks that a site may turn off.
var gateChecks = []string{"gpus", "driver", "xid", "disk", "mounts", "owner", "clock", "storage"}

// gate reads what a cluster's rented machines must show before they take jobs.
// What a rental was paid for, its GPUs for instance, is looked at anyway.
func gate(w *bridge.Wants) func(strict.Node) {
	return func(n strict.Node) {
		var disk, rate int64
		n.Object(
			strict.May("mounts", "mounts: [/home, /data]", strict.Texts(&w.Mounts, place)),
			strict.May("storage", "storage: [/scratch/checkpoints]", strict.Texts(&w.Storage, place)),
			strict.May("min_disk", "min_disk: 20GiB", amount(&disk)),
			strict.May("min_rate", "min_rate: 100MB", amount(&rate)),
			strict.May("max_wait", "max_wait: 500ms", strict.Span(&w.MaxWait, time.Millisecond, time.Minute)),
			strict.May("max_skew", "max_skew: 1m", strict.Span(&w.MaxSkew, time.Second, time.Hour)),
			strict.May("driver", `driver: "535"`, strict.Text(&w.Driver, driver)),
			strict.May("patience", "patience: 2m", strict.Span(&w.Patience, time.Second, 4*time.Hour)),
			strict.May("off", "off: [xid]", strict.Texts(&w.Off, strict.OneOf(gateChecks...))),
		)
		w.DiskMiB, w.MinRate = (disk+1<<20-1)>>20, rate
	}
}

func place(s string) string {
	if !path.IsAbs(s) || path.Clean(s) != s || s == "/" {
		return "want an absolute path that is not the root, for example /home"
	}
	return ""
}

var dotted = regexp.MustCompile(`^[0-9]+(\.[0-9]+)*$`)

func driver(s string) string {
	if !dotted.MatchString(s) {
		return "want a version, for example 535 or 550.54"
	}
	return ""
}

var amountForm = regexp.MustCompile(`^([0-9]{1,9})(kB|MB|GB|TB|KiB|MiB|GiB|TiB)$`)

var amountUnits = map[string]int64{
	"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}

// amount reads a number of bytes with its unit.
func amount(dst *int64) func(strict.Node) {
	return func(n strict.Node) {
		text, _ := n.Scalar()
		m := amountForm.FindStringSubmatch(text)
		if m == nil {
			n.Fault("want a number and a unit without a space between them, for example 20GiB or 500MB")
			return
		}
		k, err := strconv.ParseInt(m[1], 10, 64)
		if unit := amountUnits[m[2]]; err != nil || k > 1<<60/unit {
			n.Fault(fmt.Sprintf("%s is more than there can be", text))
			return
		}
		*dst = k * amountUnits[m[2]]
	}
}

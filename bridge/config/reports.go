package config

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge/config/strict"
)

// Reports is when digests are told: in Slack where there is a bot, as news
// everywhere.
type Reports struct {
	Daily  *Clock         `json:"daily"` // nil: never
	Weekly *Clock         `json:"weekly"`
	Zone   *time.Location `json:"-"` // nil: that of the policy's first budget
}

// Clock is a time of day, of one weekday or of all.
type Clock struct {
	Hour    int           `json:"hour"`
	Minute  int           `json:"minute"`
	Weekday *time.Weekday `json:"weekday,omitempty"`
}

// defaultReports is nine in the morning, and on Mondays.
func defaultReports() Reports {
	monday := time.Monday
	return Reports{Daily: &Clock{Hour: 9}, Weekly: &Clock{Hour: 9, Weekday: &monday}}
}

var clockForm = regexp.MustCompile(`^(?:(Sun|Mon|Tue|Wed|Thu|Fri|Sat) )?([01]\d|2[0-3]):([0-5]\d)$`)

func (r *reader) reports(n strict.Node) {
	p := &r.config.Reports
	n.Object(
		strict.May("daily", `daily: "09:00"`, clock(&p.Daily, false, `want a time in quotes, as "09:00", or never`)),
		strict.May("weekly", "weekly: Mon 09:00", clock(&p.Weekly, true, "want a weekday and a time, as Mon 09:00, or never")),
		strict.May("zone", "zone: Europe/Berlin", func(n strict.Node) {
			var name string
			strict.Text(&name)(n)
			zone, err := time.LoadLocation(name)
			switch {
			case name == "":
			case err != nil || name == "Local":
				n.Fault("unknown zone: want a name of the IANA list")
			default:
				p.Zone = zone
			}
		}),
	)
}

// clock reads HH:MM, with a weekday before it or without, or never.
func clock(dst **Clock, weekly bool, wrong string) func(strict.Node) {
	return func(n strict.Node) {
		s, _ := n.Scalar()
		m := clockForm.FindStringSubmatch(s)
		switch {
		case s == "never":
			*dst = nil
			return
		case m == nil || (m[1] != "") != weekly:
			n.Fault(wrong)
			return
		}
		c := &Clock{}
		c.Hour, _ = strconv.Atoi(m[2])
		c.Minute, _ = strconv.Atoi(m[3])
		if weekly {
			day := time.Weekday(strings.Index("SunMonTueWedThuFriSat", m[1]) / 3)
			c.Weekday = &day
		}
		*dst = c
	}
}

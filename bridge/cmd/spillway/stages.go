package main

import (
	"fmt"
	"time"

	"spillway.sh/spillway/bridge/desk"
)

// sayStages shows how long each stage of getting ready took on a rental's
// machines: the boot's own, the site's hooks, the gate.
func sayStages(p *page, r *desk.Rental) {
	var rows []string
	for i := range r.Machines {
		m := &r.Machines[i]
		if m.Report == nil {
			continue
		}
		for _, s := range m.Report.Stages {
			how := "ok"
			if !s.OK {
				how = "not yet"
			}
			rows = append(rows, row(m.Node, s.Name, how, fmt.Sprintf("%.1f s", s.Took.Round(100*time.Millisecond).Seconds()), s.Text))
		}
	}
	if len(rows) == 0 {
		return
	}
	p.line("")
	p.table("MACHINE\tSTAGE\tSTATE\tTOOK\tSAYS", rows)
}

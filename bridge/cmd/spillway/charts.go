package main

import (
	"fmt"
	"os"
	"path/filepath"

	"spillway.sh/spillway/bridge/report"
	"spillway.sh/spillway/bridge/report/chart"
)

// drawCharts writes the charts of a report into a folder, as 2026-W48-spend.png,
// and says which.
func drawCharts(a *app, r *report.Report, dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("make a folder for charts: %w", err)
	}
	for _, k := range chart.Kinds(r) {
		png, alt, err := chart.PNG(k, r, report.Lang(a.lang()), chart.Light)
		if err != nil {
			return err
		}
		name := filepath.Join(dir, fmt.Sprintf("%s-%s.png", r.Week, k))
		if err := os.WriteFile(name, png, 0o600); err != nil {
			return fmt.Errorf("write chart: %w", err)
		}
		fmt.Fprintf(a.errs, "(%s: %s)\n", name, alt)
	}
	return nil
}

package slackd

import (
	"fmt"
	"unicode/utf8"
)

func (j *judge) table(b object, at string) {
	if j.tables++; j.tables > maxTables {
		j.refuse(at, "failed_constraint", "only one table is allowed in a message")
	}
	for i, v := range j.list(b, at, "rows", 1, maxTableRows) {
		j.row(v, fmt.Sprintf("%s/rows/%d", at, i), true, "rich_text", "raw_text", "raw_number")
	}
	j.list(b, at, "column_settings", 0, maxTableColumns)
}

func (j *judge) dataTable(b object, at string) {
	rows := j.list(b, at, "rows", 1, maxDataRows)
	width := -1
	for i, v := range rows {
		types := []string{"raw_text", "raw_number", "rich_text", "action_cell"}
		if i == 0 {
			types = types[:1]
		}
		n := j.row(v, fmt.Sprintf("%s/rows/%d", at, i), false, types...)
		if width >= 0 && n != width {
			j.refuse(fmt.Sprintf("%s/rows/%d", at, i), "failed_constraint", "every row needs as many cells as the header")
		}
		width = max(width, n)
	}
	if size, ok := b["page_size"].(float64); ok {
		j.between(at+"/page_size", int(size), 1, maxPageSize, "rows")
	}
}

// row judges the cells of one row and returns how many there are.
func (j *judge) row(v any, at string, empty bool, types ...string) int {
	cells, ok := v.([]any)
	if !ok {
		j.refuse(at, "invalid_type", "must be an array of cells")
		return 0
	}
	j.between(at, len(cells), 1, maxTableColumns, "items")
	for i, cell := range cells {
		here := fmt.Sprintf("%s/%d", at, i)
		if cell == nil && empty {
			continue
		}
		c := j.asObject(cell, here)
		if c == nil {
			continue
		}
		kind, _ := c["type"].(string)
		if !j.oneOf(here+"/type", kind, types...) {
			continue
		}
		switch kind {
		case "raw_text":
			if s, ok := c["text"].(string); !ok || s == "" {
				j.refuse(here+"/text", "failed_constraint", "must be more than 0 characters")
			}
		case "raw_number":
			if _, ok := c["value"].(float64); !ok {
				j.refuse(here+"/value", "missing_field", "missing required field: value")
			}
		}
		j.text += shownText(c)
	}
	return len(cells)
}

func (j *judge) chart(b object, at string) {
	if j.charts++; j.charts > maxCharts {
		j.refuse(at, "failed_constraint", "no more than %d charts are allowed in a message", maxCharts)
	}
	j.need(b, at, "title", maxChartTitle)
	c := j.thing(b, at, "chart")
	if c == nil {
		j.refuse(at+"/chart", "missing_field", "missing required field: chart")
		return
	}
	at += "/chart"
	kind, _ := c["type"].(string)
	if !j.oneOf(at+"/type", kind, "pie", "bar", "line", "area") {
		return
	}
	if kind == "pie" {
		j.pie(c, at)
		return
	}
	j.series(c, at)
}

func (j *judge) pie(c object, at string) {
	for i, v := range j.list(c, at, "segments", 1, maxSegments) {
		here := fmt.Sprintf("%s/segments/%d", at, i)
		s := j.asObject(v, here)
		if s == nil {
			continue
		}
		j.need(s, here, "label", maxChartLabel)
		if n, ok := s["value"].(float64); !ok || n <= 0 {
			j.refuse(here+"/value", "failed_constraint", "must be greater than 0")
		}
	}
}

func (j *judge) series(c object, at string) {
	axis := j.thing(c, at, "axis_config")
	if axis == nil {
		j.refuse(at+"/axis_config", "missing_field", "missing required field: axis_config")
		return
	}
	j.word(axis, at+"/axis_config", "x_label", maxAxisLabel)
	j.word(axis, at+"/axis_config", "y_label", maxAxisLabel)
	categories := map[string]bool{}
	for i, v := range j.list(axis, at+"/axis_config", "categories", 1, maxPoints) {
		s, _ := v.(string)
		j.between(fmt.Sprintf("%s/axis_config/categories/%d", at, i), utf8.RuneCountInString(s), 1, maxChartLabel, "characters")
		categories[s] = true
	}
	names := map[string]bool{}
	for i, v := range j.list(c, at, "series", 1, maxSeries) {
		here := fmt.Sprintf("%s/series/%d", at, i)
		s := j.asObject(v, here)
		if s == nil {
			continue
		}
		name := j.need(s, here, "name", maxChartLabel)
		if names[name] {
			j.refuse(here+"/name", "failed_constraint", "series name %q is used twice", name)
		}
		names[name] = true
		j.points(s, here, categories)
	}
}

// points wants exactly one point for each category.
func (j *judge) points(s object, at string, categories map[string]bool) {
	seen := map[string]bool{}
	for i, v := range j.list(s, at, "data", 1, maxPoints) {
		here := fmt.Sprintf("%s/data/%d", at, i)
		p := j.asObject(v, here)
		if p == nil {
			continue
		}
		label := j.need(p, here, "label", maxChartLabel)
		if !categories[label] || seen[label] {
			j.refuse(here+"/label", "failed_constraint", "label %q must match one category, once", label)
		}
		seen[label] = true
		if _, ok := p["value"].(float64); !ok {
			j.refuse(here+"/value", "missing_field", "missing required field: value")
		}
	}
	if len(seen) != len(categories) {
		j.refuse(at+"/data", "failed_constraint", "one point for every category is needed")
	}
}

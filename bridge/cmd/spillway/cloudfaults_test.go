package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const cloudFaults = "deploy/docs/clouds/faults.md"

// Every fault that clouds were seen with has its row, which says what is done,
// names tests that are there, and the commands that run each of them.
func TestEveryCloudFaultIsHeld(t *testing.T) {
	known, rows := tests(t), map[int][]string{}
	for line := range strings.Lines(textOf(t, cloudFaults)) {
		cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), `\|`, "\x00"), "|")
		if len(cells) != 7 {
			continue
		}
		number, is := strings.CutPrefix(strings.TrimSpace(cells[1]), "C-")
		if !is {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		if rows[n] != nil {
			t.Errorf("fault %d is there twice", n)
		}
		if strings.TrimSpace(cells[2]) == "" || strings.TrimSpace(cells[3]) == "" {
			t.Errorf("fault %d without words: %s", n, line)
		}
		rows[n] = codes(cells[4])
		for _, wrong := range heldBy(rows[n], codes(cells[5]), known) {
			t.Errorf("fault %d: %s", n, wrong)
		}
	}
	for n := 1; n <= 32; n++ {
		if len(rows[n]) == 0 {
			t.Errorf("fault %d is held by no test", n)
		}
	}
	if len(rows) != 32 {
		t.Errorf("%d rows, want 32", len(rows))
	}
}

// codes are the pieces of code in a cell.
func codes(cell string) []string {
	var out []string
	for _, m := range inCode.FindAllStringSubmatch(strings.ReplaceAll(cell, "\x00", "|"), -1) {
		out = append(out, m[1])
	}
	return out
}

// heldBy says what is wrong with the tests that a row names, and its commands.
func heldBy(named, commands []string, known map[string][]string) []string {
	var out []string
	run := map[string]*regexp.Regexp{}
	for _, c := range commands {
		m := goTest.FindStringSubmatch(c)
		if m == nil || m[2] == "" {
			out = append(out, fmt.Sprintf("%q is no command that runs chosen tests", c))
			continue
		}
		r, err := regexp.Compile(m[2])
		if err != nil || !slices.ContainsFunc(known[m[1]], r.MatchString) {
			out = append(out, fmt.Sprintf("%q runs nothing: %v", c, err))
			continue
		}
		run[m[1]] = r
	}
	for _, name := range named {
		ran := false
		for folder, r := range run {
			ran = ran || r.MatchString(name) && slices.Contains(known[folder], name)
		}
		if !ran {
			out = append(out, fmt.Sprintf("%s is not there, or no command of the row runs it", name))
		}
	}
	return out
}

func TestMissingTestsOfCloudFaultsAreSeen(t *testing.T) {
	known := map[string][]string{"./a": {"TestC_F01_Held"}}
	for name, c := range map[string]struct {
		named, commands []string
		wrong           int
	}{
		"held":                        {[]string{"TestC_F01_Held"}, []string{"go test ./a -run 'TestC_F01_'"}, 0},
		"a test that is not there":    {[]string{"TestC_F01_Gone"}, []string{"go test ./a -run 'TestC_F01_'"}, 1},
		"a command that runs nothing": {[]string{"TestC_F01_Held"}, []string{"go test ./a -run 'TestC_F02_'"}, 2},
		"a command of another folder": {[]string{"TestC_F01_Held"}, []string{"go test ./b -run 'TestC_F01_'"}, 2},
		"no command":                  {[]string{"TestC_F01_Held"}, nil, 1},
		"not a command":               {nil, []string{"make test"}, 1},
	} {
		if got := heldBy(c.named, c.commands, known); len(got) != c.wrong {
			t.Errorf("%s: %q, want %d", name, got, c.wrong)
		}
	}
}

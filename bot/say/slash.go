package say

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// slashed says a line of the command line as one that can be typed here; empty
// for what only the command line has.
func slashed(try string) string {
	if strings.HasPrefix(try, "/") {
		return strings.TrimSpace(try)
	}
	rest, ok := strings.CutPrefix(try, "spillway ")
	if !ok {
		return ""
	}
	verb, args, _ := strings.Cut(rest, " ")
	switch verb {
	case "release":
		return strings.TrimSpace("/release " + strings.ReplaceAll(args, "--", ""))
	case "rent":
		return strings.TrimSpace("/rent " + args)
	case "rentals":
		if args == "" || args == "--all" {
			return "/rent ls"
		}
		return "/rent status " + args
	case "quote", "extend", "keep", "approve", "deny", "spend", "budget", "report", "prices", "clouds", "whoami", "freeze", "thaw", "cancel":
		return strings.TrimSpace("/rent " + verb + " " + lastLevel(args))
	}
	return ""
}

// lastLevel takes the path off a project: here people say its name.
func lastLevel(args string) string {
	if strings.Contains(args, " ") {
		return args
	}
	return args[strings.LastIndex(args, "/")+1:]
}

// sentence makes a text begin and end like one.
func sentence(s, stop string) string {
	if r, n := utf8.DecodeRuneInString(s); len(s) > 1 && s[1] != '-' { // ids stay as they are
		s = string(unicode.ToUpper(r)) + s[n:]
	}
	if last, _ := utf8.DecodeLastRuneInString(s); !strings.ContainsRune(".?!。？！", last) {
		s += stop
	}
	return s
}

// commands are lines of the command line within a sentence.
var commands = regexp.MustCompile(`\bspillway (approve|deny|rent job|rent|release|freeze|thaw|extend|keep|spend|quote)\b`)

// typed makes a sentence of the desk name what can be typed here.
func typed(s string) string {
	return commands.ReplaceAllStringFunc(s, func(line string) string { return slashed(line) })
}

// fill fills the {slots} of a text.
func fill(text string, pairs ...string) string {
	old := make([]string, len(pairs))
	for i := range pairs {
		if old[i] = pairs[i]; i%2 == 0 {
			old[i] = "{" + pairs[i] + "}"
		}
	}
	return strings.NewReplacer(old...).Replace(text)
}

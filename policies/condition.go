package policies

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// The bounds of one condition. A condition that would cost more at run time
// fails, and a demand it fails for does not burst.
const (
	maxExpression = 2000 // characters
	maxCost       = 20_000
	maxRecursion  = 24
)

// condition is a `when`, cut at its top-level && into atoms. Atoms about the
// cluster alone are decided once for all jobs.
type condition struct {
	atoms []atom
}

// atom is one operand with the facts it looks at.
type atom struct {
	program cel.Program
	uses    uses
	bit     int // of the cluster-only atoms, see engine
}

// always reports whether there is no condition.
func (c *condition) always() bool { return len(c.atoms) == 0 }

// compiler reads conditions in one environment.
type compiler struct {
	env *cel.Env
	err error
}

func newCompiler() *compiler {
	options := []cel.EnvOption{
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ParserRecursionLimit(maxRecursion),
		cel.DefaultUTCTimeZone(true),
	}
	for _, f := range facts {
		options = append(options, cel.Variable(f.name, f.kind))
	}
	env, err := cel.NewEnv(options...)
	return &compiler{env, err}
}

// read compiles a condition; every fault is placed at its own characters.
func (c *compiler) read(dst *condition) func(strict.Node) {
	return func(n strict.Node) {
		text, ok := n.Scalar()
		if !ok || strings.TrimSpace(text) == "" {
			n.Fault("want a condition")
			return
		}
		if c.err != nil {
			n.Fault("conditions cannot be compiled: " + c.err.Error())
			return
		}
		if utf8.RuneCountInString(text) > maxExpression {
			n.Fault(fmt.Sprintf("longer than %d characters", maxExpression))
			return
		}
		checked, issues := c.env.Compile(text)
		if issues.Err() != nil {
			explain(n, text, issues.Errors())
			return
		}
		if checked.OutputType() != cel.BoolType {
			n.Fault(fmt.Sprintf("gives %s, where true or false is wanted", cel.FormatCELType(checked.OutputType())))
			return
		}
		if err := c.cut(checked.NativeRep(), checked.NativeRep().Expr(), dst); err != nil {
			n.Fault("cannot be planned: " + err.Error())
		}
	}
}

// cut splits an expression at && and plans each operand. The order of operands
// does not matter in CEL.
func (c *compiler) cut(whole *celast.AST, e celast.Expr, dst *condition) error {
	if e.Kind() == celast.CallKind && e.AsCall().FunctionName() == operators.LogicalAnd {
		for _, arg := range e.AsCall().Args() {
			if err := c.cut(whole, arg, dst); err != nil {
				return err
			}
		}
		return nil
	}
	part := celast.NewCheckedAST(celast.NewAST(e, whole.SourceInfo()), whole.TypeMap(), whole.ReferenceMap())
	program, err := c.env.PlanProgram(part, cel.CostLimit(maxCost), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return err
	}
	a := atom{program: program}
	celast.PostOrderVisit(e, celast.NewExprVisitor(func(sub celast.Expr) {
		if ref, ok := whole.ReferenceMap()[sub.ID()]; ok && ref.Name != "" {
			a.uses = a.uses.with(ref.Name)
		}
	}))
	dst.atoms = append(dst.atoms, a)
	return nil
}

// holds evaluates an atom. An error, such as a division by zero or a cost over
// the limit, is returned: the caller must not take it for a no.
func (a *atom) holds(d *bridge.Demand, f *bridge.Facts) (bool, error) {
	v, _, err := a.program.Eval(&activation{d, f})
	if err != nil {
		return false, err
	}
	return v == types.True, nil
}

// explain turns the compiler's issues into faults, at most three a condition:
// the rest follows from them.
func explain(n strict.Node, text string, issues []*cel.Error) {
	for i, issue := range issues {
		if i == 3 {
			return
		}
		offset := offsetOf(text, issue.Location.Line(), issue.Location.Column())
		if strings.Contains(issue.Message, "undeclared reference") {
			offset = wordStart([]rune(text), offset)
		}
		n.FaultIn(offset, inWords(text, offset, issue.Message))
	}
}

// offsetOf counts the characters before a line (from 1) and column (from 0).
func offsetOf(text string, line, column int) int {
	lines := strings.SplitAfter(text, "\n")
	offset := 0
	for _, l := range lines[:min(max(line-1, 0), len(lines))] {
		offset += utf8.RuneCountInString(l)
	}
	return offset + max(column, 0)
}

// wordStart goes back to where the word around an offset begins: the compiler
// places an unknown name at its dot or bracket.
func wordStart(text []rune, offset int) int {
	at := min(offset, len(text))
	for at > 0 && (text[at-1] == '.' || text[at-1] == '_' || unicode.IsLetter(text[at-1]) || unicode.IsDigit(text[at-1])) {
		at--
	}
	return at
}

var (
	factWord = regexp.MustCompile(`^(job|cluster)\.([A-Za-z_]+)`)
	loneWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]*`)
)

// inWords says what a compiler's message means for somebody who has never seen
// a type checker.
func inWords(text string, offset int, message string) string {
	here := string([]rune(text)[min(offset, utf8.RuneCountInString(text)):])
	undeclared := strings.Contains(message, "undeclared reference")
	if m := factWord.FindStringSubmatch(here); undeclared && m != nil {
		known := factsOf(m[1])
		if near, ok := strict.Near(m[2], known); ok {
			return fmt.Sprintf("%s has no %s; did you mean %s.%s?", m[1], m[2], m[1], near)
		}
		return fmt.Sprintf("%s has no %s; it has %s", m[1], m[2], strings.Join(known, ", "))
	}
	switch {
	case undeclared:
		return fmt.Sprintf("unknown word %q: conditions speak of job.* and cluster.*, and text stands in quotes", loneWord.FindString(here))
	case strings.Contains(message, "found no matching overload"):
		return "these do not go together: " + signature(message)
	}
	first, _, _ := strings.Cut(message, "\n")
	first, _, _ = strings.Cut(strings.TrimPrefix(first, "Syntax error: "), " expecting ")
	if strings.Contains(first, "'<EOF>'") {
		return "not a condition: it ends too early"
	}
	return "not a condition: " + first
}

var overload = regexp.MustCompile(`'([^']*)' applied to '(\(.*\)|.*)'`)

// signature prints "_>_ applied to (duration, string)" as "duration > string".
func signature(message string) string {
	m := overload.FindStringSubmatch(message)
	if m == nil {
		return message
	}
	name, args := m[1], strings.Trim(m[2], "()")
	for _, kind := range [][2]string{{"google.protobuf.Duration", "duration"}, {"google.protobuf.Timestamp", "timestamp"}} {
		args = strings.ReplaceAll(args, kind[0], kind[1])
	}
	if parts := strings.Split(args, ", "); strings.HasPrefix(name, "_") && strings.HasSuffix(name, "_") && len(parts) == 2 {
		return parts[0] + " " + strings.Trim(name, "_") + " " + parts[1]
	}
	return name + "(" + args + ")"
}

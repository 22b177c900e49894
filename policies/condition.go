package policies

import (
	"errors"
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
	maxLeaves     = 64 * groups // different ones in one file
)

// condition is a `when`: its &&, || and ! are taken apart, down to leaves that
// look at one fact each where the author wrote them so. A leaf is evaluated
// once for each value of its fact instead of once for each job.
type condition struct {
	op   operator
	leaf int // index into the file's leaves
	args []condition
}

type operator int

const (
	always operator = iota // there is no condition
	isLeaf
	and
	or
	not
)

// leaf is an expression that is evaluated as a whole.
type leaf struct {
	program cel.Program
	uses    uses
}

// compiler reads the conditions of one file. Equal leaves are one leaf.
type compiler struct {
	env    *cel.Env
	err    error
	leaves []leaf
	byText map[string]int
}

func newCompiler() *compiler {
	options := []cel.EnvOption{
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ParserRecursionLimit(maxRecursion),
		cel.DefaultUTCTimeZone(true),
		cel.EnableMacroCallTracking(), // so that leaves with macros have a text
	}
	for _, f := range facts {
		options = append(options, cel.Variable(f.name, f.kind))
	}
	env, err := cel.NewEnv(options...)
	return &compiler{env: env, err: err, byText: map[string]int{}}
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
		if c.full(n) {
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
		cut, err := c.cut(checked.NativeRep(), checked.NativeRep().Expr())
		if err != nil {
			n.Fault("cannot be planned: " + err.Error())
			return
		}
		if !c.full(n) {
			*dst = cut
		}
	}
}

// full reports, as a fault of the condition being read, that the file has more
// of them than fit; no further one is compiled.
func (c *compiler) full(n strict.Node) bool {
	if len(c.leaves) <= maxLeaves {
		return false
	}
	n.Fault(fmt.Sprintf("the file has more than %d different conditions", maxLeaves))
	return true
}

// operatorOf are what conditions are taken apart at.
var operatorOf = map[string]operator{
	operators.LogicalAnd: and, operators.LogicalOr: or, operators.LogicalNot: not,
}

// cut takes an expression apart and plans its leaves.
func (c *compiler) cut(whole *celast.AST, e celast.Expr) (condition, error) {
	if e.Kind() == celast.CallKind {
		if op, ok := operatorOf[e.AsCall().FunctionName()]; ok {
			out := condition{op: op}
			for _, arg := range e.AsCall().Args() {
				part, err := c.cut(whole, arg)
				if err != nil {
					return out, err
				}
				out.args = append(out.args, part)
			}
			return out, nil
		}
	}
	text, err := cel.ExprToString(e, whole.SourceInfo())
	if err != nil {
		return condition{}, err
	}
	if i, ok := c.byText[text]; ok {
		return condition{op: isLeaf, leaf: i}, nil
	}
	part := celast.NewCheckedAST(celast.NewAST(e, whole.SourceInfo()), whole.TypeMap(), whole.ReferenceMap())
	program, err := c.env.PlanProgram(part, cel.CostLimit(maxCost), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return condition{}, err
	}
	l := leaf{program: program}
	celast.PostOrderVisit(e, celast.NewExprVisitor(func(sub celast.Expr) {
		if ref, ok := whole.ReferenceMap()[sub.ID()]; ok && ref.Name != "" {
			l.uses |= useOf(ref.Name)
		}
	}))
	c.byText[text] = len(c.leaves)
	c.leaves = append(c.leaves, l)
	return condition{op: isLeaf, leaf: len(c.leaves) - 1}, nil
}

// errNotBool is a leaf of no certain type that turned out to be no condition.
var errNotBool = errors.New("neither true nor false")

// holds evaluates a leaf. An error, such as a division by zero or a cost over
// the limit, must not be taken for a no.
func (l *leaf) holds(d *bridge.Demand, f *bridge.Facts) (bool, error) {
	v, _, err := l.program.Eval(&activation{d, f})
	if err != nil {
		return false, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, errNotBool
	}
	return bool(b), nil
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

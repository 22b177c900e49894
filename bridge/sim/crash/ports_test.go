package crash_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bot"
	"spillway.sh/spillway/bridge/adopt"
	"spillway.sh/spillway/bridge/calendar"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/enrol"
	"spillway.sh/spillway/bridge/sim/crash"
	"spillway.sh/spillway/bridge/usage"
)

// decorated are the ports that have crash points. Each is made twice, one round
// the other: the inner one stands for the port itself, and says what reached it.
var decorated = map[string]struct {
	typ  reflect.Type
	make func(outer, inner crash.Around) any
	port string
}{
	"bridge/engine.Scheduler": {reflect.TypeFor[engine.Scheduler](), func(o, i crash.Around) any {
		return crash.Scheduler("c", crash.Scheduler("c", nil, i), o)
	}, "Scheduler"},
	"bridge/engine.Cloud": {reflect.TypeFor[engine.Cloud](), func(o, i crash.Around) any {
		return crash.Cloud(crash.Cloud(named{}, i), o)
	}, "Cloud"},
	"bridge/engine.Extender": {reflect.TypeFor[engine.Extender](), func(o, i crash.Around) any {
		return crash.Cloud(crash.Cloud(struct {
			named
			engine.Extender
		}{}, i), o)
	}, "Cloud"},
	"bridge/engine.Teller": {reflect.TypeFor[engine.Teller](), func(o, i crash.Around) any {
		return crash.Cloud(crash.Cloud(struct {
			named
			engine.Teller
		}{}, i), o)
	}, "Cloud"},
	"bridge/engine.Store": {reflect.TypeFor[engine.Store](), func(o, i crash.Around) any { return crash.Store(crash.Store(nil, i), o) }, "Store"},
	"bridge/desk.Writer":  {reflect.TypeFor[desk.Writer](), func(o, i crash.Around) any { return crash.Writer(crash.Writer(nil, i), o) }, "Writer"},
	"bridge/desk.BillWriter": {reflect.TypeFor[desk.BillWriter](), func(o, i crash.Around) any {
		return crash.Writer(crash.Writer(struct {
			desk.Writer
			desk.BillWriter
		}{}, i), o)
	}, "Bills"},
	"bridge/desk.Loop":      {reflect.TypeFor[desk.Loop](), func(o, i crash.Around) any { return crash.Loop(crash.Loop(nil, i), o) }, "Loop"},
	"bridge/desk.Finder":    {reflect.TypeFor[desk.Finder](), func(o, i crash.Around) any { return crash.Finder(crash.Finder(nil, i), o) }, "Finder"},
	"bridge/calendar.Store": {reflect.TypeFor[calendar.Store](), func(o, i crash.Around) any { return crash.Calendar(crash.Calendar(nil, i), o) }, "Calendar"},
	"bridge/usage.Store":    {reflect.TypeFor[usage.Store](), func(o, i crash.Around) any { return crash.Usage(crash.Usage(nil, i), o) }, "Usage"},
	"bridge/enrol.Rentals":  {reflect.TypeFor[enrol.Rentals](), func(o, i crash.Around) any { return crash.Rentals(crash.Rentals(nil, i), o) }, "Rentals"},
	"bot.Box":               {reflect.TypeFor[bot.Box](), func(o, i crash.Around) any { return crash.Box(crash.Box(nil, i), o) }, "Box"},
	"bot.Slack":             {reflect.TypeFor[bot.Slack](), func(o, i crash.Around) any { return crash.Slack(crash.Slack(nil, i), o) }, "Slack"},
}

// named is a cloud of which nothing but the name may be asked.
type named struct{ engine.Cloud }

func (named) Name() string { return "n" }

// parts are interfaces whose every method is one of a decorated port, or of a
// name for the same port in another package.
var parts = map[string]struct{ part, whole reflect.Type }{
	"bridge/engine.Observer":    {reflect.TypeFor[engine.Observer](), reflect.TypeFor[engine.Scheduler]()},
	"bridge/engine.Joiner":      {reflect.TypeFor[engine.Joiner](), reflect.TypeFor[engine.Scheduler]()},
	"bridge/engine.Admitter":    {reflect.TypeFor[engine.Admitter](), reflect.TypeFor[engine.Scheduler]()},
	"bridge/engine.Router":      {reflect.TypeFor[engine.Router](), reflect.TypeFor[engine.Scheduler]()},
	"bridge/engine.Preempter":   {reflect.TypeFor[engine.Preempter](), reflect.TypeFor[engine.Scheduler]()},
	"bridge/engine.Reviver":     {reflect.TypeFor[engine.Reviver](), reflect.TypeFor[engine.Scheduler]()},
	"bridge/engine.Commenter":   {reflect.TypeFor[engine.Commenter](), reflect.TypeFor[engine.Scheduler]()},
	"bridge/engine.RentalStore": {reflect.TypeFor[engine.RentalStore](), reflect.TypeFor[engine.Store]()},
	"bridge/engine.MoneyStore":  {reflect.TypeFor[engine.MoneyStore](), reflect.TypeFor[engine.Store]()},
	"bridge/engine.StateStore":  {reflect.TypeFor[engine.StateStore](), reflect.TypeFor[engine.Store]()},
	"bridge/engine.Finder":      {reflect.TypeFor[engine.Finder](), reflect.TypeFor[desk.Finder]()},
	"bridge/enrol.Cluster":      {reflect.TypeFor[enrol.Cluster](), reflect.TypeFor[engine.Scheduler]()},
	"bridge/adopt.Cloud":        {reflect.TypeFor[adopt.Cloud](), reflect.TypeFor[engine.Cloud]()},
	"bridge/adopt.Scheduler":    {reflect.TypeFor[adopt.Scheduler](), reflect.TypeFor[engine.Scheduler]()},
	"bridge/desk.Viewer":        {reflect.TypeFor[desk.Viewer](), reflect.TypeFor[desk.Loop]()},
	"bot.Inbox":                 {reflect.TypeFor[bot.Inbox](), reflect.TypeFor[bot.Box]()},
	"bot.Outbox":                {reflect.TypeFor[bot.Outbox](), reflect.TypeFor[bot.Box]()},
	"bot.Feed":                  {reflect.TypeFor[bot.Feed](), reflect.TypeFor[bot.Box]()},
}

// none are the interfaces that need no crash points, and why.
var none = map[string]string{
	"bridge.Policy":                       "pure: it judges what it is given",
	"bridge.SteadyPolicy":                 "pure: it judges what it is given",
	"bridge/desk.Rules":                   "pure: policy and the configuration",
	"bridge/desk.Reader":                  "answers people and changes nothing; what a daemon does next never rests on it",
	"bridge/desk.BillReader":              "answers people and changes nothing; a correction is written through desk.BillWriter",
	"bridge/desk.WeekReader":              "answers people and changes nothing",
	"bridge/desk.Reporter":                "the memory of the process: what machines said last",
	"bridge/usage.Gauge":                  "reads a figure that is lost when it is not there, and changes nothing",
	"bridge/store.asker":                  "the inside of one transaction; package store kills itself at every row of one",
	"bot.Teller":                          "package bot/say: pure in what it returns, reads through the desk",
	"bot/say.Desk":                        "the desk itself, whose ports are decorated",
	"bot/say.Money":                       "the desk itself, whose ports are decorated",
	"bot/say.Machines":                    "the desk itself, whose ports are decorated",
	"bot/say.Questions":                   "the desk itself, whose ports are decorated",
	"bot/talk.Conversation":               "package bot/say: what it changes goes through the desk",
	"bridge/cloud/contract.Inner":         "engine.Cloud in other words, below the decorator",
	"bridge/cloud/contract.extender":      "engine.Extender in other words, below the decorator",
	"bridge/cloud/contract.teller":        "engine.Teller in other words, below the decorator",
	"bridge/cloud/cloudtest.Cloud":        "engine.Cloud in other words, for tests of adapters",
	"bridge/cloud/local/server.Host":      "the cloud's side of the local cloud: another process",
	"bridge/node.Bridge":                  "the agent of a machine: another process",
	"bridge/node.Cloud":                   "the agent of a machine: another process",
	"bridge/node.Member":                  "the agent of a machine: another process",
	"bridge/cmd/spillway/drill.Desk":      "a command of a person, which asks the daemon's desk",
	"bridge/cmd/spillway/drill.Scheduler": "a command of a person; what it submits has a name of its own and a time limit",
	"bridge/engine.Examiner":              "a command of a person asks it; it rents nothing",
	"bridge/cmd/spillway.permitted":       "a text that a driver has",
	"bridge/cloud/plugin/serve.Cloud":     "the plugin's side: another process, killed by its own tests",
	"bridge/cloud/plugin/host.Runner":     "the plugin's side: another process, killed by its own tests",
	"bridge/cloud/local/server/ec2.World": "the cloud's side of the local cloud: another process",
	"bridge/cloud/local/server/ec2.Work":  "the cloud's side of the local cloud: another process",
	"bridge/cloud/cloudtest/killed.Cloud": "engine.Cloud in other words, for tests of adapters",
	"bridge/cloud/openstack/novatest.TB":  "what testing.TB has",
	"bridge/sim/replay.Strategy":          "a calculation on recorded prices",
	"bridge/cloud/cloudtest.T":            "what testing.T has",
	"slurm/slurmtest.TB":                  "what testing.TB has",
}

// interfaces finds every interface that is declared outside of tests.
func interfaces(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	var out []string
	for _, top := range []string{"bridge", "bot", "slurm", "policies"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(p string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() && e.Name() != "testdata" {
				return err
			}
			if e.IsDir() {
				return fs.SkipDir
			}
			if filepath.Ext(p) != ".go" || strings.HasSuffix(p, "_test.go") {
				return nil
			}
			f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			folder, err := filepath.Rel(root, filepath.Dir(p))
			out = append(out, declared(f, filepath.ToSlash(folder))...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// declared are a file's interfaces that have methods; constraints of type
// parameters have none.
func declared(f *ast.File, folder string) []string {
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		i, ok := spec.Type.(*ast.InterfaceType)
		if ok && slices.ContainsFunc(i.Methods.List, func(m *ast.Field) bool { return !constraint(m.Type) }) {
			out = append(out, folder+"."+spec.Name.Name)
		}
		return true
	})
	return out
}

func constraint(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.UnaryExpr:
		return true
	case *ast.BinaryExpr:
		return constraint(e.X)
	}
	return false
}

func TestEveryInterfaceIsKnown(t *testing.T) {
	found := interfaces(t)
	known := map[string]bool{}
	for name := range decorated {
		known[name] = true
	}
	for name := range parts {
		known[name] = true
	}
	for name := range none {
		known[name] = true
	}
	for _, name := range found {
		if !known[name] {
			t.Errorf("interface %s has no crash points: decorate it in this package and in Ports, or say in this test why it needs none", name)
		}
		delete(known, name)
	}
	for name := range known {
		t.Errorf("interface %s is gone: this test still names it", name)
	}
	for name, p := range parts {
		if !p.whole.Implements(p.part) {
			t.Errorf("%s has methods that are not of %s", name, p.whole)
		}
	}
}

// A new interface, in a form that a port might take, is found.
func TestANewInterfaceIsFound(t *testing.T) {
	src := "package x\ntype (\n\tPort interface{ Do() error }\n\tNumber interface{ ~int | ~string }\n\tBoth interface{ Port; Other }\n)\nfunc f() { type inner interface{ Go() } }\n"
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x.Port", "x.Both", "x.inner"}, declared(f, "x")); diff != "" {
		t.Errorf("interfaces (-want +got):\n%s", diff)
	}
}

// plain are methods that say what a port was made with.
var plain = []string{"bridge/engine.Cloud.Name", "bridge/engine.Store.StoreID", "bridge/engine.Store.Epoch"}

// Every method of every port passes both points, with its own name, what it was
// given, and the same method of the port in between; and gives back the error
// that it is given.
func TestEveryMethodStrikesTwice(t *testing.T) {
	points := 0
	for name, d := range decorated {
		for m := range d.typ.Methods() {
			full := name + "." + m.Name
			if slices.Contains(plain, full) {
				continue
			}
			points += 2
			t.Run(full, func(t *testing.T) { strike(t, d.make, d.typ, d.port, m.Name) })
		}
	}
	t.Logf("%d points", points)
	if points < 66 {
		t.Errorf("%d points; the plan has 66", points)
	}
}

func strike(t *testing.T, construct func(o, i crash.Around) any, typ reflect.Type, port, method string) {
	errDown := errors.New("down")
	var seen []string
	var given []any
	outer := func(ctx context.Context, c *crash.Call, do func(context.Context) error) error {
		seen, given = append(seen, "before "+c.Port+"."+c.Method), c.Args
		err := do(ctx)
		seen = append(seen, fmt.Sprint("after, ", err))
		return err
	}
	inner := func(_ context.Context, c *crash.Call, _ func(context.Context) error) error {
		seen = append(seen, "effect "+c.Port+"."+c.Method)
		if diff := cmp.Diff(fmt.Sprint(given), fmt.Sprint(c.Args)); diff != "" {
			t.Errorf("the port was given something else (-asked +got):\n%s", diff)
		}
		return errDown
	}
	f := reflect.ValueOf(construct(outer, inner)).MethodByName(method)
	if !f.IsValid() {
		t.Fatalf("%s has no %s", port, method)
	}
	sig, _ := typ.MethodByName(method)
	args := arguments(sig.Type)
	var out []reflect.Value
	if f.Type().IsVariadic() {
		out = f.CallSlice(args)
	} else {
		out = f.Call(args)
	}
	last, err := len(out)-1, error(nil)
	if last >= 0 {
		err, _ = reflect.TypeAssert[error](out[last])
	}
	end := "after, down"
	if last < 0 || sig.Type.Out(last) != reflect.TypeFor[error]() {
		end, err = "after, <nil>", errDown // a method that cannot fail
	}
	name := port + "." + method
	if diff := cmp.Diff([]string{"before " + name, "effect " + name, end}, seen); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
	if !errors.Is(err, errDown) {
		t.Errorf("error %v, want that of the port", err)
	}
	want := sig.Type.NumIn()
	if want > 0 && sig.Type.In(0) == reflect.TypeFor[context.Context]() {
		want--
	}
	if len(given) != want {
		t.Errorf("the hook got %d arguments, want %d", len(given), want)
	}
}

// arguments are zero values, but for texts, which are told apart.
func arguments(f reflect.Type) []reflect.Value {
	var out []reflect.Value
	for i := range f.NumIn() {
		v := reflect.New(f.In(i)).Elem()
		switch {
		case f.In(i) == reflect.TypeFor[context.Context]():
			v = reflect.ValueOf(context.Background())
		case v.Kind() == reflect.String:
			v.SetString(fmt.Sprint("text ", i))
		}
		out = append(out, v)
	}
	return out
}

// A cloud that cannot extend or tell must not look as if it could.
func TestACloudCanDoWhatItCould(t *testing.T) {
	a := func(context.Context, *crash.Call, func(context.Context) error) error { return nil }
	both := struct {
		named
		engine.Extender
		engine.Teller
	}{}
	for name, tt := range map[string]struct {
		cloud         engine.Cloud
		extend, teach bool
	}{
		"plain": {cloud: named{}},
		"extender": {cloud: struct {
			named
			engine.Extender
		}{}, extend: true},
		"teller": {cloud: struct {
			named
			engine.Teller
		}{}, teach: true},
		"both": {cloud: both, extend: true, teach: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := crash.Cloud(tt.cloud, a)
			_, extends := c.(engine.Extender)
			_, tells := c.(engine.Teller)
			if extends != tt.extend || tells != tt.teach || c.Name() != "n" {
				t.Errorf("extends %v, tells %v, name %q", extends, tells, c.Name())
			}
		})
	}
	if _, ok := crash.Writer(struct{ desk.Writer }{}, a).(desk.BillWriter); ok {
		t.Error("a writer without bills has them")
	}
}

// bare has every port and none of this package's hooks.
var bare = crash.Ports{
	Clusters: map[string]engine.Scheduler{"c": struct{ engine.Scheduler }{}}, Clouds: []engine.Cloud{named{}},
	Store: struct{ engine.Store }{}, Writer: struct{ desk.Writer }{}, Loop: struct{ desk.Loop }{}, Finder: struct{ desk.Finder }{},
	Calendar: struct{ calendar.Store }{}, Usage: struct{ usage.Store }{}, Rentals: struct{ enrol.Rentals }{},
	Box: struct{ bot.Box }{}, Slack: struct{ bot.Slack }{},
}

func TestThroughForgetsNoPort(t *testing.T) {
	a := func(context.Context, *crash.Call, func(context.Context) error) error { return nil }
	was, is := reflect.ValueOf(bare), reflect.ValueOf(crash.Through(bare, a))
	for i := range was.NumField() {
		before, after := one(was.Field(i)), one(is.Field(i))
		if !before.IsValid() || before.Type() == after.Type() {
			t.Errorf("%s is not in this test, or was not decorated", was.Type().Field(i).Name)
		}
	}
	if nothing := crash.Through(crash.Ports{}, a); !reflect.ValueOf(nothing).IsZero() {
		t.Errorf("ports that are not there became %+v", nothing)
	}
}

// one is the port in a field, or the first of several.
func one(v reflect.Value) reflect.Value {
	switch {
	case v.Kind() == reflect.Map && v.Len() > 0:
		return v.MapIndex(v.MapKeys()[0]).Elem()
	case v.Kind() == reflect.Slice && v.Len() > 0:
		return v.Index(0).Elem()
	case v.Kind() == reflect.Interface:
		return v.Elem()
	}
	return reflect.Value{}
}

package crash

import (
	"context"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

// Writer puts a hook round every write of the desk. What it returns is a
// desk.BillWriter when the writer is one.
func Writer(in desk.Writer, a Around) desk.Writer {
	w := writer{port{"Writer", "", a}, in}
	if b, ok := in.(desk.BillWriter); ok {
		return struct {
			writer
			bills
		}{w, bills{port{"Bills", "", a}, b}}
	}
	return w
}

type writer struct {
	port
	in desk.Writer
}

type bills struct {
	port
	in desk.BillWriter
}

// Loop puts a hook round what the desk asks of the engine.
func Loop(in desk.Loop, a Around) desk.Loop { return loop{port{"Loop", "", a}, in} }

type loop struct {
	port
	in desk.Loop
}

// Finder puts a hook round looks for checkpoints.
func Finder(in desk.Finder, a Around) desk.Finder { return finder{port{"Finder", "", a}, in} }

type finder struct {
	port
	in desk.Finder
}

func (w writer) NextID(ctx context.Context) (bridge.RentalID, error) {
	return ask(ctx, &w.port, "NextID", func(ctx context.Context) (bridge.RentalID, error) { return w.in.NextID(ctx) })
}

func (w writer) Propose(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	return ask(ctx, &w.port, "Propose", func(ctx context.Context) (bridge.Rental, error) { return w.in.Propose(ctx, r, news...) }, r, news)
}

func (w writer) Reserve(ctx context.Context, r bridge.Rental, budgets []bridge.Budget, news ...bridge.News) (bridge.Rental, error) {
	return ask(ctx, &w.port, "Reserve", func(ctx context.Context) (bridge.Rental, error) { return w.in.Reserve(ctx, r, budgets, news...) }, r, budgets, news)
}

func (w writer) Approve(ctx context.Context, d bridge.Decision, r bridge.Rental, budgets []bridge.Budget, news ...bridge.News) (bridge.Rental, error) {
	return ask(ctx, &w.port, "Approve", func(ctx context.Context) (bridge.Rental, error) { return w.in.Approve(ctx, d, r, budgets, news...) }, d, r, budgets, news)
}

func (w writer) Extend(ctx context.Context, r bridge.Rental, more bridge.Money, budgets []bridge.Budget, news ...bridge.News) (bridge.Rental, error) {
	return ask(ctx, &w.port, "Extend", func(ctx context.Context) (bridge.Rental, error) { return w.in.Extend(ctx, r, more, budgets, news...) }, r, more, budgets, news)
}

func (w writer) ApproveExtension(ctx context.Context, d bridge.Decision, q, r bridge.Rental, budgets []bridge.Budget, news ...bridge.News) (question, extended bridge.Rental, err error) {
	v, err := ask(ctx, &w.port, "ApproveExtension", func(ctx context.Context) ([2]bridge.Rental, error) {
		question, extended, err := w.in.ApproveExtension(ctx, d, q, r, budgets, news...)
		return [2]bridge.Rental{question, extended}, err
	}, d, q, r, budgets, news)
	return v[0], v[1], err
}

func (w writer) Save(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error) {
	return ask(ctx, &w.port, "Save", func(ctx context.Context) (bridge.Rental, error) { return w.in.Save(ctx, r, news...) }, r, news)
}

func (b bills) SaveBill(ctx context.Context, lines []bridge.BillLine) (added, known int, err error) {
	v, err := ask(ctx, &b.port, "SaveBill", func(ctx context.Context) ([2]int, error) {
		added, known, err := b.in.SaveBill(ctx, lines)
		return [2]int{added, known}, err
	}, lines)
	return v[0], v[1], err
}

func (b bills) Correct(ctx context.Context, cs []bridge.Correction, news ...bridge.News) (int, error) {
	return ask(ctx, &b.port, "Correct", func(ctx context.Context) (int, error) { return b.in.Correct(ctx, cs, news...) }, cs, news)
}

func (l loop) Remember(ctx context.Context, change func(*bridge.Marks), news ...bridge.News) error {
	return tell(ctx, &l.port, "Remember", func(ctx context.Context) error { return l.in.Remember(ctx, change, news...) }, change, news)
}

// View shows the latest look at the world.
func (l loop) View() (s bridge.Snapshot, p bridge.Plan, ok bool) {
	_ = tell(context.Background(), &l.port, "View", func(context.Context) error {
		s, p, ok = l.in.View()
		return nil
	})
	return s, p, ok
}

// Wake makes the next look start now.
func (l loop) Wake() {
	_ = tell(context.Background(), &l.port, "Wake", func(context.Context) error {
		l.in.Wake()
		return nil
	})
}

func (f finder) Find(ctx context.Context, rule *bridge.CheckpointRule, job bridge.CheckpointJob) (bridge.CheckpointLook, error) {
	return ask(ctx, &f.port, "Find", func(ctx context.Context) (bridge.CheckpointLook, error) { return f.in.Find(ctx, rule, job) }, rule, job)
}

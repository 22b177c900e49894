package crash

import (
	"context"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/engine"
)

// Scheduler puts a hook round every call to a cluster.
func Scheduler(name string, in engine.Scheduler, a Around) engine.Scheduler {
	return scheduler{port{"Scheduler", name, a}, in}
}

type scheduler struct {
	port
	in engine.Scheduler
}

func (s scheduler) Observe(ctx context.Context) (bridge.Queue, error) {
	return ask(ctx, &s.port, "Observe", func(ctx context.Context) (bridge.Queue, error) { return s.in.Observe(ctx) })
}

func (s scheduler) UserData(ctx context.Context, r *bridge.Rental, b bridge.Boot) (string, error) {
	return ask(ctx, &s.port, "UserData", func(ctx context.Context) (string, error) { return s.in.UserData(ctx, r, b) }, r, b)
}

func (s scheduler) Enrolment(ctx context.Context, r *bridge.Rental, m *bridge.Machine) (map[string]string, error) {
	return ask(ctx, &s.port, "Enrolment", func(ctx context.Context) (map[string]string, error) { return s.in.Enrolment(ctx, r, m) }, r, m)
}

func (s scheduler) Admit(ctx context.Context, r *bridge.Rental, nodes []string) error {
	return tell(ctx, &s.port, "Admit", func(ctx context.Context) error { return s.in.Admit(ctx, r, nodes) }, r, nodes)
}

func (s scheduler) Dismiss(ctx context.Context, r *bridge.Rental, nodes []string) error {
	return tell(ctx, &s.port, "Dismiss", func(ctx context.Context) error { return s.in.Dismiss(ctx, r, nodes) }, r, nodes)
}

func (s scheduler) Route(ctx context.Context, r *bridge.Rental, jobs ...bridge.JobID) error {
	return tell(ctx, &s.port, "Route", func(ctx context.Context) error { return s.in.Route(ctx, r, jobs...) }, r, jobs)
}

func (s scheduler) Unroute(ctx context.Context, r *bridge.Rental, job bridge.JobID) error {
	return tell(ctx, &s.port, "Unroute", func(ctx context.Context) error { return s.in.Unroute(ctx, r, job) }, r, job)
}

func (s scheduler) Drain(ctx context.Context, nodes []string, why string) error {
	return tell(ctx, &s.port, "Drain", func(ctx context.Context) error { return s.in.Drain(ctx, nodes, why) }, nodes, why)
}

func (s scheduler) Signal(ctx context.Context, job bridge.JobID, signal, to string) error {
	return tell(ctx, &s.port, "Signal", func(ctx context.Context) error { return s.in.Signal(ctx, job, signal, to) }, job, signal, to)
}

func (s scheduler) Requeue(ctx context.Context, job bridge.JobID) error {
	return tell(ctx, &s.port, "Requeue", func(ctx context.Context) error { return s.in.Requeue(ctx, job) }, job)
}

func (s scheduler) Down(ctx context.Context, nodes []string, why string) error {
	return tell(ctx, &s.port, "Down", func(ctx context.Context) error { return s.in.Down(ctx, nodes, why) }, nodes, why)
}

func (s scheduler) Expedite(ctx context.Context, job bridge.JobID) (bool, error) {
	return ask(ctx, &s.port, "Expedite", func(ctx context.Context) (bool, error) { return s.in.Expedite(ctx, job) }, job)
}

func (s scheduler) Undrain(ctx context.Context, nodes []string, why string) error {
	return tell(ctx, &s.port, "Undrain", func(ctx context.Context) error { return s.in.Undrain(ctx, nodes, why) }, nodes, why)
}

func (s scheduler) Nudge(ctx context.Context, job bridge.JobID) error {
	return tell(ctx, &s.port, "Nudge", func(ctx context.Context) error { return s.in.Nudge(ctx, job) }, job)
}

func (s scheduler) Ending(ctx context.Context, job bridge.JobID) (string, error) {
	return ask(ctx, &s.port, "Ending", func(ctx context.Context) (string, error) { return s.in.Ending(ctx, job) }, job)
}

func (s scheduler) Comment(ctx context.Context, job bridge.JobID, text string) error {
	return tell(ctx, &s.port, "Comment", func(ctx context.Context) error { return s.in.Comment(ctx, job, text) }, job, text)
}

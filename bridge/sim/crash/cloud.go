package crash

import (
	"context"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/engine"
)

// Cloud puts a hook round every call to a cloud. What it returns is an
// engine.Extender and an engine.Teller when the cloud is one.
func Cloud(in engine.Cloud, a Around) engine.Cloud {
	p := port{"Cloud", in.Name(), a}
	c := cloud{p, in}
	later, extends := in.(engine.Extender)
	changes, tells := in.(engine.Teller)
	switch {
	case extends && tells:
		return struct {
			cloud
			extender
			teller
		}{c, extender{p, later}, teller{p, changes}}
	case extends:
		return struct {
			cloud
			extender
		}{c, extender{p, later}}
	case tells:
		return struct {
			cloud
			teller
		}{c, teller{p, changes}}
	}
	return c
}

type cloud struct {
	port
	in engine.Cloud
}

type extender struct {
	port
	in engine.Extender
}

type teller struct {
	port
	in engine.Teller
}

// Name is what the cloud was made with: no call.
func (c cloud) Name() string { return c.in.Name() }

func (c cloud) Offers(ctx context.Context) ([]bridge.Offer, error) {
	return ask(ctx, &c.port, "Offers", func(ctx context.Context) ([]bridge.Offer, error) { return c.in.Offers(ctx) })
}

func (c cloud) Create(ctx context.Context, l bridge.Launch) (bridge.Handle, error) {
	return ask(ctx, &c.port, "Create", func(ctx context.Context) (bridge.Handle, error) { return c.in.Create(ctx, l) }, l)
}

func (c cloud) Observe(ctx context.Context, l bridge.Launch, h bridge.Handle) ([]bridge.Instance, error) {
	return ask(ctx, &c.port, "Observe", func(ctx context.Context) ([]bridge.Instance, error) { return c.in.Observe(ctx, l, h) }, l, h)
}

func (c cloud) List(ctx context.Context, storeID, cluster string) (bridge.Listing, error) {
	return ask(ctx, &c.port, "List", func(ctx context.Context) (bridge.Listing, error) { return c.in.List(ctx, storeID, cluster) }, storeID, cluster)
}

func (c cloud) Terminate(ctx context.Context, ids []string) error {
	return tell(ctx, &c.port, "Terminate", func(ctx context.Context) error { return c.in.Terminate(ctx, ids) }, ids)
}

func (e extender) Extend(ctx context.Context, ids []string, expires time.Time) error {
	return tell(ctx, &e.port, "Extend", func(ctx context.Context) error { return e.in.Extend(ctx, ids, expires) }, ids, expires)
}

func (t teller) Changed(ctx context.Context, cursor string) (next string, err error) {
	return ask(ctx, &t.port, "Changed", func(ctx context.Context) (string, error) { return t.in.Changed(ctx, cursor) }, cursor)
}

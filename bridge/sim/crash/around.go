package crash

import "context"

// Call is one call through a port.
type Call struct {
	// Port and Method name it: Cloud, Create. Of is the name of the cloud or the
	// cluster; empty where there is one of a kind.
	Port, Of, Method string
	// Args are what it was called with, the context left out.
	Args []any
	// Out is what it returned besides the error, nil until then; several values are
	// a [2]T or a struct.
	Out any
}

// Around is put round every call. do makes the call, with all its effects, and
// returns its error; the caller gets what Around returns, in place of that. Of
// methods that return no error what Around returns is not heard. It is called by
// several goroutines.
type Around func(ctx context.Context, c *Call, do func(context.Context) error) error

// port is what decorators have in common: its name, and what is put round calls.
type port struct {
	name, of string
	around   Around
}

// ask makes a call that returns a value.
func ask[T any](ctx context.Context, p *port, method string, do func(context.Context) (T, error), args ...any) (T, error) {
	var v T
	c := &Call{Port: p.name, Of: p.of, Method: method, Args: args}
	err := p.around(ctx, c, func(ctx context.Context) error {
		var err error
		v, err = do(ctx)
		c.Out = v
		return err
	})
	return v, err
}

// tell makes a call that returns an error only.
func tell(ctx context.Context, p *port, method string, do func(context.Context) error, args ...any) error {
	return p.around(ctx, &Call{Port: p.name, Of: p.of, Method: method, Args: args}, do)
}

package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// Create sends one create call, once. The handle is the operation's id.
func (c *Cloud) Create(ctx context.Context, l bridge.Launch) (bridge.Handle, error) {
	const op = "create"
	if l.Pool.Cloud != c.config.Name {
		return "", &bridge.CloudError{
			Kind: bridge.CloudInvalid, Op: op, Cloud: c.config.Name, Message: "pool " + l.Pool.String() + " is another cloud's",
		}
	}
	q := wire.Create{
		Token: l.Token, Pool: poolOut(l.Pool), Count: l.Count,
		MaxRate: wire.Rate{Micro: l.MaxRate.Micro, Currency: string(l.MaxRate.Currency)},
		Tags:    l.Tags, UserData: l.UserData, Expires: l.Expires.UTC(),
	}
	var made wire.Created
	if err := c.do(ctx, ask{op: op, limit: c.create, method: http.MethodPost, path: "/instances", body: q}, &made); err != nil {
		return "", err
	}
	switch {
	case made.Operation != nil && made.Operation.ID != "":
		return bridge.Handle(made.Operation.ID), nil
	case len(made.Errors) > 0:
		return "", c.fault(op, made.Errors[0])
	}
	return "", &bridge.CloudError{
		Kind: bridge.CloudUnknown, Op: op, Cloud: c.config.Name, Err: errors.New("the answer has neither operation nor errors"),
	}
}

// Observe returns the machines of a create. Without a handle, as after a
// create without an answer, it looks for them by token and returns
// bridge.CloudNotFound if none is listed (yet). Machines the cloud has
// promised but does not show yet are returned with their id alone, as are those
// it has forgotten, gone. The order is the operation's and stays. When all
// machines ended for lack of capacity that is the error.
//
// Only the create's own outcome may come back as a refused kind: a failure of
// the look itself, denied for instance, says nothing of the machines.
func (c *Cloud) Observe(ctx context.Context, l bridge.Launch, h bridge.Handle) ([]bridge.Instance, error) {
	const op = "observe"
	if h == "" {
		found, _, err := c.pages(ctx, op, url.Values{"token": {l.Token}})
		err = blind(err)
		if err == nil && len(found) == 0 {
			err = &bridge.CloudError{Kind: bridge.CloudNotFound, Op: op, Cloud: c.config.Name, Message: "no machine with the create's token is listed"}
		}
		if err != nil {
			return nil, err
		}
		return c.outcome(op, found)
	}
	var made wire.Operation
	if err := c.do(ctx, ask{op: op, limit: c.read, method: http.MethodGet, path: "/operations/" + url.PathEscape(string(h))}, &made); err != nil {
		return nil, blind(err)
	}
	if made.Status == wire.StatusFailed && made.Error != nil {
		return nil, c.fault(op, *made.Error)
	}
	if len(made.Instances) == 0 {
		return nil, nil
	}
	found, _, err := c.pages(ctx, op, url.Values{"id": made.Instances})
	if err != nil {
		return nil, blind(err)
	}
	for _, id := range made.Instances {
		if !slices.ContainsFunc(found, func(m wire.Instance) bool { return m.ID == id }) {
			m := wire.Instance{ID: id, Pool: poolOut(l.Pool), Token: l.Token, State: wire.StatePending}
			if slices.Contains(made.Ended, id) {
				m.State = wire.StateTerminated
			}
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b wire.Instance) int {
		return cmp.Compare(slices.Index(made.Instances, a.ID), slices.Index(made.Instances, b.ID))
	})
	return c.outcome(op, found)
}

// blind makes a failed look's error one that refuses nothing.
func blind(err error) error {
	var e *bridge.CloudError
	if errors.As(err, &e) && e.Kind.Refused() {
		e.Kind = bridge.CloudUnknown
	}
	return err
}

// outcome is a create's machines, at least one, or why there are none.
func (c *Cloud) outcome(op string, found []wire.Instance) ([]bridge.Instance, error) {
	var lack *wire.Error
	for _, m := range found {
		if m.State != wire.StateError || m.Fault == nil || !kindOf(m.Fault.Code).Refused() {
			return c.instances(found), nil
		}
		lack = m.Fault
	}
	return nil, c.fault(op, *lack)
}

// List asks twice, by store and by cluster, as the cloud has no "or". When a
// later page fails, the part that arrived comes together with the error.
func (c *Cloud) List(ctx context.Context, storeID, cluster string) (bridge.Listing, error) {
	const op = "list"
	out := bridge.Listing{Cloud: c.config.Name, At: time.Now().UTC(), Complete: true}
	seen := map[string]bool{}
	for _, tag := range []string{bridge.TagStore + "=" + storeID, bridge.TagCluster + "=" + cluster} {
		found, complete, err := c.pages(ctx, op, url.Values{"tag": {tag}})
		for _, m := range c.instances(found) {
			if !seen[m.ID] {
				seen[m.ID] = true
				out.Instances = append(out.Instances, m)
			}
		}
		out.Complete = out.Complete && complete
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// pages reads a listing to its end. It is complete only if as many different
// machines arrived as the first page promised.
func (c *Cloud) pages(ctx context.Context, op string, q url.Values) (found []wire.Instance, complete bool, err error) {
	seen := map[string]bool{}
	total := 0
	for n := range pagesLimit {
		var page wire.Page
		if err := c.do(ctx, ask{op: op, limit: c.read, method: http.MethodGet, path: "/instances", query: q}, &page); err != nil {
			return found, false, err
		}
		if n == 0 {
			total = page.Total
		}
		for _, m := range page.Instances {
			if !seen[m.ID] {
				seen[m.ID] = true
				found = append(found, m)
			}
		}
		if page.Next == "" {
			return found, len(found) == total, nil
		}
		q = url.Values{"page": {page.Next}}
	}
	return found, false, &bridge.CloudError{
		Kind: bridge.CloudUnknown, Op: op, Cloud: c.config.Name, Err: fmt.Errorf("the listing has not ended after %d pages", pagesLimit),
	}
}

// Terminate ends machines. An id that the cloud does not know is ended
// already. All ids are tried; the first failure of a kind worth knowing is
// returned.
func (c *Cloud) Terminate(ctx context.Context, ids []string) error {
	var first error
	for _, id := range ids {
		var m wire.Instance
		err := c.do(ctx, ask{op: "terminate", limit: c.terminate, method: http.MethodDelete, path: "/instances/" + url.PathEscape(id)}, &m)
		if err != nil && bridge.KindOf(err) != bridge.CloudNotFound && first == nil {
			first = err
		}
	}
	return first
}

// Extend moves the end of machines, in the cloud and in their tags.
func (c *Cloud) Extend(ctx context.Context, ids []string, expires time.Time) error {
	change := wire.Update{
		Expires: expires.UTC(),
		Tags:    map[string]string{bridge.TagExpires: expires.UTC().Format(time.RFC3339)},
	}
	for _, id := range ids {
		var m wire.Instance
		if err := c.do(ctx, ask{op: "extend", limit: c.change, method: http.MethodPatch, path: "/instances/" + url.PathEscape(id), body: change}, &m); err != nil {
			return err
		}
	}
	return nil
}

// Offers returns all pools with a price that can be one; a price of nothing is
// an error of the cloud's and never the best offer.
func (c *Cloud) Offers(ctx context.Context) ([]bridge.Offer, error) {
	var got wire.Offers
	if err := c.do(ctx, ask{op: "offers", limit: c.read, method: http.MethodGet, path: "/offers"}, &got); err != nil {
		return nil, err
	}
	var out []bridge.Offer
	for _, o := range got.Offers {
		if o.Rate.Micro > 0 && o.Rate.Currency != "" {
			out = append(out, c.offer(o))
		}
	}
	return out, nil
}

// changeWait is how long one call waits for a change.
const changeWait = 30 * time.Second

// Changed returns when a machine may have changed since the cursor. An empty
// cursor returns at once with the present one.
func (c *Cloud) Changed(ctx context.Context, cursor string) (string, error) {
	for {
		var got wire.Events
		q := url.Values{"cursor": {cursor}, "wait": {changeWait.String()}}
		if err := c.do(ctx, ask{op: "changed", limit: c.read, method: http.MethodGet, path: "/events", query: q, wait: changeWait}, &got); err != nil {
			return cursor, err
		}
		if got.Cursor != cursor {
			return got.Cursor, nil
		}
	}
}

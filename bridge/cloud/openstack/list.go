package openstack

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/pagination"
	"golang.org/x/sync/errgroup"

	"spillway.sh/spillway/bridge"
)

// pagesLimit is of one listing; a cloud that never ends one is broken.
const pagesLimit = 10_000

var errEndless = errors.New("the list does not end")

// servers reads every page. It is not whole when a part of the cloud did not
// answer: Nova then shows its servers without a word of what they are, and only
// where nothing is filtered.
func (c *Cloud) servers(ctx context.Context, opts servers.ListOpts) (all []machine, whole bool, err error) {
	client, err := c.compute(ctx)
	if err != nil {
		return nil, false, err
	}
	whole = true
	read, seen := map[string]bool{}, map[string]bool{}
	err = servers.List(client, opts).EachPage(ctx, func(_ context.Context, page pagination.Page) (bool, error) {
		if p, ok := page.(servers.ServerPage); ok {
			if read[p.URL.String()] || len(read) > pagesLimit {
				return false, errEndless
			}
			read[p.URL.String()] = true
		}
		list, err := servers.ExtractServers(page)
		if err != nil {
			return false, err //nolint:wrapcheck // The call is named around it.
		}
		for i := range list {
			switch {
			case list[i].Status == "UNKNOWN":
				whole = false
			case !seen[list[i].ID]: // one that is scheduled between two pages is on both
				seen[list[i].ID] = true
				all = append(all, c.machine(&list[i]))
			}
		}
		return true, nil
	})
	if err != nil {
		return nil, false, err //nolint:wrapcheck // The call is named around it.
	}
	return all, whole, nil
}

// List returns the machines of a store, and those of a cluster with other stores.
// The whole project is read: a list by tags leaves out, without a word, what a
// part of the cloud that does not answer has.
func (c *Cloud) List(ctx context.Context, storeID, cluster string) (bridge.Listing, error) {
	out := bridge.Listing{Cloud: c.config.Name, At: time.Now().UTC()}
	all, whole, err := c.servers(ctx, servers.ListOpts{})
	if err != nil {
		return out, c.fail(opList, err)
	}
	for i := range all {
		t := all[i].Tags
		if storeID != "" && t[bridge.TagStore] == storeID || cluster != "" && t[bridge.TagCluster] == cluster {
			out.Instances = append(out.Instances, all[i].Instance)
		}
	}
	out.Complete = whole
	return out, nil
}

// atOnce is how many servers are ended at one time.
const atOnce = 8

// Terminate deletes servers. One that is gone already is no failure.
func (c *Cloud) Terminate(ctx context.Context, ids []string) error {
	return c.each(ctx, opTerminate, ids, func(ctx context.Context, client *gophercloud.ServiceClient, id string) error {
		err := servers.Delete(ctx, client, id).ExtractErr()
		if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return nil
		}
		return err //nolint:wrapcheck // The call is named around it.
	})
}

// Extend writes a later end into the machines' own metadata, from which a rental
// is rebuilt. Nova itself ends nothing; agents are told by the bridge.
func (c *Cloud) Extend(ctx context.Context, ids []string, expires time.Time) error {
	return c.each(ctx, opExtend, ids, func(ctx context.Context, client *gophercloud.ServiceClient, id string) error {
		_, err := servers.UpdateMetadata(ctx, client, id, servers.MetadataOpts{bridge.TagExpires: expires.UTC().Format(time.RFC3339)}).Extract()
		return err //nolint:wrapcheck // The call is named around it.
	})
}

var serverID = regexp.MustCompile(`^[0-9A-Za-z-]{1,64}$`)

// each does something with each of some servers, a few at a time and the others
// too when one fails.
func (c *Cloud) each(ctx context.Context, op string, ids []string, do func(context.Context, *gophercloud.ServiceClient, string) error) error {
	if len(ids) == 0 {
		return nil
	}
	client, err := c.compute(ctx)
	if err != nil {
		return c.fail(op, err)
	}
	var group errgroup.Group
	group.SetLimit(atOnce)
	var mu sync.Mutex
	var first error
	for _, id := range ids {
		group.Go(func() error {
			err := error(gophercloud.ErrUnexpectedResponseCode{Actual: http.StatusNotFound})
			if serverID.MatchString(id) { // what is no id would be another address
				err = do(ctx, client, id)
			}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				if first == nil || bridge.KindOf(c.fail(op, first)) == bridge.CloudNotFound {
					first = err
				}
			}
			return nil
		})
	}
	_ = group.Wait() // What failed is in first.
	return c.fail(op, first)
}

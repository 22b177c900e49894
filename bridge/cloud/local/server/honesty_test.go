package server_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// TestServerKeepsItsWord holds what the package comment promises against a
// client that keeps no rule by itself.
func TestServerKeepsItsWord(t *testing.T) {
	long := strings.Repeat("x", 70)
	for name, tc := range map[string]struct {
		change     func(*wire.Create)
		wantStatus int
		wantCode   string
	}{
		"a plain order":                 {func(*wire.Create) {}, http.StatusAccepted, ""},
		"more than the machine quota":   {func(q *wire.Create) { q.Count = 5 }, http.StatusForbidden, wire.CodeQuota},
		"more GPUs than the quota":      {func(q *wire.Create) { q.Pool.Market, q.Count = "spot", 3 }, http.StatusForbidden, wire.CodeQuota},
		"as many GPUs as the quota":     {func(q *wire.Create) { q.Pool.Market, q.Count = "spot", 2 }, http.StatusAccepted, ""},
		"no machine":                    {func(q *wire.Create) { q.Count = 0 }, http.StatusBadRequest, wire.CodeInvalid},
		"too many machines":             {func(q *wire.Create) { q.Count = server.CountMax + 1 }, http.StatusBadRequest, wire.CodeInvalid},
		"a pool that is not":            {func(q *wire.Create) { q.Pool.Zone = "east-9" }, http.StatusBadRequest, wire.CodeInvalid},
		"a token of 70 characters":      {func(q *wire.Create) { q.Token = long }, http.StatusBadRequest, wire.CodeInvalid},
		"a token with a blank":          {func(q *wire.Create) { q.Token = "a b" }, http.StatusBadRequest, wire.CodeInvalid},
		"a token that is not ASCII":     {func(q *wire.Create) { q.Token = "tökén" }, http.StatusBadRequest, wire.CodeInvalid},
		"user-data of 17 KiB":           {func(q *wire.Create) { q.UserData = strings.Repeat("x", 17<<10) }, http.StatusBadRequest, wire.CodeInvalid},
		"a tag without a key":           {func(q *wire.Create) { q.Tags = map[string]string{"": "v"} }, http.StatusBadRequest, wire.CodeInvalid},
		"a tag that a filter can't ask": {func(q *wire.Create) { q.Tags = map[string]string{"a=b": "v"} }, http.StatusBadRequest, wire.CodeInvalid},
		"a tag of 300 characters":       {func(q *wire.Create) { q.Tags = map[string]string{"k": strings.Repeat("v", 300)} }, http.StatusBadRequest, wire.CodeInvalid},
		"51 tags":                       {func(q *wire.Create) { q.Tags = manyTags(51) }, http.StatusBadRequest, wire.CodeInvalid},
		"an end that has passed":        {func(q *wire.Create) { q.Expires = newClock().Now() }, http.StatusBadRequest, wire.CodeInvalid},
		"a ceiling below the price":     {func(q *wire.Create) { q.MaxRate = wire.Rate{Micro: 11_999_999, Currency: "USD"} }, http.StatusBadRequest, wire.CodePrice},
		"a ceiling at the price":        {func(q *wire.Create) { q.MaxRate = wire.Rate{Micro: 12_000_000, Currency: "USD"} }, http.StatusAccepted, ""},
		"a ceiling in other money":      {func(q *wire.Create) { q.MaxRate = wire.Rate{Micro: 99_000_000, Currency: "CNY"} }, http.StatusBadRequest, wire.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, plain)
			q := order("on-demand", 1)
			tc.change(&q)
			status, code := r.as("alpha", http.MethodPost, "/instances", q, nil)
			if status != tc.wantStatus || code != tc.wantCode {
				t.Errorf("%d %s, want %d %s", status, code, tc.wantStatus, tc.wantCode)
			}
			var page wire.Page
			r.as("alpha", http.MethodGet, "/instances", nil, &page)
			if (len(page.Instances) > 0) != (tc.wantCode == "") {
				t.Errorf("%d machines after %s", len(page.Instances), code)
			}
		})
	}
}

func manyTags(n int) map[string]string {
	tags := map[string]string{}
	for i := range n {
		tags["key-"+strconv.Itoa(i)] = "v"
	}
	return tags
}

func TestStockIsSharedAndComesBack(t *testing.T) {
	r := start(t, plain)
	q := order("on-demand", 4)
	ids := r.rent(q)
	q.Token, q.Count = "other", 3
	status, code := r.as("beta", http.MethodPost, "/instances", q, nil)
	if status != http.StatusServiceUnavailable || code != wire.CodeNoCapacity {
		t.Errorf("3 of 2 left: %d %s", status, code)
	}
	r.as("alpha", http.MethodDelete, "/instances/"+ids[0], nil, nil)
	r.clock.advance(time.Minute)
	r.await(ids[0], wire.StateTerminated)
	if status, code := r.as("beta", http.MethodPost, "/instances", q, nil); status != http.StatusAccepted {
		t.Errorf("the refused token with stock again: %d %s", status, code)
	}
}

func TestTokenIsOneOrderOfOneAccount(t *testing.T) {
	r := start(t, plain)
	q := order("on-demand", 1)
	first := r.rent(q)
	if again := r.rent(q); again[0] != first[0] {
		t.Errorf("again: %v, first: %v", again, first)
	}
	other := q
	other.UserData = "#!/bin/bash\n"
	if status, code := r.as("alpha", http.MethodPost, "/instances", other, nil); status != http.StatusConflict || code != wire.CodeMismatch {
		t.Errorf("other parameters: %d %s", status, code)
	}
	var made wire.Created
	r.as("beta", http.MethodPost, "/instances", q, &made)
	if made.Operation == nil || made.Operation.Instances[0] == first[0] {
		t.Errorf("another account's order with the same token: %+v", made)
	}
	if status, _ := r.as("beta", http.MethodGet, "/instances/"+first[0], nil, nil); status != http.StatusNotFound {
		t.Errorf("beta sees alpha's machine: %d", status)
	}
	if status, _ := r.as("beta", http.MethodDelete, "/instances/"+first[0], nil, nil); status != http.StatusNotFound {
		t.Errorf("beta ends alpha's machine: %d", status)
	}
	q.Token = ""
	if a, b := r.rent(q), r.rent(q); a[0] == b[0] {
		t.Error("two orders without a token made one machine")
	}
}

func TestCallsNeedTheirToken(t *testing.T) {
	r := start(t, plain)
	alpha, admin := token(t, r.server.TokenFile("nimbus", "alpha")), token(t, r.server.AdminTokenFile())
	for name, tc := range map[string]struct {
		token, method, path string
		want                int
	}{
		"a customer's call without":           {"", http.MethodGet, "/v1/nimbus/offers", http.StatusUnauthorized},
		"a customer's call with a wrong one":  {"guess", http.MethodGet, "/v1/nimbus/instances", http.StatusUnauthorized},
		"a customer's call by the operator":   {admin, http.MethodGet, "/v1/nimbus/instances", http.StatusUnauthorized},
		"a customer's call":                   {alpha, http.MethodGet, "/v1/nimbus/instances", http.StatusOK},
		"a cloud that is not":                 {alpha, http.MethodGet, "/v1/cirrus/instances", http.StatusNotFound},
		"the ledger for a customer":           {alpha, http.MethodGet, "/v1/ledger", http.StatusUnauthorized},
		"the ledger without a token":          {"", http.MethodGet, "/v1/ledger", http.StatusUnauthorized},
		"the ledger for the operator":         {admin, http.MethodGet, "/v1/ledger", http.StatusOK},
		"a purge by a customer":               {alpha, http.MethodPost, "/v1/purge", http.StatusUnauthorized},
		"a body with an unknown member":       {alpha, http.MethodPost, "/v1/nimbus/instances", http.StatusBadRequest},
		"an events call with a wrong waiting": {alpha, http.MethodGet, "/v1/nimbus/events?wait=9h", http.StatusBadRequest},
		"a page that never was":               {alpha, http.MethodGet, "/v1/nimbus/instances?page=zz.3", http.StatusBadRequest},
		"a filter without a value":            {alpha, http.MethodGet, "/v1/nimbus/instances?tag=k", http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			if w := r.raw(tc.token, tc.method, tc.path, `{"surprise": 1}`); w.Code != tc.want {
				t.Errorf("%d %s, want %d", w.Code, w.Body, tc.want)
			}
		})
	}
}

func TestC_F31_server_limits_a_client_that_does_not(t *testing.T) {
	r := start(t, strings.Replace(plain, "limits: 1000", "limits: 0.01", 1))
	for name, tc := range map[string]struct {
		method, path string
		burst        int
	}{
		"create":    {http.MethodPost, "/instances", server.CreateBurst},
		"terminate": {http.MethodDelete, "/instances/i-none", server.TerminateBurst},
		"update":    {http.MethodPatch, "/instances/i-none", server.ChangeBurst},
		"read":      {http.MethodGet, "/offers", server.ReadBurst},
	} {
		t.Run(name, func(t *testing.T) {
			alpha := token(t, r.server.TokenFile("nimbus", "alpha"))
			for i := range tc.burst {
				if w := r.raw(alpha, tc.method, "/v1/nimbus"+tc.path, "{}"); w.Code == http.StatusTooManyRequests {
					t.Fatalf("call %d of a burst of %d is refused", i+1, tc.burst)
				}
			}
			w := r.raw(alpha, tc.method, "/v1/nimbus"+tc.path, "{}")
			var f wire.Failure
			if err := json.Unmarshal(w.Body.Bytes(), &f); err != nil || w.Code != http.StatusTooManyRequests || f.Error.Code != wire.CodeThrottled {
				t.Errorf("one more: %d %s", w.Code, w.Body)
			}
			if seconds, err := strconv.Atoi(w.Header().Get("Retry-After")); err != nil || seconds < 1 {
				t.Errorf("retry after %q", w.Header().Get("Retry-After"))
			}
			beta := token(t, r.server.TokenFile("nimbus", "beta"))
			if w := r.raw(beta, tc.method, "/v1/nimbus"+tc.path, "{}"); w.Code == http.StatusTooManyRequests {
				t.Error("another account is refused with it")
			}
		})
	}
}

func TestVisibilityLags(t *testing.T) {
	r := start(t, strings.Replace(plain, "notice: 2m", "visibility: 20s", 1))
	id := r.rent(order("spot", 1))[0]
	var page wire.Page
	r.as("alpha", http.MethodGet, "/instances", nil, &page)
	if status, _ := r.as("alpha", http.MethodGet, "/instances/"+id, nil, nil); status != http.StatusNotFound || page.Total != 0 {
		t.Errorf("at once: get says %d, the list has %d", status, page.Total)
	}
	r.clock.advance(20 * time.Second)
	r.as("alpha", http.MethodGet, "/instances?tag=owner%3Dus", nil, &page)
	if page.Total != 1 || page.Instances[0].Tags["owner"] != "us" {
		t.Errorf("20 s later: %+v", page)
	}
}

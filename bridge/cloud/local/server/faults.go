package server

import (
	"crypto/subtle"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// fault is one that is set.
type fault struct {
	wire.Fault
	skipped int
	frozen  map[string][]wire.Instance // of stale lists: each account's machines when it was set
}

// scope says which operation a kind of fault concerns by nature; empty: any.
var scope = map[wire.FaultKind]string{
	wire.FaultTimeoutBefore: "", wire.FaultTimeoutAfter: "", wire.FaultErrorBefore: "", wire.FaultErrorAfter: "",
	wire.FaultThrottle: "", wire.FaultSlow: "", wire.FaultAuth: "", wire.FaultCode: "",
	wire.FaultNoStock: opCreate, wire.FaultQuota: opCreate, wire.FaultPartial: opCreate, wire.FaultSlowBoot: opCreate,
	wire.FaultNeverJoins: opCreate, wire.FaultDiesAtBoot: opCreate, wire.FaultWrongGPUs: opCreate,
	wire.FaultHidden: opCreate, wire.FaultDearer: opCreate,
	wire.FaultStaleList: opList, wire.FaultLostPage: opList, wire.FaultDuplicate: opList, wire.FaultWrongTags: opList,
	wire.FaultNoAddress: opList, wire.FaultAbsent: opList,
	wire.FaultDeafTerminate: opTerminate, wire.FaultShownAlive: opTerminate,
}

// take finds the fault that hits a call: the first that matches. Callers hold mu.
func (s *Server) take(c *call) *hit {
	for _, f := range s.faults {
		if !f.concerns(c) {
			continue
		}
		if f.skipped < f.Skip {
			f.skipped++
			continue
		}
		if f.Probability > 0 && s.dice.Float64() >= f.Probability {
			continue
		}
		f.Hits++
		if f.Count > 0 && f.Hits >= f.Count {
			s.faults = slices.DeleteFunc(s.faults, func(o *fault) bool { return o == f })
		}
		return &hit{Fault: f.Fault, frozen: f.frozen[c.owner()]}
	}
	return nil
}

func (f *fault) concerns(c *call) bool {
	return (f.Cloud == "" || f.Cloud == c.cloud.spec.Name) &&
		(f.Op == "" || f.Op == c.op || f.Op == c.action) && (scope[f.Kind] == "" || scope[f.Kind] == c.op) &&
		(f.Pool == "" || c.op == opCreate && f.Pool == c.create.Pool.String())
}

// set checks and adds faults, or carries out commands, in the given order.
func (s *Server) set(f wire.Fault) (wire.Fault, error) {
	if f.Cloud != "" && s.clouds[f.Cloud] == nil {
		return f, fmt.Errorf("there is no cloud %q here", f.Cloud)
	}
	switch f.Kind { //nolint:exhaustive // The others are faults of calls.
	case wire.CommandNotice, wire.CommandReclaim, wire.CommandPrice, wire.CommandStock:
		return f, s.command(f)
	}
	if err := checkFault(&f); err != nil {
		return f, err
	}
	s.serial++
	f.ID, f.Hits = fmt.Sprintf("f-%d", s.serial), 0
	added := &fault{Fault: f}
	if f.Kind == wire.FaultStaleList {
		added.frozen = s.freeze()
	}
	s.faults = append(s.faults, added)
	return f, nil
}

// checkFault refuses a fault of calls that could never come.
func checkFault(f *wire.Fault) error {
	by, known := scope[f.Kind]
	switch {
	case !known:
		return fmt.Errorf("kind %q is unknown", f.Kind)
	case by != "" && f.Op != "" && f.Op != by:
		return fmt.Errorf("%s concerns %s, not %s", f.Kind, by, f.Op)
	case f.Skip < 0 || f.Count < 0 || f.Probability < 0 || f.Probability > 1 || f.Delay < 0 || f.Machines < 0:
		return fmt.Errorf("%s: a number is out of range", f.Kind)
	case f.Kind == wire.FaultCode && f.Code == "", f.Kind == wire.FaultWrongTags && len(f.Tags) == 0:
		return fmt.Errorf("%s lacks its code or tags", f.Kind)
	}
	return nil
}

// lag is how long lists are behind what a fault hides.
func (h *hit) lag() time.Duration {
	if h.Delay > 0 {
		return time.Duration(h.Delay)
	}
	return 3 * time.Minute
}

// freeze remembers every machine as it is.
func (s *Server) freeze() map[string][]wire.Instance {
	out := map[string][]wire.Instance{}
	for _, m := range s.machines() {
		if now := s.time(); !now.Before(m.VisibleAt) {
			out[m.Cloud+"/"+m.Account] = append(out[m.Cloud+"/"+m.Account], m.shown(now))
		}
	}
	return out
}

// owner names the calling account among all clouds'.
func (c *call) owner() string { return c.cloud.spec.Name + "/" + c.account.spec.Name }

// command changes the world.
func (s *Server) command(f wire.Fault) error {
	if f.Machines < 0 {
		return fmt.Errorf("%s: machines is negative", f.Kind)
	}
	found := false
	for name, c := range s.clouds {
		if (f.Cloud == "" || f.Cloud == name) && s.commandCloud(c, f) {
			found = true
		}
	}
	if !found {
		return fmt.Errorf("%s concerns nothing: no such pool, or no live spot machine (instance %q, pool %q)", f.Kind, f.Instance, f.Pool)
	}
	return s.commit()
}

// commandCloud reports whether the command concerned anything of this cloud.
func (s *Server) commandCloud(c *cloud, f wire.Fault) (found bool) {
	for _, m := range c.markets {
		if f.Pool == m.pool.String() && s.commandMarket(c, m, f) {
			found = true
		}
	}
	for _, m := range s.machines() {
		if m.Cloud == c.spec.Name && (f.Instance == m.ID || f.Instance == "" && f.Pool != "" && f.Pool == m.Pool.String()) && s.commandMachine(c, m, f) {
			found = true
		}
	}
	return found
}

func (s *Server) commandMarket(c *cloud, m *market, f wire.Fault) bool {
	key := c.spec.Name + "/" + m.pool.String()
	switch {
	case f.Kind == wire.CommandPrice && f.Rate == nil:
		delete(s.state.Prices, key)
		delete(s.state.PricesAt, key)
	case f.Kind == wire.CommandPrice:
		s.state.setPrice(key, *f.Rate, s.time())
	case f.Kind == wire.CommandStock:
		s.state.Stock[key] = f.Machines
	default:
		return false
	}
	return true
}

func (s *Server) commandMachine(c *cloud, m *machine, f wire.Fault) bool {
	if m.Pool.Market != string(bridge.Spot) || m.State != wire.StatePending && m.State != wire.StateRunning {
		return false
	}
	lead := time.Duration(f.Delay)
	if lead == 0 {
		lead = time.Duration(c.spec.Notice)
	}
	switch {
	case f.Kind == wire.CommandReclaim:
		s.end(m, endReclaimed, 0)
	case f.Kind == wire.CommandNotice && m.NoticeAt.IsZero():
		s.warn(m, lead)
	default:
		return false
	}
	return true
}

// adminRoutes are the calls of whoever runs the local cloud.
func (s *Server) adminRoutes(mux *http.ServeMux) {
	handle := func(pattern string, do http.HandlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if subtle.ConstantTimeCompare([]byte(bearer(r)), []byte(s.admin)) != 1 {
				writeRefusal(w, refuse(http.StatusUnauthorized, wire.CodeUnauthorised, "the token is not the operator's"))
				return
			}
			do(w, r)
		})
	}
	handle("POST /v1/faults", s.postFaults)
	handle("GET /v1/faults", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		out := wire.Faults{Faults: []wire.Fault{}}
		for _, f := range s.faults {
			out.Faults = append(out.Faults, f.Fault)
		}
		writeJSON(w, http.StatusOK, out)
	})
	remove := func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		id := r.PathValue("id")
		s.faults = slices.DeleteFunc(s.faults, func(f *fault) bool { return id == "" || f.ID == id })
		writeJSON(w, http.StatusOK, wire.Faults{Faults: []wire.Fault{}})
	}
	handle("DELETE /v1/faults", remove)
	handle("DELETE /v1/faults/{id}", remove)
	handle("GET /v1/ledger", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/jsonl")
		http.ServeFile(w, r, s.LedgerFile())
	})
	handle("POST /v1/purge", func(w http.ResponseWriter, r *http.Request) {
		if err := s.Purge(r.Context()); err != nil {
			writeRefusal(w, refuse(http.StatusInternalServerError, wire.CodeInternal, "%v", err))
			return
		}
		writeJSON(w, http.StatusOK, struct{}{})
	})
}

// postFaults sets one fault, or all of a script.
func (s *Server) postFaults(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(io.LimitReader(r.Body, bodyLimit))
	if err != nil {
		writeRefusal(w, refuse(http.StatusBadRequest, wire.CodeInvalid, "the body: %v", err))
		return
	}
	var script wire.Faults
	if decode(text, &script) != nil {
		var one wire.Fault
		if err := decode(text, &one); err != nil {
			writeRefusal(w, refuse(http.StatusBadRequest, wire.CodeInvalid, "the body is neither a fault nor a list of faults: %v", err))
			return
		}
		script.Faults = []wire.Fault{one}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	out := wire.Faults{}
	for _, f := range script.Faults {
		f, err := s.set(f)
		if err != nil {
			writeRefusal(w, refuse(http.StatusBadRequest, wire.CodeInvalid, "%v", err))
			return
		}
		out.Faults = append(out.Faults, f)
	}
	writeJSON(w, http.StatusOK, out)
}

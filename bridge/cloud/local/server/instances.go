package server

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/server/ec2"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// pageMemory is how long a listing's later pages can be asked for.
const pageMemory = 5 * time.Minute

// pageSet is a listing as it was when its first page was asked for, so that
// machines that come and go do not shift the later pages.
type pageSet struct {
	owner string // whose machines they are
	all   []wire.Instance
	size  int
	until time.Time
}

// list shows machines, page by page.
func (s *Server) list(c *call) (answer, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	look, no := lookOf(c.req.URL.Query())
	if no != nil {
		return answer{}, no
	}
	page, no := s.listing(c, look)
	if no != nil {
		return answer{}, no
	}
	return answer{http.StatusOK, page}, nil
}

// listing is a page of what is looked for. Callers hold mu.
func (s *Server) listing(c *call, look ec2.Look) (wire.Page, *refusal) {
	now := s.time()
	maps.DeleteFunc(s.pages, func(_ string, p pageSet) bool { return now.After(p.until) })
	id, offset, set, no := s.page(c, look, now)
	if no != nil {
		return wire.Page{}, no
	}
	if c.is(wire.FaultLostPage) {
		offset += set.size
	}
	end := min(offset+set.size, len(set.all))
	page := wire.Page{Instances: slices.Clone(set.all[min(offset, end):end]), Total: len(set.all)}
	if end < len(set.all) {
		if id == "" {
			s.serial++
			id = strconv.FormatInt(s.serial, 36)
			s.pages[id] = set
		}
		page.Next = fmt.Sprintf("%s.%d", id, end)
	}
	if c.hit != nil {
		spoil(&page, &c.hit.Fault)
	}
	return page, nil
}

// lookOf reads what a listing is to show.
func lookOf(q url.Values) (ec2.Look, *refusal) {
	look := ec2.Look{Next: q.Get("page"), Match: func(m *wire.Instance) bool { return matches(m, q) }}
	if text := q.Get("limit"); text != "" && look.Next == "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return look, refuse(http.StatusBadRequest, wire.CodeInvalid, "limit %q is not a positive number", text)
		}
		look.Size = n
	}
	for _, tag := range q["tag"] {
		if !strings.Contains(tag, "=") && look.Next == "" {
			return look, refuse(http.StatusBadRequest, wire.CodeInvalid, "tag filter %q is not key=value", tag)
		}
	}
	return look, nil
}

// page finds the listing a call goes on with, or makes a new one.
func (s *Server) page(c *call, look ec2.Look, now time.Time) (id string, offset int, set pageSet, no *refusal) {
	if next := look.Next; next != "" {
		id, at, _ := strings.Cut(next, ".")
		offset, err := strconv.Atoi(at)
		set, ok := s.pages[id]
		if !ok || set.owner != c.owner() || err != nil || offset < 0 || offset > len(set.all) {
			return "", 0, set, refuse(http.StatusBadRequest, wire.CodeBadPage, "page %q is not known any more", next)
		}
		return id, offset, set, nil
	}
	size := c.cloud.spec.Page
	if look.Size > 0 {
		size = min(look.Size, size)
	}
	all := s.visible(c, now)
	if c.is(wire.FaultStaleList) {
		all = c.hit.frozen
	}
	set = pageSet{owner: c.owner(), size: size, until: now.Add(pageMemory)}
	for _, m := range all {
		if look.Match(&m) {
			set.all = append(set.all, m)
		}
	}
	if c.is(wire.FaultAbsent) {
		set.all = without(set.all, c.hit.Instance)
	}
	return "", 0, set, nil
}

// visible are the account's machines that lists show by now, oldest first.
func (s *Server) visible(c *call, now time.Time) []wire.Instance {
	var out []wire.Instance
	for _, m := range s.machines() {
		if m.Cloud == c.cloud.spec.Name && m.Account == c.account.spec.Name && !now.Before(m.VisibleAt) {
			out = append(out, m.shown(now))
		}
	}
	return out
}

// shown is a copy that later changes do not reach, as lists show it at now.
func (m *machine) shown(now time.Time) wire.Instance {
	out := m.Instance
	out.Tags = maps.Clone(m.Tags)
	if m.ShownAs != "" && now.Before(m.ShownUntil) {
		out.State, out.Stopped, out.Ended, out.Fault = m.ShownAs, time.Time{}, "", nil
	}
	return out
}

func matches(m *wire.Instance, q url.Values) bool {
	for _, tag := range q["tag"] {
		key, value, _ := strings.Cut(tag, "=")
		if got, ok := m.Tags[key]; !ok || got != value {
			return false
		}
	}
	if token := q.Get("token"); token != "" && m.Token != token {
		return false
	}
	return len(q["id"]) == 0 || slices.Contains(q["id"], m.ID)
}

// without takes a machine, or the first if none is named, out of a listing.
func without(all []wire.Instance, id string) []wire.Instance {
	if id == "" && len(all) > 0 {
		id = all[0].ID
	}
	return slices.DeleteFunc(all, func(m wire.Instance) bool { return m.ID == id })
}

// spoil applies a fault to a page.
func spoil(page *wire.Page, f *wire.Fault) {
	if len(page.Instances) == 0 {
		return
	}
	first := &page.Instances[0]
	switch f.Kind { //nolint:exhaustive // The others do not concern pages.
	case wire.FaultDuplicate:
		page.Instances = append(page.Instances, *first)
	case wire.FaultNoAddress:
		for i := range page.Instances {
			page.Instances[i].Address = ""
		}
	case wire.FaultWrongTags:
		first.Tags = maps.Clone(first.Tags)
		maps.Copy(first.Tags, f.Tags)
		maps.DeleteFunc(first.Tags, func(_, value string) bool { return value == "" })
	}
}

// own finds a machine of the calling account.
func (s *Server) own(c *call) (*machine, *refusal) {
	id := c.req.PathValue("id")
	m := s.state.Machines[id]
	if m == nil || m.Cloud != c.cloud.spec.Name || m.Account != c.account.spec.Name {
		return nil, refuse(http.StatusNotFound, wire.CodeNotFound, "there is no machine %s", id)
	}
	return m, nil
}

// get shows one machine, which lags like the list.
func (s *Server) get(c *call) (answer, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	m, no := s.own(c)
	if no == nil && s.time().Before(m.VisibleAt) {
		no = refuse(http.StatusNotFound, wire.CodeNotFound, "there is no machine %s", m.ID)
	}
	if no != nil {
		return answer{}, no
	}
	return answer{http.StatusOK, m.shown(s.time())}, nil
}

// terminate ends a machine; ending one that is ending or gone is a success.
func (s *Server) terminate(c *call) (answer, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	m, no := s.own(c)
	if no != nil {
		return answer{}, no
	}
	if c.is(wire.FaultDeafTerminate) {
		shown := m.shown(s.time())
		shown.State = wire.StateStopping
		return answer{http.StatusOK, shown}, nil
	}
	if s.finishOff(c, m) {
		if no := s.durable(); no != nil {
			return answer{}, no
		}
	}
	return answer{http.StatusOK, m.shown(s.time())}, nil
}

// finishOff begins the end of a machine that a call asks for, unless it has begun.
func (s *Server) finishOff(c *call, m *machine) bool {
	if m.State != wire.StatePending && m.State != wire.StateRunning {
		return false
	}
	if c.is(wire.FaultShownAlive) {
		m.ShownAs, m.ShownUntil = m.State, s.time().Add(c.hit.lag())
	}
	s.end(m, endTerminated, time.Duration(c.cloud.spec.Stop))
	return true
}

// update changes a machine's end and tags.
func (s *Server) update(c *call) (answer, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	m, no := s.own(c)
	if no != nil {
		return answer{}, no
	}
	var u wire.Update
	if err := decode(c.body, &u); err != nil {
		return answer{}, refuse(http.StatusBadRequest, wire.CodeInvalid, "the body: %v", err)
	}
	tags := maps.Clone(m.Tags)
	if tags == nil {
		tags = map[string]string{}
	}
	maps.Copy(tags, u.Tags)
	if no := checkTags(tags); no != nil {
		return answer{}, no
	}
	if !u.Expires.IsZero() {
		if !u.Expires.After(s.time()) {
			return answer{}, refuse(http.StatusBadRequest, wire.CodeInvalid, "expires is not in the future")
		}
		m.Expires, m.ExtendedAt = u.Expires.UTC(), s.time()
	}
	m.Tags = tags
	if no := s.durable(); no != nil {
		return answer{}, no
	}
	return answer{http.StatusOK, m.shown(s.time())}, nil
}

// eventWait is the longest an events call stays open.
const eventWait = 60 * time.Second

// events waits for a change after the cursor.
func (s *Server) events(c *call) (answer, *refusal) {
	wait := 30 * time.Second
	if text := c.req.URL.Query().Get("wait"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d > eventWait {
			return answer{}, refuse(http.StatusBadRequest, wire.CodeInvalid, "wait %q is not a duration up to %s", text, eventWait)
		}
		wait = d
	}
	cursor := c.req.URL.Query().Get("cursor")
	out, changed := c.cloud.feed.since(cursor)
	if changed == nil {
		return answer{http.StatusOK, out}, nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-c.req.Context().Done():
	case <-s.ctx.Done():
	}
	out, _ = c.cloud.feed.since(cursor)
	return answer{http.StatusOK, out}, nil
}

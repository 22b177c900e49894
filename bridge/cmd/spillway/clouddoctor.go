package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/store"
)

type cloudDoctorCmd struct {
	format
	Names       []string      `arg:"" optional:"" help:"Clouds of the configuration (default: all of them)." placeholder:"NAME"`
	Permissions bool          `help:"Print what each cloud's account must be allowed at least, as that cloud wants it written."`
	Timeout     time.Duration `help:"Longest time for one cloud." default:"1m" placeholder:"TIME"`
}

// Help gives examples.
func (cloudDoctorCmd) Help() string {
	return `Examples:
  spillway cloud doctor
  spillway cloud doctor north --permissions
  spillway cloud doctor -o json

Each cloud is opened and asked what Spillway needs of it: credentials, permissions, images, networks, types, quotas, prices,
as far as it can be asked. Nothing is rented and nothing is changed. A cloud that cannot be examined like this is asked for its
offers and for the machines of this site. Exit code 7: something is broken. The cluster and the store have a doctor of their own:
spillway doctor.

JSON keys: ok, clouds[] (name, kind, ok, findings[] (what, grade (ok, warning, broken), said, try, code), permissions).`
}

// permitted is a cloud that knows what its account must be allowed at least.
type permitted interface{ Permissions() string }

type cloudExamined struct {
	Name        string           `json:"name"`
	Kind        string           `json:"kind"`
	OK          bool             `json:"ok"` // nothing is broken
	Findings    []bridge.Finding `json:"findings"`
	Permissions string           `json:"permissions,omitempty"`
}

type cloudDoctorAnswer struct {
	OK     bool            `json:"ok"`
	Clouds []cloudExamined `json:"clouds"`
}

// Run examines clouds, all at once. One that hangs or fails is no other's.
func (c *cloudDoctorCmd) Run(a *app) error {
	conf, policy, err := loadFiles(a.Config)
	if err != nil {
		return &desk.Error{Kind: desk.Internal, Wrong: err.Error(), Try: "spillway check-config --config " + a.Config, Err: err}
	}
	s := &site{config: conf, policy: policy}
	chosen, err := c.choose(conf)
	if err != nil {
		return err
	}
	got := cloudDoctorAnswer{OK: true, Clouds: make([]cloudExamined, len(chosen))}
	id := knownStore(a.ctx, conf.StateDir)
	var all sync.WaitGroup
	for i, k := range chosen {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(a.ctx, c.Timeout)
			defer cancel()
			got.Clouds[i] = s.examineCloud(ctx, k, id)
		})
	}
	all.Wait()
	if err := a.ctx.Err(); err != nil {
		return &desk.Error{Kind: desk.BadRequest, Wrong: "interrupted before all clouds were examined", Err: err}
	}
	for i := range got.Clouds {
		got.OK = got.OK && got.Clouds[i].OK
	}
	if err := c.print(a, got, func(p *page) { c.say(p, &got) }); err != nil {
		return err
	}
	if !got.OK {
		return errFound
	}
	return nil
}

// choose finds the clouds that are meant.
func (c *cloudDoctorCmd) choose(conf *config.Config) ([]*config.Cloud, error) {
	var out []*config.Cloud
	var have []string
	for i := range conf.Clouds {
		k := &conf.Clouds[i]
		have = append(have, k.Name)
		if len(c.Names) == 0 || slices.Contains(c.Names, k.Name) {
			out = append(out, k)
		}
	}
	for _, name := range c.Names {
		if !slices.Contains(have, name) {
			return nil, &desk.Error{
				Kind: desk.NotFound, Wrong: fmt.Sprintf("the configuration has no cloud %q; it has %s", name, strings.Join(have, ", ")), Try: "spillway cloud doctor",
			}
		}
	}
	return out, nil
}

// knownStore is the id of the store, or none: a cloud can be examined before
// there is one.
func knownStore(ctx context.Context, dir string) string {
	db, err := store.OpenReadOnly(ctx, dir, store.Options{})
	if err != nil {
		return ""
	}
	id := db.StoreID()
	_ = db.Close() // it was read
	return id
}

// examineCloud opens one cloud and looks at it.
func (s *site) examineCloud(ctx context.Context, k *config.Cloud, id string) cloudExamined {
	out := cloudExamined{Name: k.Name, Kind: kindOf(k), OK: true}
	cloud, err := s.cloud(k)
	if err != nil {
		out.Findings = []bridge.Finding{{What: "configuration", Grade: bridge.GradeBroken, Said: err.Error(), Try: "spillway check-config"}}
	} else {
		out.Findings = examine(ctx, cloud, id, s.config.Clusters)
		if p, ok := cloud.(permitted); ok {
			out.Permissions = strings.TrimRight(p.Permissions(), "\n")
		}
	}
	out.Findings = append(out.Findings, examineProvider(&k.Provider, utcNow())...)
	for i := range out.Findings {
		out.OK = out.OK && out.Findings[i].Grade != bridge.GradeBroken
	}
	return out
}

// examine has a cloud look at itself, or asks it what any cloud can be asked.
func examine(ctx context.Context, cloud engine.Cloud, id string, clusters []config.Cluster) []bridge.Finding {
	if x, ok := cloud.(engine.Examiner); ok {
		return x.Examine(ctx)
	}
	offers, machines := examineOffers(ctx, cloud), examineList(ctx, cloud, id, clusters)
	if o, m := &offers[0], &machines[0]; o.Grade == bridge.GradeBroken && m.Grade == bridge.GradeBroken && o.Code == m.Code && o.Said == m.Said {
		o.What = "answers" // none, whatever is asked
		return offers
	}
	return append(offers, machines...)
}

func examineOffers(ctx context.Context, cloud engine.Cloud) []bridge.Finding {
	offers, err := cloud.Offers(ctx)
	if err != nil {
		return []bridge.Finding{broken("offers", err)}
	}
	now, fresh, none := utcNow(), 0, map[string]int{}
	for i := range offers {
		if offers[i].Fresh(now) {
			fresh++
		}
		if offers[i].Available == 0 && offers[i].Limited != "" {
			none[offers[i].Limited]++
		}
	}
	f := bridge.Finding{What: "offers", Grade: bridge.GradeOK, Said: fmt.Sprintf("%s, %d of them with a price that may be bought at", desk.Count(len(offers), "pool"), fresh)}
	if fresh == 0 {
		f.Grade, f.Try = bridge.GradeWarning, "spillway clouds --cloud "+cloud.Name()
	}
	out := []bridge.Finding{f}
	for _, limit := range sortedKeys(none) {
		out = append(out, bridge.Finding{
			What: "quota", Grade: bridge.GradeWarning, Code: limit, Said: fmt.Sprintf("it leaves no machine in %s", desk.Count(none[limit], "pool")), Try: "ask the provider for more of it",
		})
	}
	return out
}

func examineList(ctx context.Context, cloud engine.Cloud, id string, clusters []config.Cluster) []bridge.Finding {
	seen := map[string]bool{}
	for i := range clusters {
		l, err := cloud.List(ctx, id, clusters[i].Name)
		if err != nil {
			return []bridge.Finding{broken("machines", err)}
		}
		if !l.Complete {
			return []bridge.Finding{{What: "machines", Grade: bridge.GradeWarning, Said: "its list of this site's machines was not complete", Try: "spillway cloud doctor " + cloud.Name()}}
		}
		for _, in := range l.Instances {
			if in.State != bridge.InstanceGone {
				seen[in.ID] = true
			}
		}
	}
	return []bridge.Finding{{What: "machines", Grade: bridge.GradeOK, Said: fmt.Sprintf("it lists %s of this site, and says that is all", desk.Count(len(seen), "machine"))}}
}

// broken is a call that failed, with the cloud's own code and words.
func broken(what string, err error) bridge.Finding {
	r := bridge.Reply{}.Next(what, time.Time{}, err)
	f := bridge.Finding{What: what, Grade: bridge.GradeBroken, Said: desk.English.CloudKind(r.Kind) + ": " + r.Text, Code: r.Code}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		f.Try = "timeout of this cloud in the configuration, and --timeout here, give it longer"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		f.Try = "look whether the file is there, and who may read or run it"
	case r.Kind == bridge.CloudDenied:
		f.Try = "look at the account's key, and at what it may do"
	}
	return f
}

// examineProvider finds attributes of the configuration that end.
func examineProvider(p *bridge.Provider, now time.Time) []bridge.Finding {
	var out []bridge.Finding
	for i := range p.Attributes {
		a := &p.Attributes[i]
		f := bridge.Finding{What: "attributes", Grade: bridge.GradeWarning, Try: "renew it, and write the new end into the configuration"}
		switch a.Validity(now) {
		case bridge.Valid:
			continue
		case bridge.EndsSoon:
			f.Said = fmt.Sprintf("%s ends on %s, in %s", a.Name, a.Until.UTC().Format(time.DateOnly), desk.Span(a.Until.Sub(now)))
		case bridge.Ended:
			f.Said = fmt.Sprintf("%s ended on %s; jobs that need it go elsewhere", a.Name, a.Until.UTC().Format(time.DateOnly))
		}
		out = append(out, f)
	}
	return out
}

func (c *cloudDoctorCmd) say(p *page, got *cloudDoctorAnswer) {
	bad := 0
	for i := range got.Clouds {
		k := &got.Clouds[i]
		if i > 0 {
			p.line("")
		}
		p.line("%s (%s)", k.Name, k.Kind)
		wrong := false
		for j := range k.Findings {
			sayExamined(p, &k.Findings[j])
			wrong = wrong || k.Findings[j].What == "permissions" && k.Findings[j].Grade != bridge.GradeOK
		}
		switch {
		case k.Permissions == "":
		case c.Permissions || wrong:
			p.line("  It must be allowed at least:")
			for _, l := range strings.Split(k.Permissions, "\n") {
				p.line("    %s", plain(l))
			}
		default:
			p.line("  What it must be allowed at least: spillway cloud doctor %s --permissions", k.Name)
		}
		if !k.OK {
			bad++
		}
	}
	p.line("")
	if bad == 0 {
		p.line("Nothing is broken.")
		return
	}
	p.line("%s; nothing can be rented there like this.", countWith(int64(bad), "cloud is broken", "clouds are broken"))
}

// gradeWidth makes the words of findings begin in one column.
const gradeWidth = 24

func sayExamined(p *page, f *bridge.Finding) {
	said := f.Said
	if f.Code != "" {
		said = f.Code + ": " + said
	}
	lead := fmt.Sprintf("  %-8s %-12s ", f.Grade, plain(f.What))
	p.wrap(lead, strings.Join(strings.Fields(said), " "))
	if f.Try != "" {
		p.wrap(fmt.Sprintf("%*s Try: ", gradeWidth-1, ""), f.Try)
	}
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/engine"
	"spillway.sh/spillway/bridge/store"
	"spillway.sh/spillway/slurm"
)

type doctorCmd struct{ format }

// Help gives examples.
func (doctorCmd) Help() string {
	return `Examples:
  spillway doctor --config /etc/spillway/spillway.yaml
  spillway doctor -o json

It looks at store, clusters and clouds, and changes nothing. Exit code 7 when something is in the way of renting.
Credentials, permissions and quotas of single clouds are looked at by: spillway cloud doctor

JSON keys: ok, findings[] (where, level (ok, note, warning, error), subject, found, why, fix[]).`
}

// finding is one thing the doctor looked at. Fix is the exact lines to change.
type finding struct {
	Where   string      `json:"where"`
	Level   slurm.Level `json:"level"`
	Subject string      `json:"subject,omitempty"`
	Found   string      `json:"found"`
	Why     string      `json:"why,omitempty"`
	Fix     []string    `json:"fix"`
}

// fine is the level of what is as it should be.
const fine slurm.Level = "ok"

type doctorAnswer struct {
	OK       bool      `json:"ok"` // no error among them
	Findings []finding `json:"findings"`
}

func (d *doctorAnswer) add(where string, level slurm.Level, subject, found, why string, fix ...string) {
	d.OK = d.OK && level != slurm.Error
	d.Findings = append(d.Findings, finding{where, level, subject, found, why, append([]string{}, fix...)})
}

// examinationTakes is how long all of it may take.
const examinationTakes = time.Minute

// Run looks at everything the configuration names.
func (c *doctorCmd) Run(a *app) error {
	s, err := a.site()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(a.ctx, examinationTakes)
	defer cancel()
	got := doctorAnswer{OK: true, Findings: []finding{}}
	id := got.examineStore(ctx, s.config.StateDir)
	for _, name := range s.clusterNames() {
		got.examineCluster(ctx, s.clusters[name])
	}
	var classes []string
	asked := true
	for _, cloud := range s.clouds {
		where := "cloud " + cloud.Name()
		offers, err := cloud.Offers(ctx)
		for i := range offers {
			classes = append(classes, offers[i].Shape.GPUType)
		}
		asked = asked && err == nil
		if err == nil {
			got.examineMachines(ctx, s, cloud, id)
		}
		switch {
		case err != nil:
			got.add(where, slurm.Error, "", "it does not answer: "+err.Error(), "nothing can be rented there", "spillway cloud doctor "+cloud.Name())
		case len(offers) == 0:
			got.add(where, slurm.Warning, "", "it answers, and offers nothing", "nothing can be rented there", "spillway cloud doctor "+cloud.Name())
		default:
			got.add(where, fine, "", "it answers, with "+desk.Count(len(offers), "offer"), "")
		}
	}
	got.examinePolicy(s, classes, asked)
	err = c.print(a, got, func(p *page) { sayFindings(p, &got) })
	if err == nil && !got.OK {
		return errFound
	}
	return err
}

// examinePolicy finds what the policy says and probably does not mean. The
// classes of GPU that are on offer are known once all clouds were asked.
func (d *doctorAnswer) examinePolicy(s *site, classes []string, asked bool) {
	found := s.warnings()
	if asked {
		slices.Sort(classes)
		classes = slices.DeleteFunc(slices.Compact(classes), func(c string) bool { return c == "" })
		found = append(found, s.policy.UnofferedClasses(classes)...)
	}
	for _, w := range found {
		why := ""
		if w.Example != "" {
			why = "for example: " + w.Example
		}
		d.add("policy", slurm.Warning, fmt.Sprintf("line %d, %s", w.Line, w.Path), w.Wrong, why)
	}
}

// examineStore looks at the folder and at the store in it, and returns the
// store's id; empty if there is none.
func (d *doctorAnswer) examineStore(ctx context.Context, dir string) (id string) {
	info, err := os.Stat(dir)
	switch {
	case os.IsNotExist(err):
		d.add("store", fine, "", dir+" is made at the first start", "")
		return ""
	case err != nil:
		d.add("store", slurm.Error, "", err.Error(), "the store cannot be opened", "run this as the account that runs the daemon")
		return ""
	case info.Mode().Perm()&0o077 != 0:
		d.add("store", slurm.Error, "", dir+" can be entered by others", "the keys of the enrolment are in it", "chmod 700 "+dir)
	default:
		d.add("store", fine, "", dir+" is its owner's alone", "")
	}
	db, err := store.OpenReadOnly(ctx, dir, store.Options{})
	switch {
	case errors.Is(err, store.ErrNoStore), errors.Is(err, store.ErrOlder):
		return "" // the next start makes it, or upgrades it
	case errors.Is(err, store.ErrCorrupt):
		d.add("store", slurm.Error, "", err.Error(), "nothing is rented and nothing is known of what runs", "systemctl stop spillway", "spillway adopt")
		return ""
	case err != nil:
		d.add("store", slurm.Error, "", err.Error(), "the store cannot be opened")
		return ""
	}
	id = db.StoreID()
	if err := db.Close(); err != nil {
		d.add("store", slurm.Warning, "", err.Error(), "")
	}
	return id
}

// examineMachines finds machines of this site that the store in place did not
// rent: it is new, or one too many.
func (d *doctorAnswer) examineMachines(ctx context.Context, s *site, cloud engine.Cloud, id string) {
	stores := map[string]int{}
	for _, cluster := range s.clusterNames() {
		l, err := cloud.List(ctx, cmp.Or(id, "-"), cluster)
		if err != nil || !l.Complete {
			d.add("cloud "+cloud.Name(), slurm.Warning, "", "it does not list all of its machines", "whether another store has some there is not known")
			return
		}
		for i := range l.Instances {
			in := &l.Instances[i]
			if of := in.Tags[bridge.TagStore]; of != "" && of != id && in.State != bridge.InstanceGone && in.Tags[bridge.TagCluster] == cluster {
				stores[of]++
			}
		}
	}
	for _, of := range slices.Sorted(maps.Keys(stores)) {
		d.add("cloud "+cloud.Name(), slurm.Error, "store "+of, fmt.Sprintf("%s of this cluster, rented by another store", desk.Count(stores[of], "machine")),
			"nothing is rented beside them: either that store is lost, or another daemon has it", "systemctl stop spillway", "spillway adopt --store-id "+of)
	}
}

func (d *doctorAnswer) examineCluster(ctx context.Context, c *slurm.Cluster) {
	where := "cluster " + c.Name()
	found, err := c.Doctor(ctx)
	if err != nil {
		d.add(where, slurm.Error, "", err.Error(), "its queue cannot be read", "check bin_dir and conf of this cluster, and that slurmctld runs: scontrol ping")
		return
	}
	if len(found) == 0 {
		d.add(where, fine, "", "nothing stands in the way", "")
	}
	for _, f := range found {
		d.add(where, f.Level, f.Subject, f.Found, f.Why, f.Fix...)
	}
}

func sayFindings(p *page, got *doctorAnswer) {
	for i := range got.Findings {
		f := &got.Findings[i]
		head := f.Where
		if f.Subject != "" {
			head += ", " + f.Subject
		}
		p.line("%-8s %s: %s", f.Level, head, plain(f.Found))
		if f.Why != "" {
			p.line("%-8s %s", "", plain(f.Why))
		}
		for _, line := range f.Fix {
			p.line("%-8s     %s", "", strings.TrimRight(line, "\n"))
		}
	}
	p.line("")
	if got.OK {
		p.line("Nothing is in the way.")
		return
	}
	errs := 0
	for i := range got.Findings {
		if got.Findings[i].Level == slurm.Error {
			errs++
		}
	}
	p.line("%s in the way of renting; the indented lines mend it.", countWith(int64(errs), "thing is", "things are"))
}

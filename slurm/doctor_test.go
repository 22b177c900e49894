package slurm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestDoctor changes one thing at a time on a cluster in order.
func TestDoctor(t *testing.T) {
	key := "/dev/null"
	healthy := func(t *testing.T) *stand {
		s := newStand(t, "22.05")
		s.answer("partitions.txt", s.fixture("22.05", "partitions.txt")+"PartitionName=sw-1 MaxTime=UNLIMITED Nodes=(null) State=DRAIN RootOnly=NO\n")
		s.answer("ping.txt", "slurm_update error: Invalid partition name specified")
		s.command("sdiag", "echo '*******'\necho \"sdiag output at Mon Nov 30 13:32:30 2026 ($(cat \"$d/time\"))\"\n")
		s.answer("time", "1796045550")
		s.command("scontrol", `case "$*" in
*"show nodes") exec cat "$d/nodes.txt" ;;
*"show partitions") exec cat "$d/partitions.txt" ;;
*"show config") exec cat "$d/config.txt" ;;
*) cat "$d/ping.txt" >&2; exit 1 ;;
esac
`)
		return s
	}
	config := func(key, value string) func(*stand) {
		return func(s *stand) {
			var out []string
			for line := range strings.Lines(s.read("config.txt")) {
				if name, _, ok := strings.Cut(line, "="); ok && strings.TrimSpace(name) == key {
					line = key + " = " + value + "\n"
				}
				out = append(out, line)
			}
			s.answer("config.txt", strings.Join(out, ""))
		}
	}
	all := func(changes ...func(*stand)) func(*stand) {
		return func(s *stand) {
			for _, change := range changes {
				change(s)
			}
		}
	}
	for name, test := range map[string]struct {
		change func(*stand)
		want   []string // level and subject
		fix    string   // part of the lines to change
	}{
		"in order":                  {func(*stand) {}, nil, ""},
		"no rights":                 {func(s *stand) { s.answer("ping.txt", "slurm_update error: Access/permission denied") }, []string{"error rights"}, "adminlevel=Administrator"},
		"an old version":            {config("SLURM_VERSION", "21.08.5"), []string{"error version"}, "22.05"},
		"another select plugin":     {config("SelectType", "select/linear"), []string{"error SelectType"}, "SelectType=select/cons_tres"},
		"a topology":                {config("TopologyPlugin", "topology/tree"), []string{"error topology"}, "topology/default"},
		"a topology where it works": {all(config("TopologyPlugin", "topology/tree"), config("SLURM_VERSION", "25.05.1")), nil, ""},
		"a full node table":         {config("MaxNodeCount", "3"), []string{"error MaxNodeCount"}, "MaxNodeCount=259"},
		"a narrow tree":             {config("TreeWidth", "50"), []string{"error TreeWidth"}, "TreeWidth=65533"},
		"a narrow tree later":       {all(config("TreeWidth", "50"), config("SLURM_VERSION", "24.11.5")), nil, ""},
		"cloud_dns":                 {config("SlurmctldParameters", "enable_configless,cloud_dns"), []string{"error cloud_dns"}, "cloud_dns"},
		"not configless":            {config("SlurmctldParameters", "(null)"), []string{"error configless"}, "enable_configless"},
		"no overlay declared":       {func(s *stand) { s.answer("partitions.txt", s.fixture("22.05", "partitions.txt")) }, []string{"error overlays"}, "PartitionName=sw-1 MaxTime=INFINITE State=DRAIN"},
		"an open overlay": {func(s *stand) {
			s.answer("partitions.txt", strings.Replace(s.read("partitions.txt"), "State=DRAIN RootOnly", "State=UP RootOnly", 1))
		}, []string{"warning overlays"}, "State=DRAIN"},
		"an overlay for root": {func(s *stand) {
			s.answer("partitions.txt", strings.Replace(s.read("partitions.txt"), "State=DRAIN RootOnly=NO", "State=DRAIN RootOnly=YES", 1))
		}, []string{"error overlays"}, "RootOnly=NO"},
		"a partition of every node": {func(s *stand) {
			s.answer("partitions.txt", strings.Replace(s.read("partitions.txt"), "Nodes=local[1-2]", "Nodes=ALL", 1))
		}, []string{"error Nodes=ALL"}, "PartitionName=gpu"},
		"no GPUs":                    {config("GresTypes", "(null)"), []string{"warning GresTypes"}, "GresTypes=gpu"},
		"no requeue":                 {config("JobRequeue", "0"), []string{"warning JobRequeue"}, "JobRequeue=1"},
		"a long KillWait":            {config("KillWait", "60 sec"), []string{"warning KillWait"}, "KillWait=10"},
		"output that is overwritten": {config("JobFileAppend", "0"), []string{"note JobFileAppend"}, "JobFileAppend=1"},
		"nodes that stay down":       {config("ReturnToService", "0"), []string{"warning ReturnToService"}, "ReturnToService=1"},
		"memory that is not counted": {config("SelectTypeParameters", "CR_CORE"), []string{"note memory"}, ""},
		"private data":               {config("PrivateData", "jobs,nodes"), []string{"note PrivateData"}, ""},
		"enforced associations":      {config("AccountingStorageEnforce", "associations,limits"), []string{"note accounting"}, ""},
		"a clock that is off":        {func(s *stand) { s.answer("time", "1796045580") }, []string{"warning clock"}, "chrony"},
		"a clock that is far off":    {func(s *stand) { s.answer("time", "1796042000") }, []string{"error clock"}, "chrony"},
	} {
		t.Run(name, func(t *testing.T) {
			s := healthy(t)
			config("KillWait", "5 sec")(s)
			config("JobFileAppend", "1")(s)
			test.change(s)
			found, err := s.cluster(func(o *Options) {
				o.MungeKeyFile = key
				o.Now = func() time.Time { return captured }
			}).Doctor(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			var fix strings.Builder
			for _, f := range found {
				got = append(got, string(f.Level)+" "+f.Subject)
				fix.WriteString(strings.Join(f.Fix, "\n") + "\n")
				if f.Found == "" || f.Why == "" {
					t.Errorf("finding %+v does not say what and why", f)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if !strings.Contains(fix.String(), test.fix) {
				t.Errorf("the lines to change are\n%swant %q", fix.String(), test.fix)
			}
		})
	}
}

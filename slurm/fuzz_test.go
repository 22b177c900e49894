package slurm

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
)

// seeds are parts of the answers of real controllers: small ones, which a
// fuzzer can work on.
func seeds(f *testing.F, name, end string) {
	f.Helper()
	for _, version := range versions {
		data, err := os.ReadFile(filepath.Join("testdata", version, name))
		if err != nil {
			f.Fatal(err)
		}
		for i, part := range strings.SplitAfter(string(data), end) {
			if i < 6 {
				f.Add([]byte(part))
			}
		}
	}
}

// checkJobs holds what must be true of every job that was read without error.
func checkJobs(t *testing.T, jobs []job) {
	t.Helper()
	for i := range jobs {
		j := &jobs[i]
		if j.ID == "" || j.State == "" {
			t.Errorf("job %+v has no id or state", j)
		}
		v := &view{countsMemory: true}
		r := shapeOf(j, v)
		if r.nodes < 1 || r.shape.CPUs < 1 || r.shape.MemoryMiB < 0 || r.shape.GPUs < 0 || r.shape.DiskMiB < 0 {
			t.Errorf("job %+v asks for %+v", j, r)
		}
		if n, err := gangs(j, v); err == nil && n < 1 {
			t.Errorf("job %+v stands for %d gangs", j, n)
		}
	}
}

func FuzzQueueText(f *testing.F) {
	seeds(f, "jobs.txt", "\x1eNONCE\n")
	f.Fuzz(func(t *testing.T, data []byte) {
		if jobs, err := parseQueue(data, "NONCE"); err == nil {
			checkJobs(t, jobs)
		}
	})
}

func FuzzQueueJSON(f *testing.F) {
	seeds(f, "jobs.json", "\n")
	f.Fuzz(func(t *testing.T, data []byte) {
		document := slices.Concat([]byte(`{"jobs":[`), bytes.TrimRight(data, ",\n"), []byte(`]}`))
		if jobs, err := parseQueueJSON(document); err == nil {
			checkJobs(t, jobs)
		}
	})
}

func FuzzNodesAndPartitions(f *testing.F) {
	seeds(f, "nodes.txt", "\n")
	seeds(f, "partitions.txt", "\n")
	f.Fuzz(func(t *testing.T, data []byte) {
		if nodes, err := parseNodes(data); err == nil {
			for _, n := range nodes {
				if n.Shape.CPUs < 0 || n.Free.CPUs < 0 || n.Free.MemoryMiB < 0 || n.Free.GPUs < 0 || !n.Usable && n.Free.CPUs > 0 {
					t.Errorf("node %+v", n)
				}
			}
		}
		_, _ = parsePartitions(data)
		_, _ = parseSettings(data)
	})
}

func FuzzExpressions(f *testing.F) {
	for _, s := range []string{"a&(b|c)", "[a|b]", "n[0-3,7]x[1-2]", "1-9:2,20%4", "gres/gpu:a100:2(S:0-1),shard:2K"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) {
		_, _ = parseFeatures(s)
		_, _ = expandHosts(s)
		_, _, _ = parseTasks(s)
		_, _ = parseGRES(s)
	})
}

// FuzzBoot holds that whatever stands in what a machine boots with, the script
// is the one that is shipped, with those texts inside quotes or the certificate's
// place.
func FuzzBoot(f *testing.F) {
	const pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"
	for _, s := range [][4]string{
		{"https://10.0.0.1:6820/v1/enrol", "ticket.mac", "amd64", pem},
		{"https://x'; rm -rf / #", "t'$(id)", "`id`", pem + "\nCA"},
		{"https://@CA@", "@URL@", "@TICKET@", pem + "\nCA\nid\n"},
	} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	sum := strings.Repeat("0123456789abcdef", 4)
	f.Fuzz(func(t *testing.T, url, ticket, arch, ca string) {
		end := time.Unix(1_800_000_000, 0)
		got, err := (&Cluster{}).UserData(t.Context(), nil, bridge.Boot{URL: url, Ticket: ticket, Arch: arch, CA: ca, Agent: sum, Expires: end})
		if err != nil {
			return
		}
		if slices.Contains(strings.Split(ca, "\n"), "CA") {
			t.Errorf("the certificate ends its own place: %q", ca)
		}
		for mark, text := range map[string]string{"@URL@": strings.TrimSuffix(url, "/v1/enrol"), "@TICKET@": ticket, "@ARCH@": arch} {
			quoted := shellQuote(text)
			if inner := strings.ReplaceAll(quoted[1:len(quoted)-1], `'\''`, ""); strings.Contains(inner, "'") {
				t.Errorf("%s leaves its quotes: %s", mark, quoted)
			}
			if strings.Count(bootScript, mark) > strings.Count(got, quoted) {
				t.Errorf("%s is not where it belongs: %s", mark, quoted)
			}
		}
	})
}

package slurm

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

func newQuiet() *Cluster {
	return New(Options{Name: "rig", Log: slog.New(slog.DiscardHandler)})
}

// TestS_F86_EveryDataParserIsUnderstood gives one job in the spelling of each
// parser; what a parser does not know is left out as it does.
func TestS_F86_EveryDataParserIsUnderstood(t *testing.T) {
	scalar := func(n string) string { return n }
	object := func(n string) string { return fmt.Sprintf(`{"set":true,"infinite":false,"number":%s}`, n) }
	unset := `{"set":false,"infinite":false,"number":0}`
	record := func(state string, n func(string) string, limit, none, extra string) string {
		return fmt.Sprintf(`{"job_id":7,"array_job_id":%[3]s,"array_task_id":%[4]s,"array_max_tasks":%[3]s,"array_task_string":"",
"job_state":%[1]s,"state_reason":"Resources","priority":%[2]s,"user_name":"alice","partition":"gpu","name":"x","comment":"",
"submit_time":%[5]s,"eligible_time":%[5]s,"start_time":%[6]s,"time_limit":%[7]s,"node_count":%[8]s,"cpus":%[9]s,"tasks":%[8]s,
"memory_per_node":%[10]s,"memory_per_cpu":%[4]s,"minimum_cpus_per_node":%[11]s,"tres_req_str":"cpu=8,mem=2000M,node=2,billing=8",
"tres_per_node":"gres/gpu:a100:4","requeue":true,"batch_flag":true,"restart_cnt":1%[12]s}`,
			state, n("5"), n("0"), none, n("1796045511"), n("0"), limit, n("2"), n("8"), n("1000"), n("4"), extra)
	}
	for parser, text := range map[string]string{
		"v0.0.37": record(`"PENDING"`, scalar, "20", "null", `,"cpus_per_task":null,"het_job_id":0,"shared":null,"array_task_throttle":0`),
		"v0.0.38": record(`"PENDING"`, scalar, "20", "null", `,"cpus_per_task":null,"tasks_per_node":0,"exclusive":null,"required_nodes":""`),
		"v0.0.39": record(`"PENDING"`, object, object("20"), unset, `,"cpus_per_task":`+unset+`,"exclusive":"","oversubscribe":true`),
		"v0.0.40": record(`["PENDING"]`, object, object("20"), unset, `,"cpus_per_task":`+object("4")+`,"exclusive":[],"shared":[]`),
		"v0.0.41": record(`["PENDING"]`, object, object("20"), unset, `,"cpus_per_task":`+object("4")+`,"job_resources":{"nodes":{"count":0,"list":""}}`),
		"v0.0.42": record(`["PENDING"]`, object, object("20"), unset, `,"shared":["none"],"required_switches":3,"thread_spec":32766,"priority_by_partition":[]`),
		"v0.0.43": record(`["PENDING"]`, object, object("20"), unset, `,"segment_size":0,"licenses_allocated":"","shared":[]`),
		"v0.0.44": record(`["PENDING"]`, object, object("20"), unset, `,"shared":[],"core_spec":`+unset),
		"v0.0.45": record(`["PENDING"]`, object, object("20"), unset, `,"shared":[],"something_new":{"a":[1]}`),
	} {
		t.Run(parser, func(t *testing.T) {
			jobs, err := parseQueueJSON([]byte(`{"meta":{},"errors":[],"warnings":[],"jobs":[` + text + `]}`))
			if err != nil || len(jobs) != 1 {
				t.Fatalf("%d jobs, error %v", len(jobs), err)
			}
			d, err := newQuiet().demandOf(&jobs[0], &view{now: captured, doubts: map[bridge.JobID]bool{}})
			if err != nil {
				t.Fatal(err)
			}
			at := time.Unix(1796045511, 0).UTC()
			want := bridge.Demand{
				Cluster: "rig", Job: "7", Name: "x", User: "alice", Partition: "gpu",
				Shape: bridge.Shape{CPUs: 4, MemoryMiB: 1000, GPUType: "a100", GPUs: 4, Exclusive: parser == "v0.0.42"},
				Nodes: 2, Count: 1, Priority: 5, Submitted: at, Eligible: at, TimeLimit: 20 * time.Minute,
				Restartable: true, Restarts: 1, Standing: bridge.StandingHelps, Word: "Resources",
			}
			if diff := cmp.Diff(want, d); diff != "" {
				t.Errorf("demand (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDocumentsThatAreNoQueue must not look like an empty one.
func TestDocumentsThatAreNoQueue(t *testing.T) {
	for _, text := range []string{
		"", "null", "[]", "{}", `{"jobs":null}`, `{"jobs":{}}`, `{"jobs":[{}]}`, `{"jobs":[{"job_id":1}]}`, `{"jobs":[`,
		`{"jobs":[],"errors":[{"description":"Unable to contact slurm controller"}]}`,
		`{"jobs":[{"job_id":1,"job_state":"PENDING","time_limit":{"number":"x"}}]}`,
		`{"jobs":[{"job_id":1,"job_state":7}]}`,
	} {
		jobs, err := parseQueueJSON([]byte(text))
		if _, ok := errors.AsType[*ParseError](err); !ok {
			t.Errorf("%s: %d jobs, error %v; want a *ParseError", text, len(jobs), err)
		}
	}
	if jobs, err := parseQueueJSON([]byte(`{"jobs":[]}`)); err != nil || len(jobs) != 0 {
		t.Errorf("an empty queue: %d jobs, error %v", len(jobs), err)
	}
}

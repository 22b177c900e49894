package slurm_test

import (
	"testing"
	"time"

	"spillway.sh/spillway/slurm"
)

// The lines are those of 22.05.8 and 24.11.5.
func TestCostOfARead(t *testing.T) {
	for name, tt := range map[string]struct {
		sdiag string
		want  time.Duration
	}{
		"all three reads": {"Remote Procedure Call statistics by message type\n" +
			"\tREQUEST_JOB_INFO                        ( 2003) count:40     ave_time:51234  total_time:2049360\n" +
			"\tREQUEST_NODE_INFO                       ( 2007) count:40     ave_time:700    total_time:28000\n" +
			"\tREQUEST_PARTITION_INFO                  ( 2009) count:40     ave_time:66     total_time:2640\n" +
			"\tREQUEST_SUBMIT_BATCH_JOB                ( 4003) count:2      ave_time:900000 total_time:1800000\n", 52 * time.Millisecond},
		"users are no requests": {"\troot            (       0) count:80     ave_time:51234  total_time:1\n", 0},
		"nothing said":          {"slurm_get_statistics: Invalid user id\n", 0},
		"a number out of range": {"\tREQUEST_JOB_INFO ( 2003) count:1 ave_time:99999999999999999999 total_time:1\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := slurm.ParseCost([]byte(tt.sdiag)); got != tt.want {
				t.Errorf("cost is %s, want %s", got, tt.want)
			}
		})
	}
}

package load

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/slurm"
)

// The size of the site.
const (
	waiting   = 50_000
	rentals   = 200
	perRental = 10
	local     = 200
	offers    = 500
)

// stamp is the time of the first look.
var stamp = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// commands stand for those of Slurm: they answer with a text that was made
// before, so that making it is no part of what is measured.
type commands struct {
	jobs, nodes, partitions []byte
	writes                  int
}

// placeholder is as long as the nonce it stands for.
const placeholder = "@nonce@@"

// run answers as the command would.
func (c *commands) run(_ context.Context, _ string, args ...string) (slurm.Output, error) {
	line := strings.Join(args, " ")
	switch {
	case args[0] == "squeue":
		nonce := args[len(args)-1][len(args[len(args)-1])-len(placeholder):]
		return slurm.Output{Stdout: bytes.ReplaceAll(c.jobs, []byte(placeholder), []byte(nonce))}, nil
	case strings.HasSuffix(line, "show nodes"):
		return slurm.Output{Stdout: c.nodes}, nil
	case strings.HasSuffix(line, "show partitions"):
		return slurm.Output{Stdout: c.partitions}, nil
	case strings.HasSuffix(line, "show config"):
		return slurm.Output{Stdout: []byte("SLURM_VERSION = 24.11.5\nSelectType = select/cons_tres\nSelectTypeParameters = CR_CORE_MEMORY\n")}, nil
	case args[0] == "sdiag":
		return slurm.Output{}, nil
	}
	c.writes++
	return slurm.Output{}, nil
}

// format is how the adapter asks squeue for jobs, taken from what it asks.
func format(tb testing.TB) []string {
	tb.Helper()
	var asked string
	c := slurm.New(slurm.Options{Name: "main", Exec: func(_ context.Context, _ string, args ...string) (slurm.Output, error) {
		if args[0] == "squeue" {
			asked = args[len(args)-1]
		}
		return (&commands{
			partitions: []byte("PartitionName=gpu State=UP Nodes= MaxTime=UNLIMITED\n"),
			nodes:      []byte("No nodes in the system\n"),
		}).run(context.Background(), "", args...)
	}})
	if _, err := c.Observe(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	nonce := asked[len(asked)-len(placeholder):]
	return strings.Split(strings.ReplaceAll(asked, nonce, placeholder), ",")
}

// record is one job as squeue prints it; what is not said is N/A.
func record(w *bytes.Buffer, format []string, values map[string]string) {
	for _, f := range format {
		name, end, _ := strings.Cut(f, ":")
		v, said := values[name]
		if !said {
			v = "N/A"
		}
		w.WriteString(v)
		w.WriteString(end)
	}
	w.WriteByte('\n')
}

// queue is the text of the whole queue: one job runs on each machine, and the
// rest waits. The first changed of those that wait are others than in epoch 0.
func queue(format []string, machines []string, epoch, changed int) []byte {
	var w bytes.Buffer
	w.Grow(500 * waiting)
	for i, node := range machines {
		record(&w, format, job(i, "RUNNING", node, rand.New(rand.NewPCG(1, uint64(i)))))
	}
	for i := range waiting {
		id, seed := 100_000+i, uint64(0)
		if i < changed {
			id, seed = id+waiting*epoch, uint64(epoch)
		}
		record(&w, format, job(id, "PENDING", "", rand.New(rand.NewPCG(2+seed, uint64(i)))))
	}
	return w.Bytes()
}

// job is one of a site with 300 users and thousands of sizes.
func job(id int, state, node string, rng *rand.Rand) map[string]string {
	at := fmt.Sprint(stamp.Add(-time.Duration(1+rng.IntN(72*3600)) * time.Second).Unix())
	cpus, gpus := 1+rng.IntN(64), []int{1, 1, 2, 4, 8}[rng.IntN(5)]
	v := map[string]string{
		"JobArrayID": fmt.Sprint(id), "State": state, "Partition": "gpu", "UserName": fmt.Sprintf("user%03d", rng.IntN(300)),
		"Account": []string{"phys-hep", "phys-astro", "bio-seq", "bio-fold", "chem", "math", "cs", "geo"}[rng.IntN(8)], "QOS": "normal",
		"PriorityLong": fmt.Sprint(rng.IntN(1 << 30)), "SubmitTime": at, "EligibleTime": at, "TimeLimit": fmt.Sprintf("%d:%02d:00", 1+rng.IntN(48), rng.IntN(60)),
		"NumNodes": "1", "NumCPUs": fmt.Sprint(cpus), "NumTasks": "1", "cpus-per-task": fmt.Sprint(cpus), "MinCpus": fmt.Sprint(cpus),
		"MinMemory": fmt.Sprintf("%dM", 1024+37*rng.IntN(5000)), "MinTmpDisk": "0", "NTPerNode": "0",
		"tres-alloc": fmt.Sprintf("cpu=%d,mem=16G,node=1,billing=%d", cpus, cpus), "tres-per-node": fmt.Sprintf("gres/gpu:%d", gpus),
		"Sockets": "*", "Cores": "*", "Threads": "*", "Feature": "(null)", "ReqNodes": "", "Licenses": "(null)", "Dependency": "(null)", "Reservation": "(null)",
		"OverSubscribe": "OK", "Requeue": "1", "BatchFlag": "1", "RestartCnt": "0", "NodeList": node, "Reason": "Priority",
		"admin_comment": "(null)", "Comment": "(null)", "Name": fmt.Sprintf("train-%d", id),
	}
	if node != "" {
		v["StartTime"], v["Reason"] = fmt.Sprint(stamp.Add(-time.Hour).Unix()), "None"
	}
	return v
}

// nodes are the site's own, all full, and those that are rented.
func nodes(rented []string) []byte {
	var w bytes.Buffer
	line := func(name, partition, state string) {
		fmt.Fprintf(&w, "NodeName=%s Arch=x86_64 CoresPerSocket=1  CPUAlloc=64 CPUEfctv=64 CPUTot=64 CPULoad=6.83 AvailableFeatures=ib ActiveFeatures=ib "+
			"Gres=gpu:a100:8 GresDrain=N/A GresUsed=gpu:a100:8(IDX:0-7) NodeAddr=%s NodeHostName=%s Version=24.11.5 OS=Linux 6.1.0 RealMemory=512000 AllocMem=512000 "+
			"FreeMem=21208 Sockets=64 Boards=1 State=%s ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=%s  BootTime=1796043099 "+
			"SlurmdStartTime=1796044755 LastBusyTime=1796045426 ResumeAfterTime=None CfgTRES=cpu=64,mem=500G,billing=64 AllocTRES=cpu=64,mem=500G CurrentWatts=0 AveWatts=0 \n",
			name, name, name, state, partition)
	}
	for i := range local {
		line(fmt.Sprintf("node%04d", i), "gpu", "ALLOCATED")
	}
	for i, n := range rented {
		line(n, bridge.PartitionName(bridge.NewRentalID(int64(1+i/perRental))), "ALLOCATED+DYNAMIC_NORM")
	}
	return w.Bytes()
}

// partitions are the site's own and an overlay for each rental.
func partitions() []byte {
	var w bytes.Buffer
	line := func(name, nodes, state string) {
		fmt.Fprintf(&w, "PartitionName=%s AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL Default=NO QoS=N/A DefaultTime=NONE Hidden=NO MaxNodes=UNLIMITED MaxTime=UNLIMITED MinNodes=0 "+
			"Nodes=%s PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO OverTimeLimit=NONE PreemptMode=OFF State=%s TotalCPUs=64 TotalNodes=1\n", name, nodes, state)
	}
	line("gpu", fmt.Sprintf("node[0000-%04d]", local-1), "UP")
	for i := range rentals {
		id := bridge.NewRentalID(int64(i + 1))
		name := bridge.PartitionName(id)
		line(name, fmt.Sprintf("%s-[0-%d]", name, perRental-1), "DRAIN")
	}
	return w.Bytes()
}

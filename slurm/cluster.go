package slurm

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"spillway.sh/spillway/bridge"
)

// Prefix begins every node reason and admin comment that is ours.
const Prefix = "spillway: "

// Format is how the queue is read.
type Format string

// The formats. Text is an order of magnitude cheaper for controller and
// reader; JSON is for sites that want it and for versions to come.
const (
	Text Format = "text"
	JSON Format = "json"
)

// Options says where a cluster is and how to reach it. Only Name is required.
type Options struct {
	// Name is the cluster's name in demands, tags and messages.
	Name string
	// BinDir holds squeue, scontrol and scancel; empty means PATH.
	BinDir string
	// Conf is the path of slurm.conf for the commands; empty means their own
	// default, or SLURM_CONF where it is set.
	Conf string
	// Read is Text unless set.
	Read Format

	// Controllers is where machines find slurmctld, host or host:port with the
	// first choice first; empty means the SlurmctldHost lines of the configuration.
	Controllers []string
	// MungeKeyFile is the key machines need; empty means /etc/munge/munge.key.
	MungeKeyFile string
	// MachineConf is the path of a slurm.conf that machines get, for sites without
	// enable_configless; its folder's gres.conf, cgroup.conf, topology.conf and
	// plugstack.conf go with it where they exist. Empty means configless.
	MachineConf string

	// Timeout bounds each command; 0 means 20 s.
	Timeout time.Duration
	// MaxOutput bounds the output of each command in bytes; 0 means 512 MiB.
	MaxOutput int64
	// Workflows are the managers whose jobs are left alone; nil means
	// [DefaultWorkflows], an empty list none.
	Workflows []Workflow
	// Silence is how long the record of a node that does not answer is kept after
	// it was dismissed; 0 means a minute. A slurmctld that still has a message to
	// such a node under way can die when the record goes (22.05.8 does); it gives
	// up on one after 30 s.
	Silence time.Duration
	// Log receives one line for each reason word that is not known; nil means
	// slog.Default.
	Log *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Exec runs a command where the host's Slurm is not the one that is meant, a
	// simulated one for instance; nil means the commands of BinDir.
	Exec func(ctx context.Context, input string, args ...string) (Output, error)
}

// Output is what a command wrote, and its exit status.
type Output struct {
	Stdout, Stderr []byte
	Code           int
}

// Workflow says how the jobs of one workflow manager are recognised: by
// either prefix that is not empty.
type Workflow struct {
	Manager       string // its name, for explanations
	NamePrefix    string // of the job's name
	CommentPrefix string // of the job's comment
}

// DefaultWorkflows are the managers that poll the queue of the partition they
// submitted to, and would take a job that runs elsewhere for lost.
var DefaultWorkflows = []Workflow{
	{Manager: "Nextflow", NamePrefix: "nf-"},
	{Manager: "Snakemake", NamePrefix: "snakejob."},
	{Manager: "Snakemake", CommentPrefix: "rule_"},
}

// Cluster is one Slurm cluster. Its methods may be called from several
// goroutines. The scheduler is the only truth: what is remembered here is lost
// without harm at a restart.
type Cluster struct {
	options    Options
	unreadable atomic.Int64

	door sync.Mutex // held while an overlay is open

	mu       sync.Mutex
	doubts   map[bridge.JobID]bool      // jobs whose ambiguous reason was seen in the latest cycle
	comments map[bridge.JobID]string    // admin comments as of the latest cycle
	ran      map[bridge.JobID][]string  // nodes of jobs that run, or ran before they were requeued
	overlays map[bridge.RentalID]string // partitions that serve rentals
	edits    int                        // changes of overlays so far
	words    map[string]bool            // unknown reason words already told
	silent   map[string]time.Time       // dismissed nodes that did not answer, since when
	settings settings                   // scontrol show config
	settled  time.Time                  // when settings were read
	priced   time.Duration              // what a read costs slurmctld
	pricedAt time.Time
}

// New returns the cluster that the options describe. It runs no command.
func New(o Options) *Cluster {
	if o.Read == "" {
		o.Read = Text
	}
	if o.MungeKeyFile == "" {
		o.MungeKeyFile = "/etc/munge/munge.key"
	}
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	if o.MaxOutput == 0 {
		o.MaxOutput = 512 << 20
	}
	if o.Silence == 0 {
		o.Silence = time.Minute
	}
	if o.Workflows == nil {
		o.Workflows = DefaultWorkflows
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Cluster{
		options:  o,
		doubts:   map[bridge.JobID]bool{},
		comments: map[bridge.JobID]string{},
		ran:      map[bridge.JobID][]string{},
		overlays: map[bridge.RentalID]string{},
		words:    map[string]bool{},
		silent:   map[string]time.Time{},
	}
}

// Name is the cluster's name.
func (c *Cluster) Name() string { return c.options.Name }

// Unreadable counts the answers of the scheduler that could not be understood
// since the start.
func (c *Cluster) Unreadable() int64 { return c.unreadable.Load() }

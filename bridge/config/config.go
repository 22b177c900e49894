package config

import (
	_ "embed"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/config/strict"
)

// Config is a configuration without a mistake. Paths are absolute.
type Config struct {
	StateDir   string        `json:"state_dir"` // store, keys, lock
	Socket     string        `json:"socket"`    // unix socket for the command line
	Policy     string        `json:"policy"`    // policy file; empty: the shipped one, which only observes
	Cycle      time.Duration `json:"cycle"`     // least time between two looks that nothing asked for
	Clusters   []Cluster     `json:"clusters"`
	Clouds     []Cloud       `json:"clouds"`
	Enrol      Enrol         `json:"enrol"`
	Metrics    Metrics       `json:"metrics"`
	Prometheus *Prometheus   `json:"prometheus"` // nil: what is allocated counts as used
	Slack      *Slack        `json:"slack"`      // nil: no bot
	Storage    *Storage      `json:"storage"`    // nil: no checkpoints in object storage
	Reports    Reports       `json:"reports"`
	Limits     Limits        `json:"limits"`
	Log        Log           `json:"log"`
}

// Cluster is one scheduler to watch.
type Cluster struct {
	Name  string       `json:"name"`
	Slurm *Slurm       `json:"slurm"`
	Gate  bridge.Wants `json:"gate"` // what its rented machines must show
}

// Slurm is how to reach one Slurm cluster. What is empty or zero is left to
// Slurm or to the adapter.
type Slurm struct {
	BinDir       string        `json:"bin_dir"`        // of squeue, scontrol, scancel; empty: PATH
	Conf         string        `json:"conf"`           // slurm.conf for the commands
	Controllers  []string      `json:"controllers"`    // where machines find slurmctld, first choice first
	MungeKeyFile string        `json:"munge_key_file"` // the key machines need
	MachineConf  string        `json:"machine_conf"`   // slurm.conf for machines of sites without configless
	Read         string        `json:"read"`           // text or json
	Timeout      time.Duration `json:"timeout"`        // of each command
	Workflows    []Workflow    `json:"workflows"`      // nil: the adapter's own list
}

// Workflow says how jobs of a workflow manager are recognised.
type Workflow struct {
	Manager       string `json:"manager"`
	NamePrefix    string `json:"name_prefix"`
	CommentPrefix string `json:"comment_prefix"`
}

// Cloud is one account of one cloud to rent from, by one of the ways below.
type Cloud struct {
	Name      string     `json:"name"`
	Local     *Local     `json:"local,omitempty"`
	OpenStack *OpenStack `json:"openstack,omitempty"`
	AWS       *AWS       `json:"aws,omitempty"`
	Plugin    *Plugin    `json:"plugin,omitempty"`
	// Provider is what the site knows of the cloud and no call to it says.
	Provider bridge.Provider `json:"provider,omitzero"`
}

// Plugin is a program that speaks for a cloud, see deploy/docs/clouds/plugin.md.
type Plugin struct {
	Command  []string          `json:"command"`  // the program, absolute or in PATH, and its arguments
	Settings map[string]string `json:"settings"` // handed to it as they are
	Env      []string          `json:"env"`      // names of variables that it gets beside PATH and HOME
	Timeout  time.Duration     `json:"timeout"`  // of each call
}

// Local is an account of a local cloud's server.
type Local struct {
	URL     string        `json:"url"`
	Token   Secret        `json:"token"`
	Timeout time.Duration `json:"timeout"` // of each call
}

// Enrol is where machines ask for what they need to join.
type Enrol struct {
	Listen    string `json:"listen"`    // host:port; empty: no enrolment
	Advertise string `json:"advertise"` // https URL as machines reach it
}

// Metrics is where figures are served.
type Metrics struct {
	Listen string `json:"listen"` // host:port; empty: nowhere
}

// Log is what the bridge writes to standard error.
type Log struct {
	Level  slog.Level `json:"level"`
	Format string     `json:"format"` // text or json
}

// Load reads a configuration and looks for the files it names. Mistakes come
// as strict.Faults, all of them.
func Load(path string) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return parse(path, data, reader{dir: dir, getenv: os.LookupEnv, files: true})
}

// Parse reads the text of a configuration without looking at any file it
// names. Relative paths are taken from the root.
func Parse(name string, data []byte) (*Config, error) {
	return parse(name, data, reader{dir: "/", getenv: os.LookupEnv})
}

func parse(name string, data []byte, r reader) (*Config, error) {
	doc := strict.Parse(name, data)
	r.config = defaults()
	r.read(doc.Root())
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return r.config, nil
}

func defaults() *Config {
	return &Config{
		Socket:  "/run/spillway/spillway.sock",
		Cycle:   time.Second,
		Reports: defaultReports(),
		Limits:  DefaultLimits(),
		Log:     Log{Level: slog.LevelInfo, Format: "text"},
	}
}

//go:embed example.yaml
var example []byte

// Example is a commented configuration that can be loaded once the files it
// names exist.
func Example() []byte { return slices.Clone(example) }

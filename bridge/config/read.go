package config

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"spillway.sh/spillway/bridge/config/strict"
)

// reader fills a Config from a document.
type reader struct {
	config *Config
	dir    string // relative paths start here
	getenv func(string) (string, bool)
	files  bool // look for the files
}

var plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,39}$`)

// name is the check of names that go into tags and tables.
func name(s string) string {
	if !plainName.MatchString(s) {
		return "a name has small letters, digits, dots and dashes, at most 40"
	}
	return ""
}

func (r *reader) read(root strict.Node) {
	c, version := r.config, 0
	whole := root.Object(
		strict.Need("version", "version: 1", strict.Whole(&version, 1, 1)),
		strict.Need("state_dir", "state_dir: /var/lib/spillway", r.path(&c.StateDir, anything)),
		strict.May("socket", "socket: /run/spillway/spillway.sock", r.socket),
		strict.May("policy", "policy: policy.yaml", r.path(&c.Policy, aFile)),
		strict.May("cycle", "cycle: 1s", strict.Span(&c.Cycle, 100*time.Millisecond, 10*time.Minute)),
		strict.Need("clusters", "clusters: [{name: main, slurm: {}}]", r.clusters),
		strict.May("clouds", "clouds: [{name: north, local: {url: http://127.0.0.1:7070, token_file: north.token}}]", r.clouds),
		strict.May("enrol", "enrol: {listen: 10.0.0.5:7443}", r.enrol),
		strict.May("metrics", "metrics: {listen: 127.0.0.1:9750}", r.metrics),
		strict.May("prometheus", "prometheus: {url: http://127.0.0.1:9090}", r.prometheus),
		strict.May("storage", "storage: {endpoint: https://s3.example.org, access_key_file: s3.key}", r.storage),
		strict.May("slack", "slack: {local: 127.0.0.1:7480}", r.slack),
		strict.May("reports", `reports: {daily: "09:00", weekly: Mon 09:00}`, r.reports),
		strict.May("limits", "limits: {launch: 5m}", r.limits),
		strict.May("log", "log: {level: info, format: text}", r.log),
	)
	if _, given := root.Get("enrol"); whole && !given && len(c.Clouds) > 0 {
		root.With("enrol: {listen: 10.0.0.5:7443}").Refuse("there are clouds and no enrol: rented machines could never join")
	}
}

// maxSocketPath is what the kernel takes for the path of a unix socket.
const maxSocketPath = 107

func (r *reader) socket(n strict.Node) {
	if n.Sound(r.path(&r.config.Socket, anything)) && len(r.config.Socket) > maxSocketPath {
		n.Fault(fmt.Sprintf("%d characters; the path of a socket has at most %d", len(r.config.Socket), maxSocketPath))
	}
}

func (r *reader) clusters(n strict.Node) {
	lines := map[string]int{}
	strict.Each(func(e strict.Node) {
		var c Cluster
		e.Object(
			strict.Need("name", "name: main", strict.Text(&c.Name, name)),
			strict.Need("slurm", "slurm: {bin_dir: /usr/bin}", func(n strict.Node) {
				c.Slurm = &Slurm{Read: "text"}
				r.slurm(n, c.Slurm)
			}),
			strict.May("gate", "gate: {mounts: [/home], min_disk: 20GiB}", gate(&c.Gate)),
		)
		once(e, lines, c.Name, "cluster")
		r.config.Clusters = append(r.config.Clusters, c)
	})(n)
	if n.IsList() && n.Len() == 0 {
		n.Refuse("no cluster: there is nothing to watch")
	}
}

func (r *reader) slurm(n strict.Node, s *Slurm) {
	n.Object(
		strict.May("bin_dir", "bin_dir: /usr/bin", r.path(&s.BinDir, aFolder)),
		strict.May("conf", "conf: /etc/slurm/slurm.conf", r.path(&s.Conf, aFile)),
		strict.May("controllers", "controllers: [head1, head2:6817]", strict.Texts(&s.Controllers, host)),
		strict.May("munge_key_file", "munge_key_file: /etc/munge/munge.key", r.path(&s.MungeKeyFile, aFile)),
		strict.May("machine_conf", "machine_conf: /etc/slurm/burst.conf", r.path(&s.MachineConf, aFile)),
		strict.May("read", "read: text", strict.Choice(&s.Read, "text", "json")),
		strict.May("timeout", "timeout: 20s", strict.Span(&s.Timeout, time.Second, 10*time.Minute)),
		strict.May("workflows", "workflows: [{manager: Nextflow, name_prefix: nf-}]", workflows(&s.Workflows)),
	)
}

func workflows(dst *[]Workflow) func(strict.Node) {
	return func(n strict.Node) {
		out := []Workflow{}
		strict.Each(func(e strict.Node) {
			var w Workflow
			ok := e.Sound(func(e strict.Node) {
				e.Object(
					strict.Need("manager", "manager: Nextflow", strict.Text(&w.Manager)),
					strict.May("name_prefix", "name_prefix: nf-", strict.Text(&w.NamePrefix)),
					strict.May("comment_prefix", "comment_prefix: rule_", strict.Text(&w.CommentPrefix)),
				)
			})
			if ok && w.NamePrefix == "" && w.CommentPrefix == "" {
				e.With("name_prefix: nf-").Refuse("recognises nothing: give name_prefix or comment_prefix")
			}
			out = append(out, w)
		})(n)
		*dst = out
	}
}

func (r *reader) clouds(n strict.Node) {
	lines := map[string]int{}
	strict.Each(func(e strict.Node) {
		var c Cloud
		e.Object(append([]strict.Field{
			strict.Need("name", "name: north", strict.Text(&c.Name, name)),
			strict.May("local", "local: {url: http://127.0.0.1:7070, token_file: north.token}", func(n strict.Node) {
				c.Local = &Local{}
				r.local(n, c.Local)
			}),
			strict.May("plugin", "plugin: {command: [/usr/lib/spillway/my-cloud]}", func(n strict.Node) {
				c.Plugin = &Plugin{Settings: map[string]string{}}
				plugin(n, c.Plugin)
			}),
			strict.May("openstack", openStackExample, func(n strict.Node) {
				c.OpenStack = &OpenStack{}
				r.openStack(n, c.OpenStack)
			}),
			strict.May("aws", awsExample, func(n strict.Node) {
				c.AWS = &AWS{}
				r.aws(n, c.AWS)
			}),
		}, provider(&c.Provider)...)...)
		if c.kinds() != 1 {
			e.With("local: {url: http://127.0.0.1:7070, token_file: north.token}").Refuse("needs exactly one kind of cloud: aws, local, openstack or plugin")
		}
		once(e, lines, c.Name, "cloud")
		r.config.Clouds = append(r.config.Clouds, c)
	})(n)
}

func (r *reader) local(n strict.Node, l *Local) {
	fields := append(r.secret(n, "token", &l.Token),
		strict.Need("url", "url: http://127.0.0.1:7070", address(&l.URL)),
		strict.May("timeout", "timeout: 30s", strict.Span(&l.Timeout, time.Second, 10*time.Minute)),
	)
	n.Object(fields...)
}

func plugin(n strict.Node, p *Plugin) {
	some := func(s string) string {
		if s == "" {
			return "is empty"
		}
		return ""
	}
	ok := n.Object(
		strict.Need("command", "command: [/usr/lib/spillway/my-cloud, --region, bj-1]", strict.Texts(&p.Command, some)),
		strict.May("settings", "settings: {region: bj-1}", strict.Pairs(&p.Settings, some, func(string) string { return "" })),
		strict.May("env", "env: [MY_CLOUD_KEY_FILE]", strict.Texts(&p.Env, some)),
		strict.May("timeout", "timeout: 1m", strict.Span(&p.Timeout, time.Second, 10*time.Minute)),
	)
	if at, given := n.Get("command"); ok && given && len(p.Command) == 0 {
		at.With("command: [/usr/lib/spillway/my-cloud]").Refuse("names no program")
	}
}

func (r *reader) enrol(n strict.Node) {
	e := &r.config.Enrol
	if !n.Object(
		strict.Need("listen", "listen: 10.0.0.5:7443", strict.Text(&e.Listen, hostPort)),
		strict.May("advertise", "advertise: https://head.example.org:7443", secureAddress(&e.Advertise)),
	) || e.Listen == "" || e.Advertise != "" {
		return
	}
	h, _, err := net.SplitHostPort(e.Listen)
	if ip := net.ParseIP(h); err == nil && (h == "" || ip != nil && ip.IsUnspecified()) {
		if _, given := n.Get("advertise"); !given {
			n.With("advertise: https://head.example.org:7443").Refuse("listens everywhere and does not say where machines find it: give advertise")
		}
		return
	}
	e.Advertise = "https://" + e.Listen
}

func (r *reader) metrics(n strict.Node) {
	n.Object(strict.Need("listen", "listen: 127.0.0.1:9750", strict.Text(&r.config.Metrics.Listen, hostPort)))
}

func (r *reader) log(n strict.Node) {
	level := "info"
	n.Object(
		strict.May("level", "level: info", strict.Choice(&level, "debug", "info", "warn", "error")),
		strict.May("format", "format: text", strict.Choice(&r.config.Log.Format, "text", "json")),
	)
	r.config.Log.Level = map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}[level]
}

// once refuses a second element of a name.
func once(e strict.Node, lines map[string]int, name, what string) {
	if name == "" {
		return
	}
	if first, twice := lines[name]; twice {
		if n, ok := e.Get("name"); ok {
			n.With("name: " + name + "-2").Fault(fmt.Sprintf("another %s has this name, on line %d", what, first))
		}
		return
	}
	lines[name] = e.Line()
}

func hostPort(s string) string {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return "want host:port"
	}
	if p, err := strconv.Atoi(port); err != nil || p < 1 || p > 65535 {
		return "want a port from 1 to 65535"
	}
	return ""
}

func host(s string) string {
	if strings.ContainsAny(s, " /,") {
		return "want a host, or host:port"
	}
	if strings.Count(s, ":") == 1 {
		return hostPort(s)
	}
	return ""
}

// address reads a URL. One with a password in it is refused without being
// shown.
func address(dst *string) func(strict.Node) {
	return func(n strict.Node) {
		s, _ := n.Scalar()
		if u, err := url.Parse(s); err == nil && u.User != nil || err != nil && strings.Contains(s, "@") {
			n.Refuse("a URL with a name or password in it: name the secret by token_file or token_env")
			return
		}
		strict.Text(dst, webAddress)(n)
	}
}

func webAddress(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "want a URL that begins with http:// or https://"
	}
	return ""
}

func secureAddress(dst *string) func(strict.Node) {
	return func(n strict.Node) {
		if !n.Sound(address(dst)) {
			return
		}
		if !strings.HasPrefix(*dst, "https://") {
			n.Fault("want a URL that begins with https://: machines are given secrets there")
		}
	}
}

// kinds is how many kinds a cloud is of.
func (c *Cloud) kinds() int {
	n := 0
	for _, is := range []bool{c.Local != nil, c.AWS != nil, c.OpenStack != nil, c.Plugin != nil} {
		if is {
			n++
		}
	}
	return n
}

package slurm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"spillway.sh/spillway/bridge"
)

// Enrolment is what one machine needs to join: node, slurmd_conf, controllers,
// hosts, munge_key (base64), owner (NAME:UID:GID, where a job is known) and, where
// the site is not configless, conf_files (a gzipped tar of configuration files,
// base64).
func (c *Cluster) Enrolment(ctx context.Context, r *bridge.Rental, m *bridge.Machine) (map[string]string, error) {
	s, err := c.currentSettings(ctx)
	if err != nil {
		return nil, fmt.Errorf("enrol machine %s: %w", m.Node, err)
	}
	key, err := os.ReadFile(c.options.MungeKeyFile)
	if err != nil {
		return nil, fmt.Errorf("enrol machine %s: read munge key: %w", m.Node, err)
	}
	controllers, hosts := s.controllers()
	if len(c.options.Controllers) > 0 {
		controllers = c.options.Controllers
	}
	out := map[string]string{
		"node":        m.Node,
		"slurmd_conf": nodeConf(r),
		"controllers": strings.Join(withPorts(controllers, s["SlurmctldPort"]), ","),
		"hosts":       strings.Join(hosts, ","),
		"munge_key":   base64.StdEncoding.EncodeToString(key),
	}
	if owner := c.ownerOf(ctx, r); owner != "" {
		out["owner"] = owner
	}
	switch {
	case c.options.MachineConf != "":
		if out["conf_files"], err = packConf(c.options.MachineConf); err != nil {
			return nil, fmt.Errorf("enrol machine %s: %w", m.Node, err)
		}
	case !strings.Contains(strings.ToLower(s["SlurmctldParameters"]), "enable_configless"):
		return nil, fmt.Errorf("enrol machine %s: the cluster is not configless: set SlurmctldParameters=enable_configless, or name the slurm.conf for machines", m.Node)
	}
	return out, nil
}

// nodeConf is slurmd's --conf: what the node declares to have.
func nodeConf(r *bridge.Rental) string {
	shape := r.Declared()
	parts := []string{fmt.Sprintf("CPUs=%d", max(1, shape.CPUs)), fmt.Sprintf("RealMemory=%d", max(1, shape.MemoryMiB))}
	var gres []string
	if shape.GPUs > 0 {
		gpu := "gpu:"
		if shape.GPUType != "" {
			gpu += shape.GPUType + ":"
		}
		gres = append(gres, gpu+strconv.Itoa(shape.GPUs))
	}
	for _, name := range slices.Sorted(maps.Keys(shape.GRES)) {
		gres = append(gres, name+":"+strconv.Itoa(shape.GRES[name]))
	}
	if len(gres) > 0 {
		parts = append(parts, "Gres="+strings.Join(gres, ","))
	}
	if shape.DiskMiB > 0 {
		parts = append(parts, fmt.Sprintf("TmpDisk=%d", shape.DiskMiB))
	}
	if len(r.Features) > 0 {
		parts = append(parts, "Feature="+strings.Join(r.Features, ","))
	}
	return strings.Join(parts, " ")
}

// controllers tells where slurmctld listens, and names with their addresses
// where the configuration gives both: "head(10.77.0.10)".
func (s settings) controllers() (addresses, hosts []string) {
	for i := 0; ; i++ {
		value, ok := s[fmt.Sprintf("SlurmctldHost[%d]", i)]
		if !ok {
			return addresses, hosts
		}
		name, address, found := strings.Cut(strings.TrimSuffix(value, ")"), "(")
		if !found {
			addresses = append(addresses, name)
			continue
		}
		addresses = append(addresses, address)
		if net.ParseIP(address) != nil {
			hosts = append(hosts, address+" "+name)
		}
	}
}

// withPorts adds the first of slurmctld's ports to hosts without one.
func withPorts(hosts []string, ports string) []string {
	port, _, _ := strings.Cut(ports, "-")
	if port == "" {
		port = "6817"
	}
	out := make([]string, 0, len(hosts))
	for _, host := range hosts {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(host, port)
		}
		out = append(out, host)
	}
	return out
}

// confNames are the files that belong to a slurm.conf and that machines need.
var confNames = []string{"gres.conf", "cgroup.conf", "topology.conf", "plugstack.conf"}

func packConf(slurmConf string) (string, error) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zip)
	add := func(path, name string) error {
		data, err := os.ReadFile(path)
		if err == nil {
			err = archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))})
		}
		if err == nil {
			_, err = archive.Write(data)
		}
		return err //nolint:wrapcheck // What is packed is said below, once.
	}
	err := add(slurmConf, "slurm.conf")
	for _, name := range confNames {
		if one := add(filepath.Join(filepath.Dir(slurmConf), name), name); one != nil && !errors.Is(one, fs.ErrNotExist) {
			err = errors.Join(err, one)
		}
	}
	if err = errors.Join(err, archive.Close(), zip.Close()); err != nil {
		return "", fmt.Errorf("pack configuration: %w", err)
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes()), nil
}

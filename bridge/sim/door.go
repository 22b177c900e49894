package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"spillway.sh/spillway/bridge/sim/slurmctl"
)

// grant is what a machine is let in with.
type grant struct {
	Node  string `json:"node"`
	Conf  string `json:"slurmd_conf"`
	Lease string `json:"lease"`
}

// spec reads slurmd's --conf.
func (g *grant) spec() (slurmctl.NodeSpec, error) {
	n := slurmctl.NodeSpec{Name: g.Node}
	for field := range strings.FieldsSeq(g.Conf) {
		key, value, _ := strings.Cut(field, "=")
		var err error
		switch key {
		case "CPUs":
			n.CPUs, err = strconv.Atoi(value)
		case "RealMemory":
			n.MemoryMiB, err = strconv.ParseInt(value, 10, 64)
		case "TmpDisk":
			n.DiskMiB, err = strconv.ParseInt(value, 10, 64)
		case "Feature":
			n.Features = strings.Split(value, ",")
		case "Gres":
			parts := strings.Split(value, ":")
			if len(parts) == 3 {
				n.GPUType = parts[1]
			}
			n.GPUs, err = strconv.Atoi(parts[len(parts)-1])
		default:
			err = fmt.Errorf("the conf says %s", field)
		}
		if err != nil {
			return n, fmt.Errorf("read conf of node %s: %w", g.Node, err)
		}
	}
	return n, nil
}

// knock is a machine's call at the bridge's door; nobody answers while the
// bridge is dead.
func (w *World) knock(ctx context.Context, m *guest, path string, ask, out any) (int, error) {
	text, err := json.Marshal(ask)
	if err != nil {
		return 0, err
	}
	if err := w.travel(ctx, "door "+m.id); err != nil {
		return 0, err
	}
	l := w.present()
	if l == nil || l.isDead() {
		return 0, errCut
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://bridge"+path, bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	req.RemoteAddr = m.address + ":4000"
	resp, err := serve(l.door.Handler(), req)
	if err != nil {
		return 0, err
	}
	if err := w.travel(ctx, "door "+m.id); err != nil {
		return 0, err
	}
	if l.isDead() {
		return 0, errCut
	}
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, nil
	}
	return resp.StatusCode, json.NewDecoder(resp.Body).Decode(out)
}

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
)

const aKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// keyIn lays a private key out beside a file.
func keyIn(t *testing.T, name string, mode os.FileMode) (file string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("key\n"), mode); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "file.yaml")
}

func TestAnInventoryIsRead(t *testing.T) {
	file := keyIn(t, "pool.key", 0o600)
	inv, err := parseInventory(file, []byte(`version: 1
machines:
  - {name: gpu01, address: 10.0.0.11, type: a100x8, zone: hall-1, host_key: "`+aKey+`"}
  - {name: gpu02, address: gpu02.site, type: a100x8, port: 2222, user: ops, host_key: "`+aKey+` root@gpu02"}
types:
  - {name: a100x8, cpus: 96, memory_mib: 1000000, gpus: 8, gpu_type: a100, network: 100g, price: 40.50 CNY, step: 1h}
ssh: {key_file: pool.key}
`))
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(filepath.Dir(file), "pool.key")
	want := &Inventory{
		Types: []MachineType{{
			Name: "a100x8", CPUs: 96, MemoryMiB: 1000000, GPUs: 8, GPUType: "a100", Network: bridge.NetworkVast,
			Price: bridge.Rate{Micro: 40_500_000, Currency: "CNY"}, Boot: 2 * time.Minute, Step: time.Hour, Region: "site",
		}},
		Machines: []OwnMachine{
			{Name: "gpu01", Address: "10.0.0.11", Type: "a100x8", Region: "site", Zone: "hall-1", SSH: SSH{"root", 22, key, aKey}},
			{Name: "gpu02", Address: "gpu02.site", Type: "a100x8", Region: "site", SSH: SSH{"ops", 2222, key, aKey + " root@gpu02"}},
		},
	}
	if diff := cmp.Diff(want, inv); diff != "" {
		t.Errorf("(-want +read):\n%s", diff)
	}
}

// TestMistakesOfAnInventory names the line of each, all of them at once.
func TestMistakesOfAnInventory(t *testing.T) {
	_, err := parseInventory(keyIn(t, "pool.key", 0o644), []byte(`version: 1
ssh: {key_file: pool.key, user: "-oProxyCommand=x"}
types:
  - {name: a100x8, cpus: 96, memory_mib: 1000000, gpus: 8, price: 40 CNY}
  - {name: free, cpus: 96, memory_mib: 1000000, price: 0 CNY}
  - {name: dear, cpus: 0, memory_mib: 1000000, price: many}
machines:
  - {name: gpu01, address: 10.0.0.11, type: a100x8, host_key: "`+aKey+`"}
  - {name: gpu02, address: 10.0.0.11, type: a100x8, host_key: "`+aKey+`"}
  - {name: gpu02, address: 10.0.0.13, type: h100, host_key: "ssh-ed25519 half"}
  - {name: gpu04, address: -oProxyCommand=x, type: a100x8, host_key: nothing, colour: red}
  - {name: gpu05, address: 10.0.0.15, type: a100x8}
`))
	if err == nil {
		t.Fatal("no mistake was found")
	}
	for _, want := range []string{
		":2:", "others can read the key (mode 0644): chmod 600 it", "want the name of an account",
		":4:", "gpus and gpu_type belong together",
		":5:", "nothing is free",
		":6:", "cpus", "want the price of an hour",
		":9:", "the machine on line 8 has this address and port too",
		":10:", "another machine has this name, on line 9", "there is no type of this name", "host's public key",
		":11:", "want a host name or address without a port", "colour",
		":12:", "machines[4].host_key: missing",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing says %q", want)
		}
	}
	if t.Failed() {
		t.Log(err)
	}
}

func TestAVendorIsRead(t *testing.T) {
	file := keyIn(t, "desk.key", 0o600)
	secret := "https://open.feishu.example/hook/very-secret"
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "feishu.url"), []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := parseVendor(file, []byte(`version: 1
vendor: 简米科技
ssh: {key_file: desk.key}
types: [{name: a100x8, cpus: 96, memory_mib: 1000000, gpus: 8, gpu_type: a100, price: 96 CNY, region: bj, most: 8, boot: 25m}]
channels:
  - {name: ops, kind: feishu, url_file: feishu.url}
  - {name: log, kind: webhook, url: "http://127.0.0.1:8080/orders"}
deliver: 20m
remind: 5m
`))
	if err != nil {
		t.Fatal(err)
	}
	if v.Name != "简米科技" || v.Deliver != 20*time.Minute || v.Lang != "both" || len(v.Channels) != 2 || v.Types[0].Most != 8 || v.Types[0].Region != "bj" {
		t.Errorf("%+v", v)
	}
	if url, err := v.Channels[0].URL.Reveal(); url != secret || err != nil {
		t.Errorf("%q, %v", url, err)
	}
	_, err = parseVendor(file, []byte(`version: 1
vendor: 简米科技
ssh: {}
types: []
channels:
  - {name: ops, kind: slack, url: "https://hooks.slack.example/services/very-secret"}
  - {name: ops, kind: pigeon}
  - {name: lost, kind: wecom, url_file: no-such.url}
remind: 2h
deliver: 1h
`))
	for _, want := range []string{":3:", "names no key", ":4:", "names no type", ":6:", "keep it in a file of its own", ":7:", "pigeon", "another channel has this name", ":8:", "no such file", ":9:", "before the delivery's own end"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("nothing says %q", want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "very-secret") {
		t.Error("a secret is shown")
	}
	if t.Failed() {
		t.Log(err)
	}
}

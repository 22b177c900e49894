package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// victimVariable makes the test's own program a server that will be killed.
const victimVariable = "SPILLWAY_TEST_VICTIM"

// beVictim rents and ends machines in dir, saying each answered step on
// standard output, until it is killed.
func beVictim(dir string) {
	w, err := server.ParseWorld([]byte(strings.NewReplacer("boot: 1m", "boot: 1ms", "stop: 10s", "stop: 1ms").Replace(plain)))
	if err != nil {
		panic(err)
	}
	s, err := server.Open(context.Background(), server.Options{Dir: dir, World: w, Host: server.NewNullHost()})
	if err != nil {
		panic(err)
	}
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "address.part"), []byte(addr.String()), 0o644); err != nil {
		panic(err)
	}
	if err := os.Rename(filepath.Join(dir, "address.part"), filepath.Join(dir, "address")); err != nil {
		panic(err)
	}
	select {}
}

// TestServerSurvivesKill kills a server at random moments of its work and
// wants every machine it ever answered for, once, in the ledger and the state.
func TestServerSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	promised := map[string]string{} // token to machine
	for round := range 12 {
		victim, address := startVictim(t, dir)
		timer := time.AfterFunc(time.Duration(20+rand.IntN(250))*time.Millisecond, func() {
			_ = victim.Process.Kill() // Wait tells.
		})
		burden(t, dir, address, round, promised)
		timer.Stop()
		if err := victim.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("the server ended by itself: %v", err)
		}
	}
	w, err := server.ParseWorld([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, dir: dir, world: w, clock: newClock(), host: server.NewNullHost()}
	r.clock.now = time.Now().Add(time.Hour)
	r.open()
	defer r.close()
	entries, j := r.ledger()
	started := map[string]string{}
	for _, e := range entries {
		if e.Kind == wire.EntryStart {
			started[e.Token] = e.Machine
		}
	}
	for token, machine := range promised {
		if started[token] != machine {
			t.Errorf("token %s: promised %s, the ledger has %q", token, machine, started[token])
		}
	}
	if len(promised) < 5 || len(j.Doubles) > 0 {
		t.Errorf("%d machines promised; made twice: %v", len(promised), j.Doubles)
	}
	t.Logf("%d machines promised, %d started over 12 kills", len(promised), j.Machines)
}

// startVictim starts a server and waits until it serves.
func startVictim(t *testing.T, dir string) (victim *exec.Cmd, address string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, "address")); err != nil {
		t.Fatal(err)
	}
	victim = exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), victimVariable+"="+dir)
	victim.Stderr = os.Stderr
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(dir, "address"))
		if err == nil {
			return victim, string(text)
		}
		if time.Now().After(deadline) {
			_ = victim.Process.Kill() // The test fails either way.
			t.Fatalf("the server does not serve: %v", errors.Join(err, victim.Wait()))
		}
	}
}

// burden orders and ends machines until the server is gone.
func burden(t *testing.T, dir, address string, round int, promised map[string]string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for n := 0; ; n++ {
		q := order("on-demand", 1)
		q.Token = fmt.Sprintf("round-%d-%d", round, n)
		id, err := callVictim(client, dir, address, q)
		if err != nil {
			return
		}
		if id == "" {
			continue
		}
		promised[q.Token] = id
		again, err := callVictim(client, dir, address, q)
		if err == nil && again != id {
			t.Errorf("token %s: %s, then %s", q.Token, id, again)
		}
	}
}

// callVictim orders one machine and ends it; it returns the machine's id, "" if the
// order was refused, and an error when the server is gone.
func callVictim(client *http.Client, dir, address string, q wire.Create) (string, error) {
	secret, err := os.ReadFile(filepath.Join(dir, "tokens", "nimbus-beta"))
	if err != nil {
		return "", err
	}
	do := func(method, path string, body any, out any) error {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		req, err := http.NewRequest(method, "http://"+address+"/v1/nimbus"+path, bytes.NewReader(text))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(secret)))
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return json.NewDecoder(resp.Body).Decode(out)
	}
	var made wire.Created
	if err := do(http.MethodPost, "/instances", q, &made); err != nil || made.Operation == nil {
		return "", err
	}
	id := made.Operation.Instances[0]
	var ended wire.Instance
	// Its end need not be answered.
	_ = do(http.MethodDelete, "/instances/"+id, nil, &ended)
	return id, nil
}

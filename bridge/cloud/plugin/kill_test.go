package plugin_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/cloudtest/killed"
	"spillway.sh/spillway/bridge/cloud/local/server"
	"spillway.sh/spillway/bridge/cloud/plugin"
)

// tokenFile names the account of a driver that will be killed.
const tokenFile = "SPILLWAY_TEST_TOKEN_FILE"

func openVictim(url string) (killed.Cloud, error) {
	text, err := json.Marshal(settings{URL: url, TokenFile: os.Getenv(tokenFile), Idempotency: "none"})
	if err != nil {
		return nil, err
	}
	if err := os.Setenv(asPlugin, "1"); err != nil { // for what it starts
		return nil, err
	}
	return plugin.New(plugin.Config{Name: "nimbus", Command: []string{os.Args[0]}, Env: []string{asPlugin}, Settings: text})
}

// A plugin whose bridge was killed may go on for a moment. Its cloud has no
// tokens here: what saves it is the list that is read before each create.
func TestC_F08_FiftyKillsBetweenAcceptAndReplyMakeNoSecondMachine(t *testing.T) {
	w, err := server.ParseWorld([]byte(strings.ReplaceAll(world, `"12.80", stock: 6`, `"12.80", stock: 100`)))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s, err := server.Open(t.Context(), server.Options{Dir: dir, World: w, Host: server.NewNullHost()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	pool := bridge.Pool{Cloud: "nimbus", Region: "east", Zone: "east-1", Type: "gpu8", Market: bridge.OnDemand}
	killed.Run(t, &killed.Rig{
		Handler: s.Handler(),
		Creates: func(r *http.Request, _ []byte) bool {
			return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/instances")
		},
		Env:     []string{tokenFile + "=" + s.TokenFile("nimbus", "default")},
		Launch:  func(round int) bridge.Launch { return killed.Frozen(round, pool) },
		Started: func() ([]killed.Start, error) { return killed.Ledger(filepath.Join(dir, "ledger.jsonl")) },
	})
}

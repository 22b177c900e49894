package killed

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"time"

	"spillway.sh/spillway/bridge"
)

// Frozen is a create of one machine in a pool, as an engine freezes it.
func Frozen(round int, p bridge.Pool) bridge.Launch {
	id := bridge.NewRentalID(int64(round) + 1)
	l := bridge.Launch{
		Rental: id, Attempt: 1, Count: 1, Pool: p, UserData: "#!/bin/sh\n", Expires: time.Now().UTC().Add(time.Hour).Truncate(time.Second),
		Tags: map[string]string{bridge.TagStore: "st", bridge.TagCluster: "cl", bridge.TagRental: string(id), bridge.TagAttempt: "1"},
	}
	l.Token = bridge.Token("st", l)
	return l
}

// Ledger reads the starts in a ledger of the local cloud's server.
func Ledger(path string) ([]Start, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []Start
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var e struct {
			Kind, Machine string
			Tags          map[string]string
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		if e.Kind == "start" {
			out = append(out, Start{e.Machine, e.Tags})
		}
	}
	return out, nil
}

package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// Fault asks the clouds' server for one.
func (s *Stage) Fault(ctx context.Context, f wire.Fault) error {
	if err := s.order(ctx, wire.Faults{Faults: []wire.Fault{f}}); err != nil {
		return fmt.Errorf("ask the cloud for %s: %w", f.Kind, err)
	}
	return nil
}

func (s *Stage) order(ctx context.Context, what wire.Faults) error {
	token, err := os.ReadFile(s.Token("admin"))
	if err != nil {
		return err
	}
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.CloudURL()+"/v1/faults", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
		return fmt.Errorf("%s: %s", res.Status, text)
	}
	return nil
}

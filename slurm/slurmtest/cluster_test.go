package slurmtest

import (
	"os"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/sandbox"
)

func TestX(t *testing.T) {
	v := os.Getenv("V")
	st := time.Now()
	c, err := Start(t.Context(), Options{Version: v, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("up", time.Since(st))
	if os.Getenv("KEEP") != "" {
		t.Log(c.Dir())
		<-t.Context().Done()
		time.Sleep(time.Hour)
	}
	defer c.Close(t.Context())
	id, err := c.Submit(t.Context(), sandbox.Alice, "#!/bin/bash\nsleep 1\n", "--gres=gpu:8")
	if err != nil {
		t.Fatal(err)
	}
	t.Log(c.WaitJob(t.Context(), id, "COMPLETED"))
}

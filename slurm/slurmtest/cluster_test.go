package slurmtest

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/sandbox"
)

func TestX(t *testing.T) {
	v := os.Getenv("V")
	ctx, _ := signal.NotifyContext(t.Context(), os.Interrupt)
	st := time.Now()
	c, err := Start(ctx, Options{Version: v, Progress: os.Stderr, Accounting: os.Getenv("DBD") != "", Dir: os.Getenv("D")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	t.Log("up", time.Since(st))
	j := c.Join()
	for _, n := range []string{"sw-a", "sw-b"} {
		m, err := sandbox.Start(ctx, sandbox.Spec{Dir: filepath.Join(c.Dir(), "machines"), Name: n, Image: j.Image, Network: j.Network, GPUs: 8, Binds: j.Binds,
			Init: j.Script(NodeShape{Name: n, CPUs: 8, MemoryMiB: 64000, GPUType: "a100", GPUs: 8, Feature: "cloud"})})
		if err != nil {
			t.Fatal(err)
		}
		_ = m
	}
	if os.Getenv("KEEP") != "" {
		println(c.Dir())
		<-ctx.Done()
		return
	}
	id, err := c.Submit(t.Context(), sandbox.Alice, "#!/bin/bash\nsleep 1\n", "--gres=gpu:8")
	if err != nil {
		t.Fatal(err)
	}
	t.Log(c.WaitJob(t.Context(), id, "COMPLETED"))
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/alecthomas/kong"
	"github.com/posener/complete"
	"github.com/willabides/kongplete"

	"spillway.sh/spillway/bridge/desk"
	"spillway.sh/spillway/bridge/desk/socket"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh" help:"bash or zsh."`
}

// Help gives examples.
func (completionCmd) Help() string {
	return `Examples:
  source <(spillway completion bash)                       for this shell
  spillway completion bash > /etc/bash_completion.d/spillway
  spillway completion zsh >> ~/.zshrc

Ids of rentals and jobs are completed too, while the daemon answers.`
}

// Run prints what a shell reads to complete this command.
func (c *completionCmd) Run(a *app) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this command: %w", err)
	}
	if c.Shell == "zsh" {
		fmt.Fprintln(a.out, "autoload -U +X compinit && compinit")
		fmt.Fprintln(a.out, "autoload -U +X bashcompinit && bashcompinit")
	}
	fmt.Fprintf(a.out, "complete -C %q %s\n", exe, filepath.Base(exe))
	return nil
}

// completing reports whether a shell asks for the next word.
func completing() bool { return os.Getenv("COMP_LINE") != "" }

// patience is how long a shell may wait for ids.
const patience = 300 * time.Millisecond

// completeWords answers a shell.
func completeWords(parser *kong.Kong) {
	kongplete.Complete(parser, kongplete.WithPredictors(map[string]complete.Predictor{
		"rental": complete.PredictFunc(func(complete.Args) []string { return openRentals() }),
		"job":    complete.PredictFunc(func(complete.Args) []string { return waitingJobs() }),
		"file":   complete.PredictFiles("*"),
	}), kongplete.WithExitFunc(func(code int) { panic(leave(code)) }))
}

func openRentals() []string {
	got, err := quick(desk.AskRentals, desk.RentalsRequest{})
	if err != nil {
		return nil // a shell that completes nothing is better than one that complains
	}
	ids := make([]string, 0, len(got.Rentals))
	for i := range got.Rentals {
		ids = append(ids, string(got.Rentals[i].ID))
	}
	return ids
}

func waitingJobs() []string {
	got, err := quick(desk.AskQueue, desk.QueueRequest{Limit: queueRows})
	if err != nil {
		return nil // as above
	}
	ids := make([]string, 0, len(got.Jobs))
	for i := range got.Jobs {
		ids = append(ids, string(got.Jobs[i].Job))
	}
	return ids
}

func quick[Q, A any](what desk.Ask[Q, A], q Q) (A, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	path := os.Getenv("SPILLWAY_SOCKET")
	if path == "" {
		path = defaultSocket
	}
	client := socket.NewClient(path)
	defer client.Close()
	return socket.Call(ctx, client, what, q)
}

package bot_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
	"go.uber.org/goleak"

	"spillway.sh/spillway/bot"
	"spillway.sh/spillway/bot/slackd"
)

// slackdVariable makes the test binary a local Slack with this state folder.
const slackdVariable = "SPILLWAY_TEST_SLACKD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(slackdVariable); dir != "" {
		if err := beSlack(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// crowd is how many people press at once.
const crowd = 50

func personOf(i int) string { return fmt.Sprintf("U0CROWD%02d", i) }

// beSlack is a local Slack with a crowd in it; it prints its address and its
// tokens' folder.
func beSlack(dir string) error {
	w := slackd.DefaultWorkspace()
	for i := range crowd {
		w.Users = append(w.Users, &slackd.User{ID: personOf(i), Name: fmt.Sprintf("crowd%02d", i), Locale: "en-US", Zone: "UTC", TeamID: team})
		w.Channels[1].Members = append(w.Channels[1].Members, personOf(i))
	}
	s, err := slackd.New(slackd.Options{State: dir, Workspace: w, Speed: fast})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return s.Serve(ctx, l)
}

// startSlack runs a local Slack in a process of its own.
func startSlack(b *testing.B) (base string, token func(name string) string) {
	b.Helper()
	dir := b.TempDir()
	c := exec.Command(os.Args[0]) //nolint:noctx // Ended below.
	c.Env = append(os.Environ(), slackdVariable+"="+dir)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			b.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return "http://" + strings.TrimSpace(line), func(name string) string {
		text, err := os.ReadFile(dir + "/tokens/" + name)
		if err != nil {
			b.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
}

// BenchmarkAcknowledge has fifty people type commands at once into a Slack of
// another process, and reports how long Slack waited for the acknowledgements.
func BenchmarkAcknowledge(b *testing.B) {
	base, token := startSlack(b)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: crowd}}
	b.Cleanup(client.CloseIdleConnections)
	api := func() *slack.Client {
		return slack.New(token("bot"), slack.OptionAPIURL(base+"/api/"), slack.OptionAppLevelToken(token("app")), slack.OptionHTTPClient(client))
	}
	r := &rig{t: b, talker: &talker{}, dir: b.TempDir(), log: &lines{}, metrics: prometheus.NewRegistry()}
	r.Client = &slackd.Client{Base: base, Token: token("control"), HTTP: client}
	r.options = bot.Options{
		Conversation: r.talker, Teller: r.talker, People: host, Accounts: bot.Accounts{Users: map[string]string{}}, Channel: burst,
		Slack: api(), Socket: func() *socketmode.Client { return socketmode.New(api()) }, HTTP: client, Hosts: []string{strings.TrimPrefix(base, "http://")},
		Log: slog.New(slog.DiscardHandler), Speed: fast,
	}
	for i := range crowd {
		r.options.Accounts.Users[team+"/"+personOf(i)] = fmt.Sprintf("crowd%02d", i)
	}
	r.begin()
	defer r.end()

	b.ResetTimer()
	var took []float64
	var mu sync.Mutex
	var next atomic.Int64
	var wg sync.WaitGroup
	for i := range crowd {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				out, err := r.Command(context.Background(), personOf(i), burst, fmt.Sprintf("/rent %dxh100 for 2h", n))
				if err != nil || out.Outcome != "acked" {
					b.Errorf("%+v, %v", out, err)
					return
				}
				mu.Lock()
				took = append(took, out.AckMS)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	slices.Sort(took)
	if len(took) == 0 {
		b.Fatal("nothing was acknowledged")
	}
	p99 := took[min(len(took)-1, len(took)*99/100)]
	b.ReportMetric(took[len(took)/2], "ack-p50-ms")
	b.ReportMetric(p99, "ack-p99-ms")
	if p99 >= 500 {
		b.Errorf("99 of 100 acknowledgements within %.0f ms, want 500", p99)
	}
	r.until("all are answered", func() bool { return r.talker.times() == len(took) })
}

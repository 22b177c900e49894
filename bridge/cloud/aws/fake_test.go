package aws_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"spillway.sh/spillway/bridge/cloud/aws"
)

// fake is a server that answers EC2's calls as it is told and keeps what was asked.
type fake struct {
	mu      sync.Mutex
	asked   []url.Values
	answers map[string]func(url.Values) (int, string)
}

const fakeImage = `<imagesSet><item><imageId>ami-0123456789abcdef0</imageId><imageState>available</imageState><architecture>x86_64</architecture>` +
	`<rootDeviceName>/dev/sda1</rootDeviceName><blockDeviceMapping>` +
	`<item><deviceName>/dev/sda1</deviceName><ebs><volumeSize>8</volumeSize><deleteOnTermination>true</deleteOnTermination></ebs></item>` +
	`<item><deviceName>/dev/sdb</deviceName><ebs><volumeSize>100</volumeSize><deleteOnTermination>false</deleteOnTermination></ebs></item>` +
	`</blockDeviceMapping></item></imagesSet>`

// ServeHTTP implements http.Handler.
func (f *fake) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		out.WriteHeader(http.StatusBadRequest)
		return
	}
	action := r.PostForm.Get("Action")
	f.mu.Lock()
	f.asked = append(f.asked, r.PostForm)
	answer := f.answers[action]
	f.mu.Unlock()
	status, body := http.StatusOK, ""
	switch {
	case answer != nil:
		status, body = answer(r.PostForm)
	case action == "DescribeImages":
		body = fakeImage
	}
	out.Header().Set("Content-Type", "text/xml")
	if status != http.StatusOK {
		out.WriteHeader(status)
		_, _ = out.Write([]byte(body))
		return
	}
	_, _ = fmt.Fprintf(out, `<%[1]sResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId>%[2]s</%[1]sResponse>`, action, body)
}

// refusal is an answer with a code.
func refusal(status int, code, message string) func(url.Values) (int, string) {
	return func(url.Values) (int, string) {
		return status, fmt.Sprintf(`<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>r</RequestID></Response>`, code, message)
	}
}

// calls are those of an action, in order.
func (f *fake) calls(action string) []url.Values {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []url.Values
	for _, q := range f.asked {
		if q.Get("Action") == action {
			out = append(out, q)
		}
	}
	return out
}

// faked is a driver on a fake server, in one region.
func faked(t *testing.T, answers map[string]func(url.Values) (int, string), change func(*aws.Config)) (*fake, *aws.Cloud) {
	t.Helper()
	f := &fake{answers: answers}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	r := &rig{T: t}
	c := aws.Config{
		Name: "nimbus", Endpoint: s.URL, Regions: []aws.Region{{Name: east, Image: "ami-0123456789abcdef0"}}, Limits: aws.NewLimits(100),
		CredentialsFile: r.credentialsFile("AKIDNIMBUS", "very-secret"), Timeout: 5 * time.Second,
	}
	if change != nil {
		change(&c)
	}
	cloud, err := aws.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return f, cloud
}

// made answers a RunInstances with machines.
func made(n int) func(url.Values) (int, string) {
	return func(url.Values) (int, string) {
		var items strings.Builder
		for i := range n {
			fmt.Fprintf(&items, `<item><instanceId>i-%017d</instanceId><instanceState><name>pending</name></instanceState><launchTime>2026-12-01T03:00:00.000Z</launchTime></item>`, i+1)
		}
		return http.StatusOK, `<reservationId>r-1</reservationId><instancesSet>` + items.String() + `</instancesSet>`
	}
}

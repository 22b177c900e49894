package honest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
)

// line is one call as clients are told it.
type line struct {
	Service  string          `json:"service"`
	Op       string          `json:"op,omitempty"`
	Waiter   string          `json:"waiter,omitempty"`
	Pages    int             `json:"pages,omitempty"`
	Region   string          `json:"region"`
	Endpoint string          `json:"endpoint"`
	Params   json.RawMessage `json:"params"`
}

// reply is what a client made of an answer.
type reply struct {
	Code    string         `json:"code"` // empty: success
	Status  int            `json:"status"`
	Message string         `json:"message"`
	Answer  map[string]any `json:"answer"`
}

// client is somebody who speaks to EC2.
type client interface {
	name() string
	do(t *testing.T, l line) reply
}

// site is whom and where clients speak to.
type site struct {
	endpoint, key, secret string
}

func (s site) env(t *testing.T) []string {
	t.Helper()
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=C.UTF-8", "AWS_PAGER=", "AWS_EC2_METADATA_DISABLED=true", "AWS_MAX_ATTEMPTS=1",
		"AWS_ACCESS_KEY_ID=" + s.key, "AWS_SECRET_ACCESS_KEY=" + s.secret, "AWS_DEFAULT_REGION=" + region, "AWS_CLI_AUTO_PROMPT=off",
	}
}

// boto is boto3 in a process of its own.
type boto struct {
	title string
	in    io.WriteCloser
	out   *bufio.Reader
}

// newBoto starts an interpreter that has boto3.
func newBoto(t *testing.T, python string, s site) *boto {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python, "testdata/drive.py")
	cmd.Env = s.env(t)
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("%s: %v: %s", python, err, &said)
		}
	})
	b := &boto{in: in, out: bufio.NewReader(out)}
	var v struct{ Boto3 string }
	if err := b.read(&v); err != nil {
		t.Fatalf("%s: %v: %s", python, err, &said)
	}
	b.title = "boto3 " + v.Boto3
	return b
}

func (b *boto) read(to any) error {
	text, err := b.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

func (b *boto) name() string { return b.title }

func (b *boto) do(t *testing.T, l line) reply {
	t.Helper()
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.in.Write(append(text, '\n')); err != nil {
		t.Fatal(err)
	}
	var r reply
	if err := b.read(&r); err != nil {
		t.Fatal(err)
	}
	return r
}

// cli is the AWS command line.
type cli struct {
	title, program string
	env            []string
}

func newCLI(t *testing.T, program string, s site) *cli {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), program, "--version").CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", program, err, said)
	}
	version, _, _ := strings.Cut(string(said), " ")
	return &cli{title: version, program: program, env: s.env(t)}
}

func (c *cli) name() string { return c.title }

var (
	cliError = regexp.MustCompile(`An error occurred \(([^)]+)\) when calling`)
	capitals = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

func (c *cli) do(t *testing.T, l line) reply {
	t.Helper()
	verb := strings.ToLower(capitals.ReplaceAllString(l.Op, "$1-$2"))
	args := []string{l.Service, verb, "--endpoint-url", l.Endpoint, "--region", l.Region, "--output", "json", "--cli-input-json", string(l.Params)}
	if l.Pages > 0 {
		args = append(args, "--page-size", fmt.Sprint(l.Pages))
	} else if strings.HasPrefix(l.Op, "Describe") {
		args = append(args, "--no-paginate")
	}
	cmd := exec.CommandContext(t.Context(), c.program, args...)
	cmd.Env = c.env
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		m := cliError.FindStringSubmatch(said.String())
		if m == nil {
			return reply{Code: "client", Message: said.String()}
		}
		return reply{Code: m[1], Message: said.String()}
	}
	r := reply{Status: 200}
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &r.Answer); err != nil {
			t.Fatalf("%s %s: %v: %s", c.title, verb, err, &out)
		}
	}
	return r
}

// sdk is AWS's SDK for Go, with which our driver speaks.
type sdk struct{ site site }

func (s *sdk) name() string { return "aws-sdk-go-v2" }

func (s *sdk) config(l line) aws.Config {
	return aws.Config{
		Region: l.Region, BaseEndpoint: aws.String(l.Endpoint), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(s.site.key, s.site.secret, ""),
		HTTPClient:  awshttp.NewBuildableClient(),
	}
}

// call makes one call of an SDK's client with parameters from JSON.
func call[I, O, Opt any](f func(context.Context, *I, ...func(*Opt)) (*O, error)) func(context.Context, []byte) (any, error) {
	return func(ctx context.Context, params []byte) (any, error) {
		in := new(I)
		d := json.NewDecoder(bytes.NewReader(params))
		d.DisallowUnknownFields()
		if err := d.Decode(in); err != nil {
			return nil, err
		}
		return f(ctx, in)
	}
}

func (s *sdk) calls(l line) map[string]func(context.Context, []byte) (any, error) {
	c, who := ec2.NewFromConfig(s.config(l)), sts.NewFromConfig(s.config(l))
	return map[string]func(context.Context, []byte) (any, error){
		"RunInstances": call(c.RunInstances), "TerminateInstances": call(c.TerminateInstances),
		"CreateTags": call(c.CreateTags), "DescribeInstances": call(c.DescribeInstances),
		"DescribeInstanceTypes": call(c.DescribeInstanceTypes), "DescribeInstanceTypeOfferings": call(c.DescribeInstanceTypeOfferings),
		"DescribeSpotPriceHistory": call(c.DescribeSpotPriceHistory), "DescribeImages": call(c.DescribeImages),
		"DescribeSubnets": call(c.DescribeSubnets), "DescribeInstanceStatus": call(c.DescribeInstanceStatus),
		"DescribeSpotInstanceRequests": call(c.DescribeSpotInstanceRequests), "DescribeAvailabilityZones": call(c.DescribeAvailabilityZones),
		"DescribeSecurityGroups": call(c.DescribeSecurityGroups), "GetCallerIdentity": call(who.GetCallerIdentity),
	}
}

func (s *sdk) do(t *testing.T, l line) reply {
	t.Helper()
	f := s.calls(l)[l.Op]
	if f == nil {
		t.Fatalf("the SDK is not asked for %s", l.Op)
	}
	answer, err := f(t.Context(), encoded(t, l.Params))
	r := reply{Status: 200}
	var said smithy.APIError
	var sent *awshttp.ResponseError
	switch {
	case err == nil:
	case errors.As(err, &said):
		r.Code, r.Message = said.ErrorCode(), said.ErrorMessage()
		if errors.As(err, &sent) {
			r.Status = sent.HTTPStatusCode()
		}
		return r
	case errors.As(err, &sent):
		return reply{Code: "not EC2's", Status: sent.HTTPStatusCode(), Message: err.Error()}
	default:
		return reply{Code: "client", Message: err.Error()}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r.Answer); err != nil {
		t.Fatal(err)
	}
	delete(r.Answer, "ResultMetadata")
	return r
}

// encoded writes user-data as this SDK wants it from its callers; the others do
// that themselves.
func encoded(t *testing.T, params []byte) []byte {
	t.Helper()
	var said map[string]any
	if err := json.Unmarshal(params, &said); err != nil {
		t.Fatal(err)
	}
	data, ok := said["UserData"].(string)
	if !ok {
		return params
	}
	said["UserData"] = base64.StdEncoding.EncodeToString([]byte(data))
	params, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	return params
}

const (
	debianPython = "/usr/bin/python3"
	debianCLI    = "/usr/bin/aws"
)

// newer is an interpreter of the machine's that has another boto3 than Debian's,
// with the command line beside it; empty: there is none.
func newer(t *testing.T) (python, program string) {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		said, err := exec.CommandContext(t.Context(), filepath.Join(dir, "python3"), "-c", "import boto3, sys; print(sys.executable)").Output()
		if python = strings.TrimSpace(string(said)); err != nil || python == debianPython {
			continue
		}
		if program = filepath.Join(filepath.Dir(python), "aws"); exec.CommandContext(t.Context(), program, "--version").Run() != nil {
			program = ""
		}
		return python, program
	}
	return "", ""
}

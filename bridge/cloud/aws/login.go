package aws

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	"golang.org/x/time/rate"

	"spillway.sh/spillway/bridge"
)

// login is the SDK's configuration, read when it is first needed: what is wrong
// with it stops this cloud and no other.
type login struct {
	mu     sync.Mutex
	config *aws.Config
}

// carrier carries calls to AWS. A transport repeats some calls by itself when a
// kept connection breaks; on a connection of its own each is sent once and its
// failure is seen.
func carrier(timeout time.Duration) *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTimeout(timeout).WithTransportOptions(func(t *http.Transport) { t.DisableKeepAlives = true })
}

// whole hands requests over with a body that is theirs. The SDK closes its own as
// soon as there is an answer, and when that comes at once the transport may still
// be at the body's end: it takes that for a failed write, and closes the
// connection that the answer is being read from.
type whole struct{ client aws.HTTPClient }

// Do implements aws.HTTPClient.
func (w whole) Do(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		text, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, fmt.Errorf("read request: %w", err)
		}
		req = req.WithContext(req.Context()) // a copy
		req.Body = io.NopCloser(bytes.NewReader(text))
	}
	return w.client.Do(req)
}

// open returns the SDK's configuration with credentials that are there.
func (c *Cloud) open(ctx context.Context) (aws.Config, error) {
	conf, err := c.loaded(ctx)
	if err != nil {
		return aws.Config{}, err
	}
	if conf.Credentials == nil {
		return aws.Config{}, errors.New("no credentials are found")
	}
	if _, err := conf.Credentials.Retrieve(ctx); err != nil {
		return aws.Config{}, fmt.Errorf("get credentials: %w", err)
	}
	return conf, nil
}

// wrongKey are the codes for credentials that are not good, or not any more.
var wrongKey = []string{"AuthFailure", "InvalidClientTokenId", "SignatureDoesNotMatch", "UnrecognizedClientException", "ExpiredToken", "ExpiredTokenException"}

// forget has the next call read credentials anew: who changes a key need not
// start us again.
func (c *Cloud) forget() {
	c.login.mu.Lock()
	defer c.login.mu.Unlock()
	c.login.config = nil
}

func (c *Cloud) loaded(ctx context.Context) (aws.Config, error) {
	c.login.mu.Lock()
	defer c.login.mu.Unlock()
	if c.login.config != nil {
		return *c.login.config, nil
	}
	opts := []func(*awsconfig.LoadOptions) error{
		awsconfig.WithRegion(c.order[0]),
		// What is sent again is the engine's decision.
		awsconfig.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }),
		awsconfig.WithHTTPClient(carrier(c.config.Timeout)),
		awsconfig.WithLogger(logging.Nop{}),
		awsconfig.WithAppID("spillway"),
	}
	if c.config.Profile != "" {
		opts = append(opts, awsconfig.WithSharedConfigProfile(c.config.Profile))
	}
	if c.config.CredentialsFile != "" {
		opts = append(opts, awsconfig.WithSharedCredentialsFiles([]string{c.config.CredentialsFile}))
	}
	if c.config.Endpoint != "" {
		opts = append(opts, awsconfig.WithBaseEndpoint(c.config.Endpoint))
	}
	conf, err := awsconfig.LoadDefaultConfig(ctx, opts...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("read the SDK's configuration: %w", err)
	}
	if b, ok := conf.HTTPClient.(*awshttp.BuildableClient); ok {
		conf.HTTPClient = whole{b.Freeze()}
	}
	if c.config.Role != "" {
		provider := stscreds.NewAssumeRoleProvider(sts.NewFromConfig(conf), c.config.Role, func(o *stscreds.AssumeRoleOptions) {
			o.RoleSessionName = "spillway"
		})
		conf.Credentials = aws.NewCredentialsCache(provider)
	}
	c.login.config = &conf
	return conf, nil
}

// services are one region's, as the SDK has them. Prices are told in a few regions
// only, for all of a partition.
type services struct {
	ec2     *ec2.Client
	quotas  *servicequotas.Client
	pricing *pricing.Client
	sts     *sts.Client
}

func (r *region) services(conf aws.Config) *services {
	conf.Region = r.Name
	prices := conf.Copy()
	switch {
	case strings.HasPrefix(r.Name, "cn-"):
		prices.Region = "cn-northwest-1"
	case strings.HasPrefix(r.Name, "eu-"):
		prices.Region = "eu-central-1"
	case strings.HasPrefix(r.Name, "ap-"):
		prices.Region = "ap-south-1"
	default:
		prices.Region = "us-east-1"
	}
	return &services{
		ec2: ec2.NewFromConfig(conf), quotas: servicequotas.NewFromConfig(conf), pricing: pricing.NewFromConfig(prices), sts: sts.NewFromConfig(conf),
	}
}

// ask sends one call, once, when its limit lets it. All its errors are
// *bridge.CloudError.
func ask[Out any](ctx context.Context, c *Cloud, r *region, op string, limit *rate.Limiter, f func(context.Context, *services) (*Out, error)) (*Out, error) {
	fail := func(kind bridge.CloudErrorKind, err error) (*Out, error) {
		return nil, &bridge.CloudError{Kind: kind, Op: op, Cloud: c.config.Name, Err: err}
	}
	if err := ctx.Err(); err != nil {
		return fail(bridge.CloudThrottled, err) // Nothing was sent.
	}
	conf, err := c.open(ctx)
	if cause := ctx.Err(); err != nil && cause != nil {
		return fail(bridge.CloudThrottled, errors.Join(cause, err))
	}
	if err != nil {
		// Nothing was sent, and with these credentials nothing can be.
		e := &bridge.CloudError{Kind: bridge.CloudDenied, Op: op, Cloud: c.config.Name, Reach: bridge.ReachCloud, Err: err}
		if api, ok := errors.AsType[smithy.APIError](err); ok {
			e.Code, e.Message, e.Err = api.ErrorCode(), "no credentials: "+clip(api.ErrorMessage()), nil
		}
		return nil, e
	}
	if err := limit.Wait(ctx); err != nil {
		return fail(bridge.CloudThrottled, fmt.Errorf("wait for the rate limit: %w", err)) // Nothing was sent.
	}
	out, err := f(ctx, r.services(conf))
	if err != nil {
		e := c.fault(ctx, op, err)
		if slices.Contains(wrongKey, e.Code) {
			c.forget()
		}
		return nil, e
	}
	if out == nil {
		return fail(bridge.CloudUnknown, errNothing)
	}
	return out, nil
}

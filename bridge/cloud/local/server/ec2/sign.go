package ec2

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const (
	algorithm = "AWS4-HMAC-SHA256"
	dateForm  = "20060102T150405Z"
	// skewMost is how far a request's date may be from the server's.
	skewMost = 15 * time.Minute
)

// signature is what a request's Authorization header says.
type signature struct {
	key, day, region, service string
	headers                   []string
	value                     string
}

// readSignature reads the header, without believing it.
func readSignature(r *http.Request) (signature, *Refusal) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return signature{}, refuse("MissingAuthenticationToken", "Request is missing Authentication Token")
	}
	rest, ok := strings.CutPrefix(header, algorithm+" ")
	fields := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		fields[name] = value
	}
	scope := strings.Split(fields["Credential"], "/")
	if !ok || len(scope) != 5 || scope[4] != "aws4_request" || fields["SignedHeaders"] == "" || fields["Signature"] == "" {
		return signature{}, refuse("IncompleteSignature", "The request signature does not conform to AWS standards: %s with Credential, SignedHeaders and Signature is wanted", algorithm)
	}
	return signature{
		key: scope[0], day: scope[1], region: scope[2], service: scope[3],
		headers: strings.Split(fields["SignedHeaders"], ";"), value: fields["Signature"],
	}, nil
}

// verify computes the signature anew with the account's secret. The signer is
// the SDK's own.
func (s *signature) verify(r *http.Request, body []byte, secret string, now time.Time) *Refusal {
	at, err := time.Parse(dateForm, r.Header.Get("X-Amz-Date"))
	if err != nil {
		return refuse("IncompleteSignature", "The header X-Amz-Date is not a date such as %s", dateForm)
	}
	if at.Before(now.Add(-skewMost)) || at.After(now.Add(skewMost)) {
		return refuse("RequestExpired", "Request has expired. Timestamp date is %s; it is %s", at.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	wrong := refuse("SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.")
	if s.day != at.Format("20060102") || !slices.Contains(s.headers, "host") || !slices.Contains(s.headers, "x-amz-date") {
		return wrong
	}
	again := &http.Request{
		Method: r.Method, Host: r.Host, Header: http.Header{},
		URL: &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery},
	}
	for _, name := range s.headers {
		switch name {
		case "host": // It is the signer's own business, as is the next.
		case "content-length":
			again.ContentLength = int64(len(body))
		default:
			again.Header[http.CanonicalHeaderKey(name)] = r.Header.Values(name)
		}
	}
	sum := sha256.Sum256(body)
	credentials := aws.Credentials{AccessKeyID: s.key, SecretAccessKey: secret}
	if err := v4.NewSigner().SignHTTP(r.Context(), credentials, again, hex.EncodeToString(sum[:]), s.service, s.region, at); err != nil {
		return wrong
	}
	want, no := readSignature(again)
	if no != nil || !slices.Equal(want.headers, s.headers) || subtle.ConstantTimeCompare([]byte(want.value), []byte(s.value)) != 1 {
		return wrong
	}
	return nil
}

// id derives a name such as ami-0123456789abcdef0 from what it stands for, so
// that it is the same after a restart.
func id(kind string, parts ...string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + strings.Join(parts, "\x00")))
	return kind + "-" + hex.EncodeToString(sum[:])[:17]
}

// MachineID is the id of a machine that EC2's words made, from the world's own.
func MachineID(own string) string { return id("i", own) }

// number derives the twelve digits of an account.
func number(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	n := uint64(0)
	for _, b := range sum[:7] {
		n = n<<8 | uint64(b)
	}
	text := strconv.FormatUint(n%1e12, 10)
	return strings.Repeat("0", 12-len(text)) + text
}

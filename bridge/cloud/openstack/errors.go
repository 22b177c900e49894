package openstack

import (
	"cmp"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"spillway.sh/spillway/bridge"
)

// The operations, as errors name them.
const (
	opOffers    = "offers"
	opCreate    = "create"
	opObserve   = "observe"
	opList      = "list"
	opTerminate = "terminate"
	opExtend    = "extend"
	opExamine   = "examine"
)

// retryMost is the longest pause that a cloud may ask for.
const retryMost = time.Hour

// refuse is a failure that we see ourselves, before the cloud is asked.
func (c *Cloud) refuse(op string, kind bridge.CloudErrorKind, code, message string) error {
	return &bridge.CloudError{Kind: kind, Op: op, Cloud: c.config.Name, Code: code, Message: message}
}

// fail makes a *bridge.CloudError of what a call gave; nil stays nil.
func (c *Cloud) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	if ce, ok := errors.AsType[*bridge.CloudError](err); ok {
		return ce
	}
	out := &bridge.CloudError{Kind: bridge.CloudUnknown, Op: op, Cloud: c.config.Name}
	if r, ok := unableToLogIn(err); ok {
		c.logout()
		err = r
	}
	var response gophercloud.ErrUnexpectedResponseCode
	var endpoint *gophercloud.ErrEndpointNotFound
	var endpointValue gophercloud.ErrEndpointNotFound
	var service *gophercloud.ErrServiceNotFound
	switch {
	case errors.As(err, &response):
		answer(out, &response)
		if response.Actual == http.StatusUnauthorized {
			c.logout()
		}
	case errors.As(err, &endpoint), errors.As(err, &endpointValue), errors.As(err, &service):
		out.Kind, out.Code, out.Reach = bridge.CloudInvalid, "EndpointNotFound", bridge.ReachRegion
		out.Message = "the catalogue has no such service in region " + c.config.Region + "; the region's name is as `openstack region list` has it"
	case errors.Is(err, errCredentials):
		out.Kind, out.Reach, out.Err = bridge.CloudDenied, bridge.ReachCloud, err
	default:
		out.Err = err
	}
	return out
}

// unableToLogIn returns why a session could not be begun anew.
func unableToLogIn(err error) (error, bool) {
	if e, ok := errors.AsType[*gophercloud.ErrUnableToReauthenticate](err); ok {
		return e.ErrReauth, true
	}
	if e, ok := errors.AsType[gophercloud.ErrUnableToReauthenticate](err); ok {
		return e.ErrReauth, true
	}
	return nil, false
}

// answer says what an HTTP status and the words with it mean.
func answer(out *bridge.CloudError, r *gophercloud.ErrUnexpectedResponseCode) {
	name, message := words(r.Body)
	out.Code, out.Message = strings.TrimSpace(strconv.Itoa(r.Actual)+" "+name), message
	says := func(part string) bool { return strings.Contains(strings.ToLower(message), part) }
	switch r.Actual {
	case http.StatusForbidden, http.StatusRequestEntityTooLarge:
		switch {
		case says("quota"):
			out.Kind, out.Reach = bridge.CloudQuota, bridge.ReachZones
		case says("too large"):
			out.Kind = bridge.CloudInvalid
		case r.Actual == http.StatusForbidden:
			out.Kind, out.Reach = bridge.CloudDenied, bridge.ReachCloud
		default:
			out.Kind, out.RetryAfter = bridge.CloudThrottled, retryAfter(r.ResponseHeader)
		}
	case http.StatusUnauthorized:
		out.Kind, out.Reach = bridge.CloudDenied, bridge.ReachCloud
	case http.StatusTooManyRequests, 498:
		out.Kind, out.RetryAfter = bridge.CloudThrottled, retryAfter(r.ResponseHeader)
	case http.StatusBadRequest, http.StatusNotAcceptable, http.StatusConflict:
		out.Kind = bridge.CloudInvalid
		if says("image") || says("network") || says("security group") || says("key_name") || says("version") {
			out.Reach = bridge.ReachRegion
		}
	case http.StatusNotFound:
		out.Kind = bridge.CloudNotFound
	default: // 5xx: what stands between may have passed the request on
		out.Kind = bridge.CloudUnknown
	}
}

// words reads the name and the text of an error in the forms of Nova, Keystone,
// Glance and Neutron; of what has none of them, the beginning.
func words(body []byte) (name, message string) {
	var forms map[string]json.RawMessage
	if json.Unmarshal(body, &forms) == nil {
		for key, raw := range forms {
			var one struct {
				Message string `json:"message"`
				Title   string `json:"title"`
				Type    string `json:"type"`
			}
			if json.Unmarshal(raw, &one) == nil && one.Message != "" {
				if key == "error" || key == "NeutronError" {
					key = cmp.Or(one.Type, one.Title)
				}
				return key, one.Message
			}
		}
		var text string
		if json.Unmarshal(forms["message"], &text) == nil && text != "" {
			return "", text
		}
	}
	const most = 200
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "?")), " ")
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return "", text
}

// retryAfter is the pause that an answer asks for.
func retryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || n < 0 {
		return 0
	}
	return min(time.Duration(min(n, 1<<20))*time.Second, retryMost)
}

// unsent makes the failure of what comes before a create one of which nothing
// came: it is tried again.
func unsent(err error) error {
	if e, ok := errors.AsType[*bridge.CloudError](err); ok && !e.Kind.Refused() {
		e.Op, e.Kind = opCreate, bridge.CloudThrottled
	}
	return err
}

// notReached reports whether a request never left: nobody listened.
func notReached(err error) bool {
	e, ok := errors.AsType[*net.OpError](err)
	return ok && e.Op == "dial"
}

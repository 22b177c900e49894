package aws

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"spillway.sh/spillway/bridge"
)

// The operations, as errors name them.
const (
	opCreate    = "create"
	opObserve   = "observe"
	opList      = "list"
	opTerminate = "terminate"
	opExtend    = "extend"
	opOffers    = "offers"
	opExamine   = "examine"
)

// retryMost is the longest pause that the cloud may ask for.
const retryMost = time.Hour

// meaning is what a code says.
type meaning struct {
	kind  bridge.CloudErrorKind
	reach bridge.Reach
}

func of(kind bridge.CloudErrorKind, codes ...string) map[string]meaning {
	return reaching(bridge.ReachPool, kind, codes...)
}

func reaching(reach bridge.Reach, kind bridge.CloudErrorKind, codes ...string) map[string]meaning {
	out := map[string]meaning{}
	for _, code := range codes {
		out[code] = meaning{kind, reach}
	}
	return out
}

// meanings are the codes that are known. How far missing rights reach the engine
// learns by itself: a region that an account has not opened answers as a wrong
// key does.
var meanings = merge(
	of(bridge.CloudNoCapacity,
		"InsufficientInstanceCapacity", "UnfulfillableCapacity", "Unsupported", "InsufficientFreeAddressesInSubnet",
		"ReservationCapacityExceeded", "InsufficientHostCapacity", "InsufficientCapacity", "InsufficientReservedInstanceCapacity",
		"InsufficientVolumeCapacity", "InsufficientAddressCapacity"),
	of(bridge.CloudPrice, "SpotMaxPriceTooLow"),
	reaching(bridge.ReachZones, bridge.CloudQuota,
		"VcpuLimitExceeded", "MaxSpotInstanceCountExceeded", "InstanceLimitExceeded"),
	reaching(bridge.ReachRegion, bridge.CloudQuota,
		"MaxFleetCountExceeded", "VolumeLimitExceeded", "MaxIOPSLimitExceeded", "NetworkInterfaceLimitExceeded", "ResourceLimitExceeded"),
	of(bridge.CloudDenied,
		"AuthFailure", "UnauthorizedOperation", "InvalidClientTokenId", "SignatureDoesNotMatch", "IncompleteSignature",
		"MissingAuthenticationToken", "UnrecognizedClientException", "AccessDenied", "AccessDeniedException", "OperationNotPermitted",
		"InvalidSignatureException", "MissingAuthenticationTokenException", "SubscriptionRequiredException"),
	reaching(bridge.ReachRegion, bridge.CloudDenied, "OptInRequired", "PendingVerification"),
	reaching(bridge.ReachCloud, bridge.CloudDenied, "Blocked", "ExpiredToken", "ExpiredTokenException", "RequestExpired",
		"InvalidSecurity.RequestHasExpired"),
	of(bridge.CloudInvalid,
		"InvalidParameterValue", "InvalidParameterCombination", "InvalidParameter", "MissingParameter", "UnknownParameter",
		"InvalidInstanceType", "InvalidSubnetID.NotFound", "InvalidSubnetID.Malformed", "InvalidSubnet", "InvalidTagKey.Malformed",
		"TagLimitExceeded", "InvalidUserData.Malformed", "InvalidBlockDeviceMapping", "UnsupportedOperation", "InvalidRequest",
		"RequestEntityTooLarge", "ValidationError", "ValidationException", "RequestResourceCountExceeded", "InvalidSpotInstanceRequestID.Malformed"),
	reaching(bridge.ReachRegion, bridge.CloudInvalid,
		"InvalidAMIID.NotFound", "InvalidAMIID.Malformed", "InvalidAMIID.Unavailable", "InvalidGroup.NotFound", "InvalidGroupId.Malformed",
		"InvalidKeyPair.NotFound", "InvalidSecurityGroupID.NotFound", "InvalidIamInstanceProfileArn.Malformed", "VPCIdNotSpecified"),
	of(bridge.CloudMismatch, "IdempotentParameterMismatch"),
	of(bridge.CloudThrottled,
		"RequestLimitExceeded", "Throttling", "ThrottlingException", "ThrottledException", "TooManyRequestsException", "EC2ThrottledException",
		"RequestThrottled", "RequestThrottledException", "BandwidthLimitExceeded", "SlowDown"),
	of(bridge.CloudNotFound, "InvalidInstanceID.NotFound", "InvalidInstanceID.Malformed"),
	// Machines were made under this token and have ended: no yes, and least of all
	// a proof that there were none. Lists tell.
	of(bridge.CloudUnknown, "IdempotentInstanceTerminated"),
)

func merge(parts ...map[string]meaning) map[string]meaning {
	out := map[string]meaning{}
	for _, p := range parts {
		for code, m := range p {
			out[code] = m
		}
	}
	return out
}

// meaningOf says what a code means that came with an HTTP status. A code that
// nobody knows proves that nothing was made only if it came as an error of the
// client's, which EC2 finds before it begins, and speaks of nothing that another
// call with the same token may have done. Then it is taken for what its name
// says, and another pool is tried; all else may hide an effect.
func meaningOf(code string, status int) meaning {
	if m, ok := meanings[code]; ok {
		return m
	}
	lower := strings.ToLower(code)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(lower, w) {
				return true
			}
		}
		return false
	}
	switch {
	case status == http.StatusTooManyRequests:
		return meaning{kind: bridge.CloudThrottled}
	case status < 400 || status > 499 || status == http.StatusRequestTimeout || status == http.StatusConflict,
		has("idempoten", "inprogress", "timeout", "timedout", "concurrent", "clienttoken", "internal", "unavailable"):
		return meaning{kind: bridge.CloudUnknown}
	case has("capacity", "insufficient", "soldout"):
		return meaning{kind: bridge.CloudNoCapacity}
	case has("limitexceeded", "quota"):
		return meaning{bridge.CloudQuota, bridge.ReachZones}
	}
	return meaning{kind: bridge.CloudInvalid}
}

// fault is a failed call in our words.
func (c *Cloud) fault(ctx context.Context, op string, err error) *bridge.CloudError {
	e := &bridge.CloudError{Kind: bridge.CloudUnknown, Op: op, Cloud: c.config.Name, Err: err}
	api, ok := errors.AsType[smithy.APIError](err)
	response, answered := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || !answered || api.ErrorCode() == "" || api.ErrorCode() == unnamed {
		if answered && response.HTTPStatusCode() > 0 {
			e.Code = strconv.Itoa(response.HTTPStatusCode())
		}
		if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
			e.Err = errors.Join(cause, err)
		}
		return e
	}
	e.Code, e.Message, e.Err = api.ErrorCode(), clip(api.ErrorMessage()), nil
	m := meaningOf(e.Code, response.HTTPStatusCode())
	e.Kind, e.Reach = m.kind, m.reach
	if seconds, err := strconv.Atoi(response.Response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(min(seconds, int(retryMost/time.Second))) * time.Second
	}
	return e
}

// unnamed is the SDK's code for an error that has none.
const unnamed = "UnknownError"

// messageMost is how much of a cloud's message is kept.
const messageMost = 300

// clip leaves of a message what people can use. The rest of some holds the request
// as it was signed, with the token of its session.
func clip(s string) string {
	for _, secret := range []string{"The Canonical String", "Encoded authorization failure message", "\n"} {
		s, _, _ = strings.Cut(s, secret)
	}
	s = strings.TrimSpace(s)
	if len(s) > messageMost {
		s = strings.ToValidUTF8(s[:messageMost], "") + "..."
	}
	return s
}

// blind makes a failed look's error one that refuses nothing.
func blind(e *bridge.CloudError) *bridge.CloudError {
	if e.Kind.Refused() {
		e.Kind = bridge.CloudUnknown
	}
	return e
}

// unsent makes an error of a call that is not the create itself one that says so:
// nothing happened, and it may be tried later.
func unsent(err error) error {
	if e, ok := errors.AsType[*bridge.CloudError](err); ok && (e.Kind == bridge.CloudUnknown || e.Kind == bridge.CloudNotFound) {
		e.Kind = bridge.CloudThrottled
	}
	return err
}

// noRoute judges a create that could not be sent: no connection came about. A
// region whose address nobody knows is none.
func (c *Cloud) noRoute(e *bridge.CloudError, region string) *bridge.CloudError {
	if dns, ok := errors.AsType[*net.DNSError](e.Err); ok && dns.IsNotFound {
		e.Kind, e.Reach = bridge.CloudInvalid, bridge.ReachRegion
		e.Message = "no address is known for region " + region + ": it does not exist, or this host resolves no names"
		return e
	}
	if dial, ok := errors.AsType[*net.OpError](e.Err); ok && dial.Op == "dial" {
		e.Kind = bridge.CloudThrottled
	}
	return e
}

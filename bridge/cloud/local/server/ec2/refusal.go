package ec2

import (
	"fmt"
	"net/http"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// Refusal is a call's failure in AWS's words.
type Refusal struct {
	Code    string
	Message string
	Status  int
}

func refuse(code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...), Status: statusOf(code)}
}

// statusOf is the HTTP status that a code comes with. A lack of capacity is one
// of the server's errors at EC2, so that clients repeat it unless told not to.
func statusOf(code string) int {
	switch code {
	case "InsufficientInstanceCapacity", "InternalError", "InternalFailure":
		return http.StatusInternalServerError
	case "RequestLimitExceeded", "Unavailable", "Throttling":
		return http.StatusServiceUnavailable
	case "AuthFailure":
		return http.StatusUnauthorized
	case "UnauthorizedOperation", "SignatureDoesNotMatch", "InvalidClientTokenId", "MissingAuthenticationToken", "OptInRequired":
		return http.StatusForbidden
	case "DryRunOperation":
		return http.StatusPreconditionFailed
	}
	return http.StatusBadRequest
}

// No is a refusal by the world, in its own words.
type No struct {
	wire.Error
	// Quota is what there is too much of, when that is the reason: machines, gpus
	// or vcpus.
	Quota string
}

// refusal says in EC2's words what the world refuses for machines of a market. A
// code that the world does not have by itself was set by a fault and stays.
func (n *No) refusal(market string) *Refusal {
	spot := market == string(bridge.Spot)
	switch n.Code {
	case wire.CodeNoCapacity:
		if spot {
			return refuse("InsufficientInstanceCapacity", "There is no Spot capacity available that matches your request.")
		}
		return refuse("InsufficientInstanceCapacity", "We currently do not have sufficient capacity in the Availability Zone you requested: %s.", n.Message)
	case wire.CodeQuota:
		switch {
		case spot:
			return refuse("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded: %s", n.Message)
		case n.Quota == "machines":
			return refuse("InstanceLimitExceeded", "You have requested more instances than your current instance limit allows: %s", n.Message)
		}
		return refuse("VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit allows: %s", n.Message)
	case wire.CodePrice:
		return refuse("SpotMaxPriceTooLow", "Your Spot request price is lower than the minimum required Spot request fulfillment price: %s", n.Message) //nolint:misspell // EC2's own words.
	case wire.CodeMismatch:
		return refuse("IdempotentParameterMismatch", "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).")
	case wire.CodeThrottled:
		return refuse("RequestLimitExceeded", "Request limit exceeded.")
	case wire.CodeUnauthorised:
		return refuse("AuthFailure", "AWS was not able to validate the provided access credentials")
	case wire.CodeForbidden:
		return refuse("UnauthorizedOperation", "You are not authorized to perform this operation.")
	case wire.CodeInvalid:
		return refuse("InvalidParameterValue", "%s", n.Message)
	case wire.CodeNotFound:
		return refuse("InvalidInstanceID.NotFound", "%s", n.Message)
	case wire.CodeBadPage:
		return refuse("InvalidNextToken", "The specified NextToken is not valid: %s", n.Message)
	case wire.CodeInternal:
		return refuse("InternalError", "An internal error has occurred")
	}
	return refuse(n.Code, "%s", n.Message)
}

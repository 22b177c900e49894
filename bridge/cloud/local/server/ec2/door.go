package ec2

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// bodyMost is the largest request.
const bodyMost = 256 << 10

// The names that requests are signed for.
const (
	serviceEC2     = "ec2"
	serviceSTS     = "sts"
	servicePricing = "pricing"
	serviceQuotas  = "servicequotas"
)

// action is one operation that is served.
type action struct {
	op string // as the world's faults and limits name it
	// takes are the parameters that have their effect, idle those that are taken
	// without one; what else the model knows is refused.
	takes, idle []string
	do          func(q *request) (any, *Refusal)
}

// actions are all that are served, by service.
var actions map[string]map[string]*action

func init() { // The actions use their table.
	actions = map[string]map[string]*action{
		serviceEC2: ec2Actions(), serviceSTS: stsActions(), servicePricing: pricingActions(), serviceQuotas: quotaActions(),
	}
}

// request is one call that has passed the door.
type request struct {
	*params
	Call
	Work
	pools []wire.Offer // of the whole cloud
}

// Handler serves AWS's protocols for the cloud that a request's path names, as
// /aws/CLOUD. The service is the one that the request is signed for.
func Handler(w World) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		d := &door{world: w, id: requestID()}
		body, no := d.serve(r)
		d.answer(out, body, no)
	})
}

// door is where one call comes in.
type door struct {
	world World
	id    string
	call  Call
}

// serve takes a call through what every call passes: who, how often, what, which
// fault, and only then does it.
func (d *door) serve(r *http.Request) (any, *Refusal) {
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyMost+1))
	if err != nil || len(body) > bodyMost {
		return nil, refuse("RequestEntityTooLarge", "the body cannot be read or is larger than %d bytes", bodyMost)
	}
	if no := d.identify(r, body); no != nil {
		return nil, no
	}
	p, act, no := d.read(r, body)
	if no != nil {
		return nil, no
	}
	d.call.Op = act.op
	q := &request{params: p, Call: d.call, pools: d.world.Pools(d.call.Cloud)}
	if no := q.checkRegion(); no != nil {
		return nil, no
	}
	if !d.world.Admit(d.call) {
		return nil, refuse("RequestLimitExceeded", "Request limit exceeded.")
	}
	m := models[d.call.Service]
	if no := m.check(m.Operations[d.call.Action], p); no != nil {
		return nil, no
	}
	if no := act.refuseUnknown(p); no != nil {
		return nil, no
	}
	if act.op == opCreate {
		q.Pool = q.poolAsked()
	}
	work, refused := d.world.Begin(r, q.Call)
	if refused != nil {
		return nil, refused.refusal(q.Pool.Market)
	}
	q.Work = work
	done, no := act.do(q)
	if refused := work.End(); refused != nil {
		return nil, refused.refusal(q.Pool.Market)
	}
	return done, no
}

// dry is the answer to a call that was only to be checked.
func (q *request) dry() *Refusal {
	if q.str("DryRun") != "true" {
		return nil
	}
	return refuse("DryRunOperation", "Request would have succeeded, but DryRun flag is set.")
}

// identify finds who calls, and whether it is really them.
func (d *door) identify(r *http.Request, body []byte) *Refusal {
	d.call.Cloud = r.PathValue("cloud")
	sign, no := readSignature(r)
	d.call.Service, d.call.Region = sign.service, sign.region
	if no != nil {
		return no
	}
	if models[sign.service] == nil {
		return refuse("SignatureDoesNotMatch", "Credential should be scoped to a service that is here, not %.40q", sign.service)
	}
	account, secret, ok := d.world.Account(d.call.Cloud, sign.key)
	if !ok || r.Header.Get("X-Amz-Security-Token") != "" {
		if sign.service == serviceEC2 {
			return refuse("AuthFailure", "AWS was not able to validate the provided access credentials")
		}
		return refuse("InvalidClientTokenId", "The security token included in the request is invalid.")
	}
	d.call.Account = account
	return sign.verify(r, body, secret, time.Now())
}

// read finds the action and its parameters.
func (d *door) read(r *http.Request, body []byte) (*params, *action, *Refusal) {
	m := models[d.call.Service]
	if r.Method != http.MethodPost {
		return nil, nil, refuse("InvalidRequest", "requests are sent with POST, not %s", r.Method)
	}
	if m.Target != "" {
		name, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), m.Target+".")
		act := actions[d.call.Service][name]
		if !ok || act == nil {
			return nil, nil, refuse("UnknownOperationException", "there is no operation %.80q", r.Header.Get("X-Amz-Target"))
		}
		d.call.Action = name
		p, err := parseJSON(body)
		if err != nil {
			return nil, nil, refuse("SerializationException", "%.200s", err.Error())
		}
		return p, act, nil
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || len(r.URL.RawQuery) > 0 {
		return nil, nil, refuse("MalformedQueryString", "The query string contains a syntax error")
	}
	name := form.Get("Action")
	act := actions[d.call.Service][name]
	switch {
	case name == "":
		return nil, nil, refuse("MissingAction", "The request is missing an action or a required parameter.")
	case len(form["Action"]) > 1 || act == nil || form.Get("Version") != m.Version:
		return nil, nil, refuse("InvalidAction", "The action %.80s is not valid for this web service: %s of version %s are served", name, d.call.Service, m.Version)
	}
	d.call.Action = name
	p, no := parseForm(form)
	return p, act, no
}

// refuseUnknown refuses what the model knows and the world does not.
func (a *action) refuseUnknown(p *params) (no *Refusal) {
	p.leaves(func(path string, leaf *params) {
		if no == nil && !slices.Contains(a.takes, path) && !slices.Contains(a.idle, path) {
			no = refuse("UnsupportedOperation", "The parameter %s is not supported by the local cloud", leaf.path)
		}
	})
	return no
}

// checkRegion refuses a region that the cloud does not have. The services that
// are not of one region take any.
func (q *request) checkRegion() *Refusal {
	if q.Service == serviceSTS || q.Service == servicePricing || slices.Contains(q.regions(), q.Region) {
		return nil
	}
	return refuse("AuthFailure", "Credential should be scoped to a valid region, not %.40q", q.Region)
}

// head is what every answer in XML begins with.
type head struct {
	RequestID string `xml:"requestId"`
}

func (h *head) stamp(id string) { h.RequestID = id }

// answer writes a success or a refusal in the service's protocol.
func (d *door) answer(out http.ResponseWriter, body any, no *Refusal) {
	status := http.StatusOK
	if no != nil {
		status = no.Status
	}
	m := models[d.call.Service]
	kind, text, err := "text/xml;charset=UTF-8", []byte(nil), error(nil)
	switch {
	case m != nil && m.Target != "":
		kind = "application/x-amz-json-1.1"
		text, err = jsonAnswer(out.Header(), body, no)
	case no != nil:
		text, err = d.xmlRefusal(no)
	default:
		text, err = d.xmlAnswer(m, body)
	}
	if err != nil {
		panic(err) // All bodies are types of this package.
	}
	out.Header().Set("Content-Type", kind)
	out.Header().Set("X-Amzn-Requestid", d.id)
	out.WriteHeader(status)
	_, _ = out.Write(text) //nolint:gosec // It is XML or JSON with all of it escaped. A customer that is gone is no concern.
}

func (d *door) xmlAnswer(m *model, body any) ([]byte, error) {
	space := "http://ec2.amazonaws.com/doc/" + m.Version + "/"
	if d.call.Service == serviceSTS {
		space = "https://sts.amazonaws.com/doc/" + m.Version + "/"
	}
	body.(interface{ stamp(id string) }).stamp(d.id)
	var text bytes.Buffer
	text.WriteString(xml.Header)
	err := xml.NewEncoder(&text).EncodeElement(body, xml.StartElement{
		Name: xml.Name{Local: d.call.Action + "Response"}, Attr: []xml.Attr{{Name: xml.Name{Local: "xmlns"}, Value: space}},
	})
	return text.Bytes(), err
}

// xmlRefusal writes a refusal in EC2's form, or in that of the other services
// that speak Query.
func (d *door) xmlRefusal(no *Refusal) ([]byte, error) {
	type said struct {
		Type    string `xml:"Type,omitempty"`
		Code    string `xml:"Code"`
		Message string `xml:"Message"`
	}
	var body any
	if d.call.Service == serviceSTS {
		body = struct {
			XMLName   xml.Name `xml:"ErrorResponse"`
			Error     said     `xml:"Error"`
			RequestID string   `xml:"RequestId"`
		}{Error: said{"Sender", no.Code, no.Message}, RequestID: d.id}
	} else {
		body = struct {
			XMLName   xml.Name `xml:"Response"`
			Error     said     `xml:"Errors>Error"`
			RequestID string   `xml:"RequestID"`
		}{Error: said{"", no.Code, no.Message}, RequestID: d.id}
	}
	text, err := xml.Marshal(body)
	return append([]byte(xml.Header), text...), err
}

// jsonCodes are the codes of services that speak JSON where they differ from EC2's.
var jsonCodes = map[string]string{
	"AuthFailure": "UnrecognizedClientException", "InvalidClientTokenId": "UnrecognizedClientException",
	"SignatureDoesNotMatch": "InvalidSignatureException", "RequestExpired": "InvalidSignatureException",
	"IncompleteSignature": "IncompleteSignatureException", "MissingAuthenticationToken": "MissingAuthenticationTokenException",
	"RequestLimitExceeded": "ThrottlingException", "UnauthorizedOperation": "AccessDeniedException",
	"UnknownParameter": "ValidationException", "MissingParameter": "ValidationException", "InvalidParameterValue": "ValidationException",
	"UnsupportedOperation": "ValidationException", "InternalError": "InternalFailure",
}

func jsonAnswer(header http.Header, body any, no *Refusal) ([]byte, error) {
	if no == nil {
		return json.Marshal(body)
	}
	code := no.Code
	if other, ok := jsonCodes[code]; ok {
		code = other
	}
	header.Set("X-Amzn-Errortype", code)
	return json.Marshal(struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}{code, no.Message})
}

func requestID() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(errors.Join(errors.New("no randomness"), err)) // crypto/rand never fails.
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

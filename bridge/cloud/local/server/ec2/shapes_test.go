package ec2

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// answers are the types that actions answer with.
var answers = map[string]any{
	"RunInstances": runInstances{}, "TerminateInstances": terminateInstances{}, "DescribeInstances": describeInstances{},
	"DescribeInstanceStatus": describeInstanceStatus{}, "DescribeTags": describeTags{}, "DescribeSpotInstanceRequests": describeSpotRequests{},
	"DescribeInstanceTypes": describeInstanceTypes{}, "DescribeInstanceTypeOfferings": describeOfferings{}, "DescribeSpotPriceHistory": describeSpotPrices{},
	"GetSpotPlacementScores": placementScores{}, "DescribeImages": describeImages{}, "DescribeSubnets": describeSubnets{},
	"DescribeSecurityGroups": describeSecurityGroups{}, "DescribeAvailabilityZones": describeAvailabilityZones{}, "DescribeRegions": describeRegions{},
	"CreateTags": done{}, "DeleteTags": done{}, // The model has no answer for these; EC2's begins with requestId and return.
}

// TestAnswersAreOfTheModel fills every field of every answer and holds the XML
// against what the model says of it: each element must be one that it has, a list
// where it has a list, a number where it has a number.
func TestAnswersAreOfTheModel(t *testing.T) {
	f := published(t, serviceEC2)
	for name := range actions[serviceEC2] {
		body, ok := answers[name]
		if !ok {
			t.Errorf("%s: its answer is not looked at", name)
			continue
		}
		v := reflect.New(reflect.TypeOf(body))
		fill(v.Elem())
		out := f.Operations[name].Output
		if out == nil {
			continue
		}
		text, err := xml.Marshal(v.Interface())
		if err != nil {
			t.Fatal(err)
		}
		dec := xml.NewDecoder(bytes.NewReader(text))
		if _, err := dec.Token(); err != nil {
			t.Fatal(err)
		}
		if err := compare(f, out.Shape, dec, true); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// fill puts something into every field.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			} else if v.Type().Field(i).Anonymous {
				fill(v.Field(i)) // an embedded type without a capital letter
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	}
}

// compare reads an element to its end and holds it against a shape.
func compare(f *apiFile, name string, dec *xml.Decoder, top bool) error {
	s := f.Shapes[name]
	text, kids := "", 0
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%s does not end", name)
		}
		if err != nil {
			return err
		}
		switch tok := tok.(type) {
		case xml.CharData:
			text += string(tok)
		case xml.StartElement:
			kids++
			inner, ok := elementOf(s, tok.Name.Local)
			if top && tok.Name.Local == "requestId" {
				if err := dec.Skip(); err != nil {
					return err
				}
				continue
			}
			if !ok {
				return fmt.Errorf("%s has no element %s", name, tok.Name.Local)
			}
			if err := compare(f, inner, dec, false); err != nil {
				return fmt.Errorf("%s: %w", tok.Name.Local, err)
			}
		case xml.EndElement:
			_, number := strconv.ParseInt(text, 10, 64)
			switch {
			case (s.Type == "structure" || s.Type == "list") != (kids > 0):
				return fmt.Errorf("%s is a %s and has %d elements", name, s.Type, kids)
			case (s.Type == "integer" || s.Type == "long") && number != nil, s.Type == "boolean" && text != "true":
				return fmt.Errorf("%s is a %s and holds %q", name, s.Type, text)
			}
			return nil
		}
	}
}

// elementOf is the shape of what an answer has under a name.
func elementOf(s *apiShape, element string) (string, bool) {
	if s.Type == "list" {
		return s.Member.Shape, element == s.Member.LocationName
	}
	for name, m := range s.Members {
		if element == m.LocationName || m.LocationName == "" && element == name {
			return m.Shape, true
		}
	}
	return "", false
}

// TestWhatIsIdleIsWrittenDown holds the table against the package's own text.
func TestWhatIsIdleIsWrittenDown(t *testing.T) {
	doc := readFile(t, "doc.go")
	for service, all := range actions {
		for name, a := range all {
			for _, path := range a.idle {
				last := path[strings.LastIndex(path, ".")+1:]
				if !strings.Contains(doc, name) || !strings.Contains(doc, last) {
					t.Errorf("doc.go does not say that %s %s takes %s without effect", service, name, path)
				}
			}
			for _, path := range append(a.takes, a.idle...) {
				if !known(models[service], models[service].Operations[name], path) && !optional(name, path) {
					t.Errorf("%s %s takes %s, which the model does not have", service, name, path)
				}
			}
		}
	}
}

// optional says which of the pages' and filters' parameters an action may lack.
func optional(action, path string) bool {
	switch path {
	case "MaxResults", "NextToken":
		return action == "DescribeRegions" || action == "DescribeAvailabilityZones"
	case "Filter.Name", "Filter.Value":
		return action == "GetSpotPlacementScores"
	}
	return false
}

// known says whether a model has a parameter.
func known(m *model, name, path string) bool {
	for part := range strings.SplitSeq(path, ".") {
		for m.Shapes[name].Type == "list" {
			name = m.Shapes[name].Element
		}
		member, ok := m.Shapes[name].Members[part]
		if !ok {
			return false
		}
		name = member
	}
	return true
}

// FuzzQuery holds that no text of a query ends the parser or the check, and that
// what passes has its action's required parameters.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"Action=RunInstances&Version=2016-11-15&ImageId=ami-1&MinCount=1&MaxCount=1&TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=a",
		"Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=tag:a&Filter.1.Value.1=b&Filter.2=x&MaxResults=",
		"Action=CreateTags&Version=2016-11-15&ResourceId.01=i-1&Tag.99999999999999999999.Key=a&Tag..Value=",
		"Action=TerminateInstances&Version=2016-11-15&InstanceId=i-1&InstanceId=i-2&A.B.C.D.E.F.G.H.I.J.K.L.M.N=1",
		"Action=GetCallerIdentity&Version=2011-06-15&%ff=%00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/aws/nimbus", nil)
		d := &door{call: Call{Service: serviceEC2}}
		p, act, no := d.read(r, []byte(text))
		if no != nil {
			if no.Code == "" || no.Status < 400 {
				t.Errorf("%q is refused with %+v", text, no)
			}
			return
		}
		m := models[serviceEC2]
		name := m.Operations[d.call.Action]
		if m.check(name, p) != nil || act.refuseUnknown(p) != nil {
			return
		}
		for _, need := range m.Shapes[name].Required {
			if !p.has(need) {
				t.Errorf("%q passes without %s", text, need)
			}
		}
		q := &request{params: p, Call: d.call}
		_, _ = q.filters(instanceFilters...)
		_, _ = readTags(p.each("Tag"))
		_ = q.hash()
	})
}

// FuzzJSON does the same for the services that speak JSON.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"ServiceCode":"AmazonEC2","Filters":[{"Type":"TERM_MATCH","Field":"a","Value":"b"}],"MaxResults":1}`))
	f.Add([]byte(`{"ServiceCode":{"a":[[[[[[[[[[[[[[]]]]]]]]]]]]]]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parseJSON(text)
		if err != nil {
			return
		}
		m := models[servicePricing]
		if m.check(m.Operations["GetProducts"], p) == nil && !p.has("ServiceCode") {
			t.Errorf("%q passes without ServiceCode", text)
		}
	})
}

// FuzzSignature holds that no header ends the door, and that none that is made up
// opens it.
func FuzzSignature(f *testing.F) {
	f.Add("AWS4-HMAC-SHA256 Credential=a/20261201/east/ec2/aws4_request, SignedHeaders=host;x-amz-date, Signature=00", "20261201T000000Z")
	f.Add("AWS4-HMAC-SHA256 Credential=////, SignedHeaders=;;content-length;host, Signature=", "")
	f.Fuzz(func(t *testing.T, header, date string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/aws/nimbus", nil)
		r.Header.Set("Authorization", header)
		r.Header.Set("X-Amz-Date", date)
		sign, no := readSignature(r)
		if no != nil {
			return
		}
		if sign.verify(r, nil, "a secret that nobody guesses", time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)) == nil {
			t.Errorf("%q opens the door", header)
		}
	})
}

func TestFamiliesOfTypes(t *testing.T) {
	for kind, want := range map[string]string{
		"p4d.24xlarge": "p", "p5.48xlarge": "p", "g6.xlarge": "g", "vt1.3xlarge": "g", "m7i.large": "standard", "hpc6a.48xlarge": "p",
		"n.gpu8": "p", "gpu8": "p",
	} {
		if got := FamilyOf(kind, 8, "on-demand"); got != want {
			t.Errorf("%s is of %s, want %s", kind, got, want)
		}
	}
	if got := FamilyOf("n.cpu16", 0, "spot"); got != "standard" {
		t.Errorf("n.cpu16 is of %s", got)
	}
	if got := FamilyOf("p5en.48xlarge", 8, "spot"); got != "p5" {
		t.Errorf("p5en.48xlarge on spot is of %s", got)
	}
}

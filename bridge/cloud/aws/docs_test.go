package aws_test

import (
	"os"
	"strings"
	"testing"

	"spillway.sh/spillway/bridge/cloud/aws"
)

// TestDocsHaveThePolicy holds the page of the provider to what doctor prints.
func TestDocsHaveThePolicy(t *testing.T) {
	page, err := os.ReadFile("../../../deploy/docs/clouds/aws.md")
	if err != nil {
		t.Fatal(err)
	}
	cloud, err := aws.New(aws.Config{Name: "west", Regions: []aws.Region{{Name: "us-east-1", Image: "ami-0123456789abcdef0"}}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), cloud.Permissions()) {
		t.Error("deploy/docs/clouds/aws.md has another policy than the driver")
	}
}

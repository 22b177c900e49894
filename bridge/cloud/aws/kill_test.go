package aws_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/cloud/aws"
	"spillway.sh/spillway/bridge/cloud/cloudtest/killed"
)

// imageName names the image of a driver that will be killed.
const imageName = "SPILLWAY_TEST_IMAGE"

func openVictim(url string) (killed.Cloud, error) {
	return aws.New(aws.Config{
		Name: "nimbus", Endpoint: url + "/aws/nimbus", Types: []string{gpuType}, Limits: aws.NewLimits(100),
		Regions: []aws.Region{{Name: east, Image: os.Getenv(imageName)}},
	})
}

func TestC_F08_FiftyKillsBetweenAcceptAndReplyMakeNoSecondMachine(t *testing.T) {
	text := strings.ReplaceAll(world, `"32.00", stock: 6`, `"32.00", stock: 100`)
	text = strings.Replace(text, "vcpus: 1000", "vcpus: 100000", 1)
	r := startWorld(t, text)
	images, err := r.sdk(east).DescribeImages(t.Context(), &sdk.DescribeImagesInput{Owners: []string{"amazon"}})
	if err != nil {
		t.Fatal(err)
	}
	key := r.server.TokenFile("nimbus", "default")
	pool := bridge.Pool{Cloud: "nimbus", Region: east, Zone: "us-east-1a", Type: gpuType, Market: bridge.OnDemand}
	killed.Run(t, &killed.Rig{
		Handler: r.server.Handler(),
		Creates: func(_ *http.Request, body []byte) bool { return strings.Contains(string(body), "Action=RunInstances&") },
		Env: []string{
			imageName + "=" + *images.Images[0].ImageId, "AWS_ACCESS_KEY_ID=nimbus-default", "AWS_SECRET_ACCESS_KEY=" + r.token(key),
			"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
		},
		Launch: func(round int) bridge.Launch { return killed.Frozen(round, pool) },
		Started: func() ([]killed.Start, error) {
			return killed.Ledger(filepath.Join(filepath.Dir(filepath.Dir(key)), "ledger.jsonl"))
		},
	})
}

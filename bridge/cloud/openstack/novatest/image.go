package novatest

import (
	_ "embed"

	"spillway.sh/spillway/bridge/sandbox"
)

//go:embed rig/prepare.sh
var prepareScript string

// Release is the OpenStack of the image: that of October 2022, which Debian 12 has.
const Release = "zed"

// ImageSpec says what the cloud's machine is made of.
func ImageSpec() sandbox.ImageSpec {
	return sandbox.ImageSpec{
		Name: "openstack-" + Release, Suite: "bookworm",
		Packages: []string{
			// The services themselves without their Debian set-up: it would configure a host.
			"python3-keystone", "python3-placement", "python3-glance", "python3-nova", "nova-common", "glance-common",
			"python3-pymysql", "rabbitmq-server", "mariadb-server-core", "mariadb-client-core",
			"bash", "curl", "hostname", "iproute2", "mount", "procps", "util-linux",
		},
		Hooks: []string{prepareScript},
	}
}

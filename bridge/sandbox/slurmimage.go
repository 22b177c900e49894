package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Accounts of every Slurm image. They stand for the site's directory service:
// the same names and numbers on the head node, the local nodes and the rented
// machines.
var (
	// Alice is an ordinary user.
	Alice = Account{Name: "alice", ID: 5001}
	// Bob is an ordinary user.
	Bob = Account{Name: "bob", ID: 5002}
	// Carol is an ordinary user.
	Carol = Account{Name: "carol", ID: 5003}
	// Operator is the account that gets administrator rights in clusters with
	// accounting; it is neither root nor SlurmUser.
	Operator = Account{Name: "ops", ID: 5010}
)

// slurmSuites maps a Slurm version to the Debian suite that ships it.
var slurmSuites = map[string]ImageSpec{
	"22.05": {Suite: "bookworm"},
	"24.11": {Suite: "trixie"},
	"26.05": {Suite: "forky", StaleRelease: true},
}

// databaseHook lays an empty database out once instead of at each cluster's start.
const databaseHook = `chroot "$1" mariadb-install-db --no-defaults --user=root --skip-test-db \
	--auth-root-authentication-method=socket --datadir=/var/lib/mysql \
	--skip-name-resolve --force --innodb-log-file-size=8M >/dev/null`

// SlurmVersions lists the versions that SlurmImage knows, oldest first.
func SlurmVersions() []string {
	return slices.Sorted(maps.Keys(slurmSuites))
}

// SlurmImage returns the spec of an image with Slurm's daemons and commands of
// version "22.05", "24.11" or "26.05". With accounting it holds slurmdbd and
// MariaDB too. Machines that join a cluster must run the cluster's version.
func SlurmImage(version string, accounting bool) (ImageSpec, error) {
	spec, ok := slurmSuites[version]
	if !ok {
		return ImageSpec{}, fmt.Errorf("choose Slurm image: version %q is not one of %s", version, strings.Join(SlurmVersions(), ", "))
	}
	spec.Name = "slurm-" + version
	spec.Packages = []string{
		"slurmctld", "slurmd", "slurm-client", "munge", "ca-certificates", "curl",
		"iproute2", "iputils-ping", "procps", "mount", "util-linux", "hostname", "bash",
	}
	if accounting {
		spec.Name += "-dbd"
		spec.Packages = append(spec.Packages, "slurmdbd", "mariadb-server-core", "mariadb-client-core")
		spec.Hooks = []string{databaseHook}
	}
	spec.Users = []Account{Alice, Bob, Carol, Operator}
	return spec, nil
}

package slurmtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"spillway.sh/spillway/bridge/sandbox"
)

// takeFolder makes the rig's folder this cluster's own. From then on Close
// removes it, so a folder in which another rig may live is refused.
func (c *Cluster) takeFolder() error {
	dir, err := filepath.Abs(c.options.Dir)
	if c.options.Dir == "" {
		dir, err = os.MkdirTemp("", "slurmtest-")
	}
	if err != nil {
		return err
	}
	if isUsed(dir) {
		return fmt.Errorf("folder %s holds a rig already: close it, or remove what a killed one left with sandbox.Sweep", dir)
	}
	if !c.options.Detached {
		if err := sandbox.Claim(dir); err != nil {
			return err
		}
	}
	c.dir = dir
	return nil
}

func isUsed(dir string) bool {
	for _, name := range []string{"net", "machines"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// makeFolders makes the rig's folder and the shared one with everybody's home.
func (c *Cluster) makeFolders() error {
	if err := c.takeFolder(); err != nil {
		return err
	}
	var err error
	if c.options.SharedDir == "" {
		c.options.SharedDir = filepath.Join(c.dir, "shared")
	}
	if c.options.SharedDir, err = filepath.Abs(c.options.SharedDir); err != nil {
		return err
	}
	for _, account := range Accounts() {
		home := filepath.Join(c.options.SharedDir, account.Home())
		if err := os.MkdirAll(home, 0o755); err != nil {
			return err
		}
		if err := os.Chown(home, account.ID, account.ID); err != nil {
			return err
		}
	}
	return nil
}

// Accounts returns the ordinary accounts that every cluster has.
func Accounts() []sandbox.Account {
	return []sandbox.Account{sandbox.Alice, sandbox.Bob, sandbox.Carol, sandbox.Operator}
}

// imageUser looks an account up in an image's passwd file; system accounts
// have other numbers in other versions.
func imageUser(image sandbox.Image, name string) (sandbox.Account, error) {
	passwd, err := os.ReadFile(filepath.Join(image.Dir, "etc/passwd"))
	if err != nil {
		return sandbox.Account{}, fmt.Errorf("find account %s: %w", name, err)
	}
	for line := range strings.SplitSeq(string(passwd), "\n") {
		fields := strings.Split(line, ":")
		var id int
		if fields[0] == name && len(fields) > 3 {
			if _, err := fmt.Sscan(fields[2], &id); err != nil {
				return sandbox.Account{}, fmt.Errorf("find account %s: %w", name, err)
			}
			return sandbox.Account{Name: name, ID: id}, nil
		}
	}
	return sandbox.Account{}, fmt.Errorf("find account %s: not in the image", name)
}

package bridge

import "time"

// Wants is what a machine must show before it takes jobs. Its agent is told
// when it enrols. Zero wants nothing.
type Wants struct {
	GPUs    int    `json:"gpus,omitempty"`
	GPUType string `json:"gpu_type,omitempty"` // as the scheduler names it
	Driver  string `json:"driver,omitempty"`   // least version of the GPUs' driver

	Mounts  []string `json:"mounts,omitempty"`   // other file systems that must be there and answer
	Storage []string `json:"storage,omitempty"`  // shared places that are written to and read from, timed
	DiskMiB int64    `json:"disk_mib,omitempty"` // free on the machine's own disk

	MinRate int64         `json:"min_rate,omitempty"` // to and from storage, bytes a second
	MaxWait time.Duration `json:"max_wait,omitempty"` // for the first byte of it
	MaxSkew time.Duration `json:"max_skew,omitempty"` // of the machine's clock

	Owner *Owner `json:"owner,omitempty"` // of the job it was rented for

	// Patience is how long what may still come is waited for: a mount, a driver,
	// a directory service.
	Patience time.Duration `json:"patience,omitempty"`
	Off      []string      `json:"off,omitempty"` // names of checks not made at this site
}

// Owner is an account with its numbers, as the cluster knows it.
type Owner struct {
	Name string `json:"name"`
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
}

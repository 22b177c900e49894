package config

import (
	"spillway.sh/spillway/bridge/config/strict"
)

// Storage is access to object storage that speaks S3, for the checkpoints in it.
type Storage struct {
	Endpoint string `json:"endpoint"` // URL; empty: Amazon S3
	Region   string `json:"region"`   // empty: asked for
	// KeyFile is an AWS credentials file, Profile the section in it; empty: the
	// environment, then what the host's own cloud gives it.
	KeyFile string `json:"access_key_file"`
	Profile string `json:"profile"`
}

func (r *reader) storage(n strict.Node) {
	s := &Storage{}
	n.Object(
		strict.May("endpoint", "endpoint: https://s3.example.org", address(&s.Endpoint)),
		strict.May("region", "region: eu-1", strict.Text(&s.Region)),
		strict.May("access_key_file", "access_key_file: /etc/spillway/s3.key", r.path(&s.KeyFile, aSecret)),
		strict.May("profile", "profile: spillway", strict.Text(&s.Profile)),
		strict.May("access_key", "access_key_file: /etc/spillway/s3.key", inFile),
		strict.May("secret_key", "access_key_file: /etc/spillway/s3.key", inFile),
	)
	if at, given := n.Get("profile"); given && s.KeyFile == "" {
		at.With("access_key_file: /etc/spillway/s3.key").Fault("a profile is a section of access_key_file, which is not given")
	}
	r.config.Storage = s
}

func inFile(n strict.Node) {
	n.FaultKey("a secret is never in this file: give access_key_file")
}

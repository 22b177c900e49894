//go:build tools

// Package s3server pins the object storage that the tests talk to: versitygw,
// an S3 gateway that keeps objects as files. It is a module of its own, since
// it brings the clients of every cloud.
package s3server

import _ "github.com/versity/versitygw/cmd/versitygw"

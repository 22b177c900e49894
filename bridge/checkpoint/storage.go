package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Access is how object storage is reached.
type Access struct {
	Endpoint string // https URL; empty: Amazon S3
	Region   string // empty: asked for
	// KeyFile is in the format of the AWS credentials file, which most programs
	// for object storage read; empty: the environment, that file at its usual
	// place, then what the host's own cloud gives it.
	KeyFile string
	Profile string // in KeyFile; empty: default
}

// Storage is object storage that speaks S3.
type Storage struct{ client *minio.Client }

const amazon = "https://s3.amazonaws.com"

// NewStorage returns access to object storage. Nothing is asked yet.
func NewStorage(a Access) (*Storage, error) {
	if a.Endpoint == "" {
		a.Endpoint = amazon
	}
	u, err := url.Parse(a.Endpoint)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("read endpoint of object storage %q: want a URL", a.Endpoint)
	}
	creds := credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Timeout: 5 * time.Second}},
	})
	if a.KeyFile != "" {
		creds = credentials.NewFileAWSCredentials(a.KeyFile, a.Profile)
	}
	const tries = 3
	c, err := minio.New(u.Host, &minio.Options{Creds: creds, Secure: u.Scheme == "https", Region: a.Region, MaxRetries: tries})
	if err != nil {
		return nil, fmt.Errorf("reach object storage: %w", err)
	}
	return &Storage{client: c}, nil
}

// tree is the objects below a prefix as a file system for one look.
func (s *Storage) tree(ctx context.Context, p *place) fs.FS {
	return &objects{ctx: ctx, client: s.client, bucket: p.bucket, prefix: p.root}
}

// objects shows keys with slashes as folders. A folder is there while
// something is in it, and has no time.
type objects struct {
	ctx    context.Context //nolint:containedctx // One look.
	client *minio.Client
	bucket string
	prefix string
}

func (o *objects) key(name string) string {
	return strings.TrimPrefix(path.Join(o.prefix, name), "/")
}

// Open opens an object, or what is below a prefix.
func (o *objects) Open(name string) (fs.File, error) {
	info, err := o.Stat(name)
	if err != nil {
		return nil, err
	}
	x, _ := info.(*object)
	if !x.IsDir() {
		return &objectFile{o: o, info: x}, nil
	}
	prefix := o.key(name)
	if prefix == "." || prefix == "" {
		prefix = ""
	} else {
		prefix += "/"
	}
	next, stop := iter.Pull(o.client.ListObjectsIter(o.ctx, o.bucket, minio.ListObjectsOptions{Prefix: prefix}))
	return &objectFolder{o: o, info: x, prefix: prefix, next: next, stop: stop}, nil
}

// Lstat is Stat: there are no links.
func (o *objects) Lstat(name string) (fs.FileInfo, error) { return o.Stat(name) }

// ReadLink fails: there are no links.
func (o *objects) ReadLink(name string) (string, error) {
	return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
}

// Stat asks for an object, else for anything below it.
func (o *objects) Stat(name string) (fs.FileInfo, error) {
	key := o.key(name)
	if name == "." {
		return &object{name: ".", dir: true}, nil
	}
	got, err := o.client.StatObject(o.ctx, o.bucket, key, minio.StatObjectOptions{})
	if err == nil {
		return &object{name: path.Base(key), key: key, size: got.Size, at: got.LastModified}, nil
	}
	if err := o.fault("stat", key, err); !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for got := range o.client.ListObjectsIter(o.ctx, o.bucket, minio.ListObjectsOptions{Prefix: key + "/", MaxKeys: 1}) {
		if got.Err != nil {
			return nil, o.fault("list", key, got.Err)
		}
		return &object{name: path.Base(key), key: key, dir: true}, nil
	}
	return nil, &fs.PathError{Op: "stat", Path: o.bucket + "/" + key, Err: fs.ErrNotExist}
}

// fault turns an answer of the storage into what a file system would say.
func (o *objects) fault(op, key string, err error) error {
	cause := err
	switch code := minio.ToErrorResponse(err).Code; code {
	case minio.NoSuchKey, "NotFound":
		cause = fs.ErrNotExist
	case minio.NoSuchBucket:
		cause = errNoBucket
	case minio.AccessDenied, "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch":
		cause = fmt.Errorf("%w (%s)", fs.ErrPermission, code)
	}
	return &fs.PathError{Op: op, Path: o.bucket + "/" + key, Err: cause}
}

// object describes one object, or a prefix.
type object struct {
	name, key string
	size      int64
	at        time.Time
	dir       bool
}

// Name is the last part of the key.
func (x *object) Name() string { return x.name }

// Size is in bytes.
func (x *object) Size() int64 { return x.size }

// Mode says whether it is a prefix.
func (x *object) Mode() fs.FileMode {
	if x.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// ModTime is when it was written; zero for a prefix.
func (x *object) ModTime() time.Time { return x.at }

// IsDir reports whether it is a prefix.
func (x *object) IsDir() bool { return x.dir }

// Sys is nil: objects have no owner that a cluster knows.
func (x *object) Sys() any { return nil }

// objectFile reads parts of an object.
type objectFile struct {
	o    *objects
	info *object
}

// Stat describes the object.
func (f *objectFile) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close has nothing to close.
func (f *objectFile) Close() error { return nil }

// Read is not used: parts are read by ReadAt.
func (f *objectFile) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.info.key, Err: fs.ErrInvalid}
}

// ReadAt asks for one range.
func (f *objectFile) ReadAt(p []byte, off int64) (int, error) {
	if off >= f.info.size || len(p) == 0 {
		return 0, io.EOF
	}
	var opts minio.GetObjectOptions
	if err := opts.SetRange(off, min(off+int64(len(p)), f.info.size)-1); err != nil {
		return 0, fmt.Errorf("read %s: %w", f.info.key, err)
	}
	core := minio.Core{Client: f.o.client}
	body, _, _, err := core.GetObject(f.o.ctx, f.o.bucket, f.info.key, opts)
	if err != nil {
		return 0, f.o.fault("read", f.info.key, err)
	}
	defer body.Close()
	n, err := io.ReadFull(body, p[:min(int64(len(p)), f.info.size-off)])
	switch {
	case err != nil:
		return n, f.o.fault("read", f.info.key, err)
	case n < len(p):
		return n, io.EOF
	}
	return n, nil
}

// objectFolder lists what is below a prefix.
type objectFolder struct {
	o      *objects
	info   *object
	prefix string
	next   func() (minio.ObjectInfo, bool)
	stop   func()
}

// Stat describes the prefix.
func (f *objectFolder) Stat() (fs.FileInfo, error) { return f.info, nil }

// Read fails: a folder has no contents.
func (f *objectFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.prefix, Err: fs.ErrInvalid}
}

// Close ends the listing.
func (f *objectFolder) Close() error {
	f.stop()
	return nil
}

// ReadDir returns the next entries, as fs.ReadDirFile says.
func (f *objectFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	var out []fs.DirEntry
	for n <= 0 || len(out) < n {
		got, ok := f.next()
		switch {
		case !ok && n > 0 && len(out) == 0:
			return nil, io.EOF
		case !ok:
			return out, nil
		case got.Err != nil:
			return out, f.o.fault("list", f.prefix, got.Err)
		}
		name, isPrefix := strings.CutSuffix(strings.TrimPrefix(got.Key, f.prefix), "/")
		if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
			continue // the marker of the folder itself, or no name a path can have
		}
		out = append(out, fs.FileInfoToDirEntry(&object{name: name, key: got.Key, size: got.Size, at: got.LastModified, dir: isPrefix}))
	}
	return out, nil
}

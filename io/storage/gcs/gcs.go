// Package gcs is Google Cloud Storage: a program that imports it reads and writes
// files named gs://bucket/object.
//
//	import _ "github.com/bochner-ml/bochner/io/storage/gcs"
package gcs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	gcstorage "cloud.google.com/go/storage"
	gax "github.com/googleapis/gax-go/v2"
	"google.golang.org/api/option"

	"github.com/bochner-ml/bochner/io/storage"
)

// gcs is Google Cloud Storage.
type gcs struct {
	leases  leaseTimes
	buckets sync.Map // names of buckets that are known to exist

	mu      sync.Mutex
	client  *gcstorage.Client // one for the process, made at its first use
	address string            // of the emulator that the client uses, or empty
}

func init() {
	storage.Register("gs", &gcs{leases: leaseTimes{renew: 4 * time.Second, stale: 20 * time.Second}})
}

var emulator = struct {
	mu      sync.Mutex
	address func() string
}{address: func() string { return "" }}

// UseEmulator makes gs:// mean a server for tests, which is asked without credentials:
// address returns its host:port, or "" for Google's own. It is called before every use,
// because a worker receives the driver's options late.
func UseEmulator(address func() string) {
	emulator.mu.Lock()
	defer emulator.mu.Unlock()
	emulator.address = address
}

// emulatorVariable names an emulator for Google's libraries, which then send no
// credentials.
const emulatorVariable = "STORAGE_EMULATOR_HOST"

// connect returns the client.
func (g *gcs) connect(ctx context.Context) (*gcstorage.Client, error) {
	emulator.mu.Lock()
	address := emulator.address()
	emulator.mu.Unlock()
	if set := os.Getenv(emulatorVariable); set != "" && set != address {
		return nil, said(nil, "%s is set: requests would go to %q, which is not Google's storage, without credentials; "+
			"unset it, or set the option storage_emulator to %s if that is intended", emulatorVariable, set, set)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.client != nil && g.address == address {
		return g.client, nil
	}
	opts, err := connection(address)
	if err != nil {
		return nil, err
	}
	// The client outlives the job that makes it.
	client, err := gcstorage.NewClient(context.WithoutCancel(ctx), opts...)
	if err != nil {
		return nil, err
	}
	withRetries(client)
	g.client, g.address = client, address
	return client, nil
}

// withRetries has the requests of a client made again when they fail.
func withRetries(client *gcstorage.Client) {
	client.SetRetry(
		gcstorage.WithPolicy(gcstorage.RetryAlways), // all requests of this package may be made twice
		gcstorage.WithBackoff(backoff),
		gcstorage.WithMaxAttempts(maxAttempts),
		gcstorage.WithErrorFunc(transient),
	)
}

// maxAttempts and backoff let a request wait for about half a minute in all.
const maxAttempts = 12

var backoff = gax.Backoff{Initial: 100 * time.Millisecond, Max: 8 * time.Second, Multiplier: 2}

// connection returns how to reach the server, with credentials unless it is an
// emulator's.
func connection(address string) ([]option.ClientOption, error) {
	opts := []option.ClientOption{gcstorage.WithJSONReads(), option.WithoutAuthentication()}
	if address != "" {
		if !strings.Contains(address, "://") {
			address = "http://" + address
		}
		return append(opts, option.WithEndpoint(strings.TrimRight(address, "/")+"/storage/v1/"),
			option.WithHTTPClient(plainClient())), nil
	}
	client, err := authorized()
	if err != nil {
		return nil, err
	}
	return append(opts, option.WithHTTPClient(client)), nil
}

// object names an object or a directory.
type object struct{ bucket, name string }

func (o object) String() string { return "gs://" + o.bucket + "/" + o.name }

// below returns the prefix of the names of what is in a directory.
func (o object) below() string {
	if o.name == "" {
		return ""
	}
	return o.name + "/"
}

func (o object) join(name string) object { return object{o.bucket, o.below() + name} }

// parse splits a name into bucket and object. The characters # and ? mean themselves.
func parse(name string) (object, error) {
	bucket, rest, _ := strings.Cut(strings.TrimPrefix(name, "gs://"), "/")
	o := object{bucket, strings.TrimRight(rest, "/")}
	switch {
	case bucket == "":
		return o, storage.Invalid("no bucket; name one as in gs://bucket/file")
	case !utf8.ValidString(name) || strings.ContainsAny(name, "\r\n"):
		return o, storage.Invalid("not the name of an object: it contains line ends or is not UTF-8")
	case len(o.name) > 1024:
		return o, storage.Invalid("not the name of an object: %d bytes; the limit is 1024", len(o.name))
	}
	return o, nil
}

// resolved is parse for a name that Abs has returned.
func resolved(name string) object {
	o, _ := parse(name)
	return o
}

func (*gcs) Abs(name string) (string, error) {
	o, err := parse(name)
	return strings.TrimRight(o.String(), "/"), err
}

// handle returns the client's handle of an object.
func (g *gcs) handle(ctx context.Context, o object) (*gcstorage.ObjectHandle, error) {
	if o.name == "" {
		return nil, storage.Invalid("is a bucket; name a file or directory in it")
	}
	client, err := g.connect(ctx)
	if err != nil {
		return nil, err
	}
	return client.Bucket(o.bucket).Object(o.name), nil
}

// at parses a name and returns the handle of that object.
func (g *gcs) at(ctx context.Context, name string) (object, *gcstorage.ObjectHandle, error) {
	o, err := parse(name)
	if err != nil {
		return o, nil, err
	}
	h, err := g.handle(ctx, o)
	return o, h, err
}

// attrs returns what the server knows of an object. If there is no such object, the
// error is fs.ErrNotExist.
func (g *gcs) attrs(ctx context.Context, o object) (*gcstorage.ObjectAttrs, error) {
	h, err := g.handle(ctx, o)
	if err != nil {
		return nil, err
	}
	attrs, err := h.Attrs(ctx)
	return attrs, g.answer(ctx, "storage.objects.get", o, err)
}

// named parses a name and returns what the server knows of that object.
func (g *gcs) named(ctx context.Context, name string) (object, *gcstorage.ObjectAttrs, error) {
	o, err := parse(name)
	if err != nil {
		return o, nil, err
	}
	a, err := g.attrs(ctx, o)
	return o, a, err
}

// missing reports whether an error means that an object does not exist.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func found(uri string, a *gcstorage.ObjectAttrs) storage.Object {
	o := storage.Object{Name: uri, URI: uri, Size: a.Size, Version: strconv.FormatInt(a.Generation, 10)}
	if !a.Updated.IsZero() {
		o.Modified = a.Updated.UnixNano()
	}
	return o
}

func (g *gcs) Stat(ctx context.Context, name string) (storage.Object, error) {
	o, a, err := g.named(ctx, name)
	if err != nil {
		return storage.Object{}, err
	}
	return found(o.String(), a), nil
}

func (g *gcs) Exists(ctx context.Context, name string) (bool, error) {
	o := resolved(name)
	if o.name != "" {
		if _, err := g.attrs(ctx, o); !missing(err) {
			return err == nil, err
		}
	}
	some, err := g.first(ctx, o)
	return some != "", err
}

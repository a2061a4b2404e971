// Package gcs supports Google Cloud Storage: a program that imports it can read and
// write files named gs://bucket/object.
//
//	import _ "github.com/bochner-ml/bochner/io/storage/gcs"
package gcs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	gcstorage "cloud.google.com/go/storage"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/storage/objects"
	gax "github.com/googleapis/gax-go/v2"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
)

// gcs is Google Cloud Storage.
type gcs struct {
	objects.Store
	buckets sync.Map // names of buckets that are known to exist

	mu      sync.Mutex
	client  *gcstorage.Client // one for the process, made at its first use
	address string            // of the emulator that the client uses, or empty
}

func init() {
	storage.Register("gs", service(objects.Standard))
}

// service returns Google Cloud Storage with those times of leases.
func service(leases objects.Times) *gcs {
	g := &gcs{}
	g.Store = objects.Store{Service: g, Scheme: "gs", Leases: leases}
	return g
}

var emulator = struct {
	mu      sync.Mutex
	address func() string
}{address: func() string { return "" }}

// UseEmulator makes gs:// mean a server for tests, which needs no credentials. address returns its host:port, or ""
// for Google's own server. It is called before every use, because a worker receives the options of the driver late.
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
		return nil, objects.Answerf(nil, "%s is set: requests would go to %q, which is not Google's storage, without "+
			"credentials; unset it, or set the option storage_emulator to %s if that is intended", emulatorVariable, set, set)
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

// withRetries makes a client retry failed requests.
func withRetries(client *gcstorage.Client) {
	client.SetRetry(
		gcstorage.WithPolicy(gcstorage.RetryAlways), // all requests of this package may be repeated
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

// handle returns the client's handle of an object, on a condition.
func (g *gcs) handle(ctx context.Context, o objects.Name, cond objects.Condition) (*gcstorage.ObjectHandle, error) {
	if o.Name == "" {
		return nil, storage.Invalidf("is a bucket; name a file or directory in it")
	}
	client, err := g.connect(ctx)
	if err != nil {
		return nil, err
	}
	h := client.Bucket(o.Bucket).Object(o.Name)
	switch {
	case cond.Absent:
		return h.If(gcstorage.Conditions{DoesNotExist: true}), nil
	case cond.Version == "":
		return h, nil
	}
	n, err := strconv.ParseInt(cond.Version, 10, 64)
	if err != nil {
		return nil, storage.Invalidf("%q is not a version of an object", cond.Version)
	}
	return h.If(gcstorage.Conditions{GenerationMatch: n}), nil
}

// Head implements objects.Client.
func (g *gcs) Head(ctx context.Context, o objects.Name) (*objects.Attrs, error) {
	h, err := g.handle(ctx, o, objects.Condition{})
	if err != nil {
		return nil, err
	}
	a, err := h.Attrs(ctx)
	if err != nil {
		return nil, g.answer(ctx, "storage.objects.get", o, err)
	}
	return attrsOf(a), nil
}

// attrsOf converts attributes from Google's types.
func attrsOf(a *gcstorage.ObjectAttrs) *objects.Attrs {
	k := &objects.Attrs{Name: a.Name, Prefix: a.Prefix, Size: a.Size, Version: strconv.FormatInt(a.Generation, 10),
		Modified: a.Updated, Metadata: a.Metadata, Checksum: &storage.Checksum{Bytes: a.Size, CRC32C: a.CRC32C}}
	if k.Metadata == nil {
		k.Metadata = map[string]string{}
	}
	return k
}

// Each implements objects.Client.
func (g *gcs) Each(ctx context.Context, bucket string, q objects.Query, visit func(*objects.Attrs) bool) error {
	client, err := g.connect(ctx)
	if err != nil {
		return err
	}
	query := &gcstorage.Query{Prefix: q.Prefix, Delimiter: q.Delimiter, Projection: gcstorage.ProjectionNoACL}
	if !q.Metadata {
		if err := query.SetAttrSelection([]string{"Name", "Size", "Generation", "Updated"}); err != nil {
			return err
		}
	}
	it := client.Bucket(bucket).Objects(ctx, query)
	it.PageInfo().MaxSize = q.Limit
	for {
		a, err := it.Next()
		if err == iterator.Done {
			return nil
		}
		if err != nil {
			return g.answer(ctx, "storage.objects.list", objects.Name{Bucket: bucket}, err)
		}
		k := attrsOf(a)
		k.Checksum = nil // it may not be listed
		if !visit(k) {
			return nil
		}
	}
}

// Delete implements objects.Client.
func (g *gcs) Delete(ctx context.Context, o objects.Name, version string) error {
	h, err := g.handle(ctx, o, objects.Condition{Version: version})
	if err != nil {
		return err
	}
	err = g.answer(ctx, "storage.objects.delete", o, h.Delete(ctx))
	if errors.Is(err, fs.ErrNotExist) || unmet(err) {
		return nil
	}
	return err
}

// Open streams a range. If a body breaks off, reading resumes at that byte of the same
// generation.
func (g *gcs) Open(ctx context.Context, o storage.Object, off, n int64) (io.ReadCloser, int64, error) {
	name, err := objects.Parse(o.URI)
	if err != nil {
		return nil, 0, err
	}
	h, err := g.handle(ctx, name, objects.Condition{Version: o.Version})
	if err != nil {
		return nil, 0, err
	}
	r, err := h.NewRangeReader(ctx, off, n)
	switch {
	case status(err) == http.StatusRequestedRangeNotSatisfiable:
		return io.NopCloser(bytes.NewReader(nil)), 0, nil // past the end
	case o.Version != "" && unmet(err): // only the listed generation may be read
		return nil, 0, storage.ErrChanged
	case err != nil:
		return nil, 0, g.readError(ctx, name, err)
	}
	return &objectReader{r: r, g: g, ctx: ctx, name: name}, r.Attrs.Size, nil
}

// readError explains an error of reading.
func (g *gcs) readError(ctx context.Context, name objects.Name, err error) error {
	return g.answer(ctx, "storage.objects.get", name, err)
}

type objectReader struct {
	r    *gcstorage.Reader
	g    *gcs
	ctx  context.Context
	name objects.Name
}

func (r *objectReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	switch {
	case err == nil || err == io.EOF:
	case unmet(err), errors.Is(err, gcstorage.ErrObjectNotExist):
		err = storage.ErrChanged // the generation was deleted or replaced
	default:
		err = r.g.readError(r.ctx, r.name, err)
	}
	return n, err
}

func (r *objectReader) Close() error { return r.r.Close() }

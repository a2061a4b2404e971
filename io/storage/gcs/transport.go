package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/httptransport"
	gcstorage "cloud.google.com/go/storage"

	"github.com/bochner-ml/bochner/io/storage/objects"
)

// stall is how long to wait for a silent server, in nanoseconds.
var stall atomic.Int64

func init() { stall.Store(int64(time.Minute)) }

// transport uses HTTP/1.1, in which requests do not wait for each other. It never waits
// forever, neither for a response nor in the middle of one.
type transport struct{ base *http.Transport }

func newTransport() *transport {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.ForceAttemptHTTP2 = false
	base.Protocols = new(http.Protocols)
	base.Protocols.SetHTTP1(true)
	base.MaxIdleConnsPerHost = 2 * objects.ParallelRequests
	base.MaxIdleConns = 0
	base.DisableCompression = true
	base.ResponseHeaderTimeout = time.Duration(stall.Load())
	return &transport{base}
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	req = req.Clone(ctx)
	if req.URL.Query().Get("alt") == "media" {
		// Otherwise the server decompresses objects whose encoding is gzip, and sends
		// the whole object instead of a range.
		req.Header.Set("Accept-Encoding", "gzip")
	}
	res, err := t.base.RoundTrip(req)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	res.Body = &watched{body: res.Body, ctx: ctx, cancel: cancel}
	return res, nil
}

func (t *transport) CloseIdleConnections() { t.base.CloseIdleConnections() }

// watched is the body of a response. Its reader waits at most for stall.
type watched struct {
	body   io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func (w *watched) Read(p []byte) (int, error) {
	timer := time.AfterFunc(time.Duration(stall.Load()), func() { w.cancel(errStalled) })
	n, err := w.body.Read(p)
	timer.Stop()
	if err != nil && errors.Is(context.Cause(w.ctx), errStalled) {
		err = errStalled
	}
	return n, err
}

func (w *watched) Close() error {
	w.cancel(nil)
	return w.body.Close()
}

var errStalled = fmt.Errorf("the server has stopped sending: %w", os.ErrDeadlineExceeded)

// plainClient sends no credentials.
func plainClient() *http.Client { return &http.Client{Transport: newTransport()} }

// serviceAccount is the account of the credentials, if they name it.
var serviceAccount atomic.Pointer[string]

// authorized returns a client with the Application Default Credentials. It is an
// error if there are none: no request is anonymous.
func authorized() (*http.Client, error) {
	detected, err := credentials.DetectDefault(&credentials.DetectOptions{Scopes: []string{gcstorage.ScopeReadWrite}})
	if err != nil {
		return nil, objects.Answerf(nil, "%s (%v)", noCredentials, err)
	}
	client, err := httptransport.NewClient(&httptransport.Options{Credentials: detected,
		BaseRoundTripper: newTransport(),
		DisableTelemetry: true})
	if err != nil {
		return nil, err
	}
	var key struct {
		Email string `json:"client_email"`
	}
	if json.Unmarshal(detected.JSON(), &key) == nil && key.Email != "" {
		serviceAccount.Store(&key.Email)
	}
	return client, nil
}

// account names the account whose rights apply.
func account() string {
	if email := serviceAccount.Load(); email != nil {
		return *email
	}
	return "your account"
}

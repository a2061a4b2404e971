package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/apply"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/options"
	"golang.org/x/net/netutil"
	"golang.org/x/sync/semaphore"
)

// server answers requests with the model in use.
type server struct {
	options    options.Serve
	token      *secret           // nil if requests need none
	threshold  *models.Threshold // nil: each model's own is used
	handle     *models.Handle
	current    atomic.Pointer[servedModel] // nil until the model is loaded
	draining   atomic.Bool
	memory     *semaphore.Weighted // in bytes of bodies and answers
	requests   *semaphore.Weighted
	explaining *semaphore.Weighted
	idle       chan *worker
	workers    []*worker
	metrics    *serverMetrics
}

// Serve answers requests until the context ends, and then finishes the requests that have begun. It returns an
// error if it could not begin, or if it had to cut off requests.
func Serve(ctx context.Context, o options.Serve) (err error) {
	if err := validate(o); err != nil {
		return err
	}
	s := &server{options: o, memory: semaphore.NewWeighted(o.Limits.MaxMemory),
		requests: semaphore.NewWeighted(int64(o.Limits.MaxRequests)), metrics: newServerMetrics()}
	s.metrics.registry.MustRegister(state{s})
	if s.token, err = readSecret(ctx, o.Access.TokenFile); err != nil {
		return err
	}
	listener, err := s.listen()
	if err != nil {
		return err
	}
	httpServer := &http.Server{Handler: s.handler(), ReadHeaderTimeout: min(10*time.Second, o.Limits.Timeout),
		ReadTimeout: o.Limits.Timeout, WriteTimeout: 2 * o.Limits.Timeout, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug)}
	ended := make(chan error, 1)
	go func() { ended <- httpServer.Serve(listener) }()
	stop := func() error { return s.drain(httpServer, ended) }
	if o.Started != nil {
		o.Started(listener.Addr())
	}
	if err := s.load(ctx); err != nil {
		return errors.Join(err, stop())
	}
	defer s.handle.Close()
	slog.InfoContext(ctx, "serve: ready", "address", listener.Addr().String(), "model", o.Model, "digest",
		s.current.Load().model.Manifest.SHA256)
	for {
		select {
		case err := <-ended: // the server has failed
			return fmt.Errorf("serve: %w", err)
		case <-ctx.Done():
			return stop()
		case <-s.due():
			s.look(ctx)
		case <-o.Refresh:
			s.look(ctx)
		}
	}
}

// listen opens the address.
func (s *server) listen() (net.Listener, error) {
	d := s.options.Access
	var config *tls.Config
	if d.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(d.TLSCert, d.TLSKey)
		if err != nil {
			return nil, exit.Usagef("--tls_cert %s, --tls_key %s: %w", d.TLSCert, d.TLSKey, err)
		}
		config = &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	}
	listener, err := net.Listen("tcp", d.Listen)
	if err != nil {
		return nil, exit.Dataf("serve: cannot listen on %s: %w; is another server running there? Choose "+
			"another address with --listen",
			d.Listen, err)
	}
	listener = netutil.LimitListener(listener, s.options.Limits.MaxConnections)
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	return listener, nil
}

// load loads the model and makes the workers.
func (s *server) load(ctx context.Context) (err error) {
	if s.handle, err = models.OpenHandle(ctx, s.options.Model, 0); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.handle.Close()
		}
	}()
	first, err := newServedModel(ctx, s.options.Model, s.handle.Model(ctx))
	if err != nil {
		return err
	}
	s.threshold, err = apply.ThresholdOf(s.options.Threshold, s.options.Model, first.model.Manifest)
	if err != nil {
		return err
	}
	n := s.options.Limits.Workers
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	s.idle, s.explaining = make(chan *worker, n), semaphore.NewWeighted(int64(max(1, n-1)))
	for range n {
		w := &worker{threshold: s.threshold}
		s.workers = append(s.workers, w)
		s.idle <- w
	}
	s.current.Store(first)
	return nil
}

// due returns a channel that signals when to look up the model.
func (s *server) due() <-chan time.Time {
	if s.options.Reload == 0 {
		return nil
	}
	return time.After(s.options.Reload)
}

// look looks up the model, and uses it if it has changed. The handle logs errors.
func (s *server) look(ctx context.Context) {
	result := "same"
	changed, err := s.handle.Refresh(ctx)
	if m := s.handle.Model(ctx); err == nil && m != s.current.Load().model {
		var next *servedModel
		if next, err = newServedModel(ctx, s.options.Model, m); err == nil {
			s.current.Store(next)
			changed = true
		} else {
			slog.WarnContext(ctx, "serve: keeping the present model; the new one cannot be used", "cause", err)
		}
	}
	switch {
	case err != nil:
		result = "failed"
	case changed:
		result = "changed"
	}
	s.metrics.reloads.WithLabelValues(result).Inc()
}

// drain stops accepting connections and waits for the requests that have begun.
func (s *server) drain(httpServer *http.Server, ended <-chan error) error {
	s.draining.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), s.options.Limits.Drain)
	defer cancel()
	err := httpServer.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("serve: requests were cut off after %v (--drain): %w", s.options.Limits.Drain, err),
			httpServer.Close())
	}
	<-ended
	if s.current.Load() != nil {
		slog.Info("serve: stopped")
	}
	return err
}

// readSecret reads the secret from a file. It returns nil if name is "".
func readSecret(ctx context.Context, name string) (*secret, error) {
	if name == "" {
		return nil, nil
	}
	text, err := storage.ReadFile(ctx, name, 1<<16)
	if err != nil {
		return nil, err
	}
	token := strings.TrimSpace(string(text))
	if len(token) < 16 {
		return nil, exit.Usagef("--token_file %s: the secret has %d characters; want at least 16; openssl rand -hex 32 "+
			"prints 64",
			name, len(token))
	}
	sum := secret(sha256.Sum256([]byte(token)))
	return &sum, nil
}

// validate returns an error for invalid options.
func validate(o options.Serve) error {
	l, d := o.Limits, o.Access
	if o.Model == "" {
		return exit.Usagef("--model is missing: name the directory of a model, or DIR@champion")
	}
	if err := cmp.Or(prepare.CheckAtLeast("reload", o.Reload, 0), prepare.CheckAtLeast("drain", l.Drain, 0),
		prepare.CheckAtLeast("workers", l.Workers, 0), prepare.CheckAtLeast("max_body", l.MaxBody, 1),
		prepare.CheckAtLeast("max_rows", l.MaxRows, 1), prepare.CheckAtLeast("max_explained", l.MaxExplained, 1),
		prepare.CheckAtLeast("max_requests", l.MaxRequests, 1), prepare.CheckAtLeast("max_connections", l.MaxConnections, 1),
		prepare.CheckAtLeast("timeout", l.Timeout, time.Millisecond)); err != nil {
		return err
	}
	switch {
	case l.MaxMemory < 2*l.MaxBody:
		return exit.Usagef("--max_memory %d is less than twice --max_body %d, so a large request could never be answered",
			l.MaxMemory, l.MaxBody)
	case (d.TLSCert == "") != (d.TLSKey == ""):
		return exit.Usagef("--tls_cert and --tls_key must be set together")
	}
	return checkSafe(d)
}

// checkSafe refuses an address that other machines can reach, unless requests need a token or the user has
// allowed it.
func checkSafe(d options.Access) error {
	host, _, err := net.SplitHostPort(d.Listen)
	if err != nil {
		return exit.Usagef("--listen %s: want an address with a port, such as 127.0.0.1:8080: %w", d.Listen, err)
	}
	if d.TokenFile != "" || d.Insecure || host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	return exit.Usagef("--listen %s: other machines can reach this address: give a secret with --token_file, or set "+
		"--insecure if something else protects it", d.Listen)
}

package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// route is the handler of a path, with its methods and types.
type route struct {
	methods []string
	open    bool // answers without a token, and before the model is ready
	answer  func(http.ResponseWriter, *http.Request) error
}

// handler returns the handler of all paths.
func (s *server) handler() http.Handler {
	get, post := []string{"GET", "HEAD"}, []string{"POST"}
	metrics := promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	routes := map[string]route{
		"/":             {[]string{"GET", "HEAD", "POST"}, false, s.page},
		"/v1/predict":   {post, false, s.predict},
		"/invocations":  {post, false, s.invocations},
		"/openapi.json": {get, false, s.openAPI},
		"/metrics": {get, false, func(w http.ResponseWriter, r *http.Request) error {
			metrics.ServeHTTP(w, r)
			return nil
		}},
		"/healthz": {get, true, plain("ok")},
		"/ping":    {get, true, plain("ok")}, // a path of MLflow
		"/readyz":  {get, true, s.ready},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		to, known := routes[path]
		label := path
		if !known {
			label = "other"
		}
		began, answer := time.Now(), &status{ResponseWriter: w, code: http.StatusOK}
		s.metrics.inFlight.Inc()
		defer func() {
			s.metrics.inFlight.Dec()
			s.metrics.seconds.WithLabelValues(label).Observe(time.Since(began).Seconds())
			s.metrics.requests.WithLabelValues(label, strconv.Itoa(answer.code)).Inc()
		}()
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		var err error = problemf(http.StatusNotFound,
			"there is nothing at %.100q; / has a form, /openapi.json describes all paths", path)
		if known {
			err = s.route(answer, r, to)
		}
		switch {
		case errors.Is(err, errClientGone):
			answer.code = statusClientGone
		case err != nil:
			problemOf(err).write(answer)
		}
	})
}

// errClientGone is the error of a request that is cancelled, or whose client has reset the connection. It gets no
// answer. The metrics count it as statusClientGone, the code that nginx uses. A body that ends early is a 400,
// because its client may still wait for an answer.
var errClientGone = errors.New("the client is gone")

const statusClientGone = 499

// status records the status code of an answer.
type status struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// route answers a request, unless there are too many at the same time.
func (s *server) route(w http.ResponseWriter, r *http.Request, to route) error {
	if !slices.Contains(to.methods, r.Method) {
		w.Header().Set("Allow", strings.Join(to.methods, ", "))
		return problemf(http.StatusMethodNotAllowed, "%s takes %s, not %.20s", r.URL.Path,
			strings.Join(to.methods, " and "), r.Method)
	}
	if to.open {
		return to.answer(w, r)
	}
	if !s.token.matches(r) {
		w.Header().Add("WWW-Authenticate", `Bearer realm="bochner"`)
		if r.URL.Path == "/" {
			w.Header().Add("WWW-Authenticate", `Basic realm="bochner: any name, and the token as password"`)
		}
		return problemf(http.StatusUnauthorized, "this server needs a token: send the header Authorization: Bearer TOKEN")
	}
	if s.current.Load() == nil {
		return problemf(http.StatusServiceUnavailable, "the model is being loaded")
	}
	if !s.requests.TryAcquire(1) {
		return problemf(http.StatusServiceUnavailable, "%d requests are waiting; try again later",
			s.options.Limits.MaxRequests)
	}
	defer s.requests.Release(1)
	return to.answer(w, r)
}

// ready answers whether the server takes requests.
func (s *server) ready(w http.ResponseWriter, r *http.Request) error {
	switch {
	case s.draining.Load():
		return problemf(http.StatusServiceUnavailable, "the server is stopping")
	case s.current.Load() == nil:
		return problemf(http.StatusServiceUnavailable, "the model is being loaded")
	}
	return plain("ready")(w, r)
}

func plain(text string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, text+"\n") // ignore errors of clients that have gone
		return nil
	}
}

// secret is the SHA-256 digest of a token.
type secret [sha256.Size]byte

// matches reports whether a request has the token: as Bearer, or as the password that a browser asks for.
func (s *secret) matches(r *http.Request) bool {
	if s == nil {
		return true
	}
	_, given, basic := r.BasicAuth()
	if kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); !basic && strings.EqualFold(kind, "Bearer") {
		given = strings.TrimSpace(token)
	}
	sum := sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(sum[:], s[:]) == 1
}

// reservation is the memory that a request has reserved.
type reservation struct {
	s     *server
	bytes int64
}

// take reserves more memory, or returns a problem if there is not enough.
func (r *reservation) take(n int64) error {
	if !r.s.memory.TryAcquire(n) {
		return problemf(http.StatusServiceUnavailable,
			"other requests use all the memory for bodies and answers (--max_memory); try again later")
	}
	r.bytes += n
	return nil
}

func (r *reservation) release() { r.s.memory.Release(r.bytes) }

// body reads the body of a request. It reserves memory as the body arrives, so that a slow client holds memory
// only for what it has sent.
func (s *server) body(w http.ResponseWriter, r *http.Request, reserved *reservation) ([]byte, error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, problemf(http.StatusUnsupportedMediaType,
			"the body has the Content-Encoding %.40q, which is not supported; send it uncompressed", e)
	}
	limit := s.options.Limits.MaxBody
	if r.ContentLength > limit {
		return nil, s.bodyProblem(r, &http.MaxBytesError{Limit: limit})
	}
	from := http.MaxBytesReader(w, r.Body, limit)
	const first = 64 << 10
	size := int64(first)
	if r.ContentLength >= 0 {
		size = min(first, r.ContentLength+1) // one more byte, to notice the end
	}
	var body []byte
	for {
		if err := reserved.take(size - int64(cap(body))); err != nil {
			return nil, err
		}
		body = append(make([]byte, 0, size), body...)
		for len(body) < cap(body) {
			n, err := from.Read(body[len(body):cap(body)])
			body = body[:len(body)+n]
			switch {
			case err == io.EOF:
				return body, nil
			case err != nil:
				return nil, s.bodyProblem(r, err)
			}
		}
		size = min(2*size, limit+1)
	}
}

// bodyProblem returns the problem of a request whose body cannot be read.
func (s *server) bodyProblem(r *http.Request, err error) error {
	slog.DebugContext(r.Context(), "serve: body", "cause", err)
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return problemf(http.StatusRequestEntityTooLarge,
			"the body has more than %d bytes; send the rows in several requests", tooLarge.Limit)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return problemf(http.StatusRequestTimeout, "the body did not arrive within %v", s.options.Limits.Timeout)
	case r.Context().Err() != nil, errors.Is(err, syscall.ECONNRESET):
		return errClientGone
	}
	return problemf(http.StatusBadRequest, "the body cannot be read: %v", err)
}

// problem is the reason why a request has no answer, in the form of RFC 9457.
type problem struct {
	Title  string   `json:"title"` // text of the status
	Status int      `json:"status"`
	Detail string   `json:"detail"`
	Errors []rowErr `json:"errors,omitempty"` // the first rows that cannot be used
	// Rows is the number of rows that cannot be used.
	Rows int `json:"rows,omitempty"`
}

// rowErr is the reason why a row cannot be used.
type rowErr struct {
	Row    int64  `json:"row,omitempty"`  // from 1
	Line   int64  `json:"line,omitempty"` // of a body with lines, instead of Row
	Column string `json:"column,omitempty"`
	Reason string `json:"reason"`
}

func (p *problem) Error() string { return p.Detail }

// problemf returns a problem with a detail but no rows.
func problemf(status int, format string, args ...any) *problem {
	return &problem{Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

func tooManyRows(limit int) *problem {
	return problemf(http.StatusRequestEntityTooLarge, "more than %d rows; send them in several requests", limit)
}

// problemOf returns the problem to report for an error.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	return problemf(http.StatusUnprocessableEntity, "%s", plainReason(err.Error()))
}

// badRows returns the problem for rows that cannot be used.
func badRows(all []rowErr, n int) *problem {
	p := problemf(http.StatusUnprocessableEntity, "")
	first := all[0]
	at := fmt.Sprintf("row %d", first.Row)
	if first.Line > 0 {
		at = fmt.Sprintf("line %d", first.Line)
	}
	if first.Column != "" {
		at += fmt.Sprintf(", column %q", first.Column)
	}
	p.Detail, p.Errors, p.Rows = at+": "+first.Reason, all, n
	return p
}

// write answers a request with the problem.
func (p *problem) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	switch p.Status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusRequestEntityTooLarge:
		w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	body, _ := json.Marshal(p)
	w.WriteHeader(p.Status)
	w.Write(append(body, '\n')) // ignore errors of clients that have gone
}

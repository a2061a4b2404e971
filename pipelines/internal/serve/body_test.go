package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"golang.org/x/sync/semaphore"

	"github.com/bochner-ml/bochner/pipelines/options"
)

// Only a body that is too slow is a timeout, and a request that is cancelled or reset gets no answer.
func TestUnreadableBodyHasTheStatusOfItsCause(t *testing.T) {
	newServer := func() *server { // with counters of its own
		s := &server{options: options.NewServe(), memory: semaphore.NewWeighted(1 << 20), requests: semaphore.NewWeighted(1),
			metrics: newServerMetrics()}
		s.options.Limits.MaxBody = 100
		s.current.Store(&servedModel{})
		return s
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error // after some bytes
		code int
		want string
	}{
		{"timeout", t.Context(), fmt.Errorf("read: %w", os.ErrDeadlineExceeded), 408, "did not arrive within"},
		{"truncated", t.Context(), io.ErrUnexpectedEOF, 400, "unexpected EOF"},
		{"malformed chunks", t.Context(), errors.New("malformed chunked encoding"), 400, "malformed chunked encoding"},
		{"cancelled", gone, errors.New("client disconnected"), 499, ""},
		{"reset", t.Context(), fmt.Errorf("read: %w", syscall.ECONNRESET), 499, ""},
	} {
		s := newServer()
		for _, n := range []int{7, 100} {
			body := io.MultiReader(strings.NewReader(strings.Repeat("x", n)), iotest.ErrReader(c.err))
			answer := httptest.NewRecorder()
			s.handler().ServeHTTP(answer, httptest.NewRequestWithContext(c.ctx, "POST", "/v1/predict", body))
			if said := answer.Body.String(); !strings.Contains(said, c.want) || (c.want == "") != (said == "") {
				t.Errorf("%s: %q", c.name, said)
			}
			if c.want != "" && answer.Code != c.code {
				t.Errorf("%s: %d, want %d", c.name, answer.Code, c.code)
			}
		}
		metrics := httptest.NewRecorder()
		s.handler().ServeHTTP(metrics, httptest.NewRequest("GET", "/metrics", nil))
		want := fmt.Sprintf("bochner_requests_total{code=\"%d\",path=\"/v1/predict\"} 2", c.code)
		if !strings.Contains(metrics.Body.String(), want) {
			t.Errorf("%s: the metrics lack %s", c.name, want)
		}
	}
	answer := httptest.NewRecorder()
	body := io.MultiReader(strings.NewReader(strings.Repeat("x", 101))) // of unknown length
	newServer().handler().ServeHTTP(answer, httptest.NewRequest("POST", "/v1/predict", body))
	if answer.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a byte more than the limit: %d", answer.Code)
	}
}

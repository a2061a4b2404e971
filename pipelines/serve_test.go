package pipelines

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// The metrics of rows with a prediction count the rows of answers, not those of rejected requests.
func TestServeCountsOnlyRowsThatItAnswers(t *testing.T) {
	dir := t.TempDir()
	table := strings.Join(jobtest.Made(t, "moons", 300, 1), "")
	o := fixed(1)
	o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "train.csv", strings.Replace(table, "\n", "\n,,0\n", 1))}, Label: "y"}
	o.Model, o.Lambda.Path = filepath.Join(dir, "model"), []float64{1e-2}
	if _, err := trainPlain(jobtest.Ctx, o); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s := options.NewServe()
	s.Model, s.Access.Listen = o.Model, "127.0.0.1:0"
	s.Limits.MaxBody, s.Limits.MaxMemory = 2000, 4000 // an answer may have 1,000 bytes
	addresses, ended := make(chan net.Addr, 1), make(chan error, 1)
	s.Started = func(address net.Addr) { addresses <- address }
	go func() { ended <- Serve(ctx, s) }()
	url := "http://" + (<-addresses).String()
	do := func(answer *http.Response, err error) (int, string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	for code := 0; code != http.StatusOK; {
		code, _ = do(http.Get(url + "/readyz"))
	}
	for _, c := range []struct{ rows, code int }{{100, 413}, {3, 200}, {100, 413}, {4, 200}} {
		body := "[" + strings.Repeat("[null,1],", c.rows-1) + "[1,1]]"
		if code, said := do(http.Post(url+"/v1/predict", "application/json", strings.NewReader(body))); code != c.code {
			t.Fatalf("%d rows: %d %s", c.rows, code, said)
		}
	}
	_, metrics := do(http.Get(url + "/metrics"))
	for _, want := range []string{"bochner_rows_total 7\n", "bochner_missing_values_total{column=\"x1\"} 5\n"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The message names the option that is out of bounds, its bound and its value.
func TestServeRejectsLimitsOutOfBounds(t *testing.T) {
	for want, set := range map[string]func(*options.Serve){
		"--drain must be at least 0s (have -1s)": func(o *options.Serve) { o.Limits.Drain = -time.Second },
		"--max_body must be at least 1 (have 0)": func(o *options.Serve) { o.Limits.MaxBody = 0 },
		"--workers must be at least 0 (have -2)": func(o *options.Serve) { o.Limits.Workers = -2 },
	} {
		o := options.NewServe()
		o.Model = "model"
		set(&o)
		jobtest.WantError(t, want, Serve(t.Context(), o), exit.CodeUsage, want)
	}
}

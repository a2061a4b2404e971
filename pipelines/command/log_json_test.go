package command

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Every line on standard error is a JSON object, also the error that ends the program.
func TestLogLinesAreObjects(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "d.csv")
	var out, log bytes.Buffer
	if code := Run(t.Context(), []string{"generate", "moons", "--rows", "200", "--out", data}, &out, &log); code != 0 {
		t.Fatal(log.String())
	}
	train := []string{"train", "--data", data, "--features", "16", "--lambda", "1e-3", "--log_format", "json", "--model"}
	for _, job := range []struct {
		label string
		code  int
		level string // of the last line
	}{{"y", 0, "INFO"}, {"nobody", 3, "ERROR"}} {
		log.Reset()
		code := Run(t.Context(), append(train, filepath.Join(dir, job.label), "--label", job.label), &out, &log)
		if int(code) != job.code {
			t.Errorf("label %s: exit code %d, want %d\n%s", job.label, code, job.code, log.String())
		}
		lines := strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
		for i, line := range lines {
			var l struct {
				Time       time.Time
				Level, Msg string
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil || l.Time.IsZero() || l.Msg == "" {
				t.Errorf("%q is not a line of a log: %v", line, err)
			}
			if i == len(lines)-1 && l.Level != job.level {
				t.Errorf("label %s: the last line has level %s, want %s", job.label, l.Level, job.level)
			}
		}
	}
	if code := Run(t.Context(), append(train, "m", "--label", "y", "--log_format", "xml"), &out, &log); code != 2 {
		t.Errorf("--log_format xml: exit code %d, want 2", code)
	}
}

func TestLogLinesHaveTheirLevel(t *testing.T) {
	var b bytes.Buffer
	log := newJSONLog(&b)
	for _, part := range []string{"note: two ", "parts\nbochner: no file\n\nread: 10 rows\nunfinished"} {
		if n, err := log.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	for _, want := range []string{`"WARN","msg":"two parts"`, `"ERROR","msg":"no file"`, `"INFO","msg":"read: 10 rows"`} {
		line, err := b.ReadString('\n')
		if err != nil || !strings.Contains(line, want) {
			t.Errorf("%q has no %s", line, want)
		}
	}
	if b.Len() > 0 {
		t.Errorf("there is also %q", b.String())
	}
}

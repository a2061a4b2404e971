package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/csv"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/testing/realdata"
)

// served is a running bochner serve.
type served struct {
	cmd     *exec.Cmd
	url     string
	address string
	stderr  *bufio.Scanner
}

// serve starts a server on a free port and waits until it is ready.
func serve(t *testing.T, dir string, args ...string) *served {
	t.Helper()
	s := &served{cmd: program(dir, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)}
	stderr, err := s.cmd.StderrPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.cmd.Process.Kill()
		s.cmd.Wait()
	})
	s.stderr = bufio.NewScanner(stderr)
	line := s.waits(t, "serve: ready")
	_, after, _ := strings.Cut(line, "address=")
	s.address, _, _ = strings.Cut(after, " ")
	s.url = "http://" + s.address
	return s
}

// waits waits for a line of the log with the words.
func (s *served) waits(t *testing.T, words string) string {
	t.Helper()
	var all []string
	for s.stderr.Scan() {
		all = append(all, s.stderr.Text())
		if strings.Contains(s.stderr.Text(), words) {
			return s.stderr.Text()
		}
	}
	t.Fatalf("the server ended without %q:\n%s", words, strings.Join(all, "\n"))
	return ""
}

// do sends a request and returns the answer with its body.
func (s *served) do(t *testing.T, method, path, kind, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got, string(text)
}

// answered returns the elements of an answer as they are written.
func answered(t *testing.T, answer string) (lines []string) {
	t.Helper()
	var said struct{ Predictions []json.RawMessage }
	if err := json.Unmarshal([]byte(answer), &said); err != nil {
		t.Fatalf("%v: %.300s", err, answer)
	}
	for _, p := range said.Predictions {
		lines = append(lines, string(p))
	}
	return lines
}

// rowObjects returns the rows of CSV as objects of JSON with the texts of the fields; plain numbers and
// booleans as such, and empty fields as null.
func rowObjects(t *testing.T, text string) (all []string) {
	t.Helper()
	r := csv.NewReader(strings.NewReader(text))
	r.TrimLeadingSpace = true
	table, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range table[1:] {
		var b strings.Builder
		for i, field := range row {
			value, _ := json.Marshal(field)
			var number json.Number
			switch {
			case field == "":
				value = []byte("null")
			case json.Unmarshal([]byte(field), &number) == nil, field == "true", field == "false":
				value = []byte(field)
			}
			fmt.Fprintf(&b, "%s%q:%s", []string{"{", ","}[min(i, 1)], table[0][i], value)
		}
		all = append(all, b.String()+"}")
	}
	return all
}

// sameAsPredict checks that all forms of a request give the predictions of bochner predict, as text.
func sameAsPredict(t *testing.T, dir, model, data string) {
	t.Helper()
	all := []string{"predict", "--model", model, "--data", data, "--scores", "--probabilities", "--interval", "0.9", "--novelty",
		"--explain", "--out"}
	must(t, dir, append(all, "predictions", "--out_format", "jsonl")...)
	want := strings.Split(strings.TrimSpace(joined(t, filepath.Join(dir, "predictions"), ".jsonl")), "\n")
	text := read(t, dir, data)
	rows := rowObjects(t, text)
	if len(rows) != len(want) || len(want) < 100 {
		t.Fatalf("%d rows, %d predictions", len(rows), len(want))
	}
	for _, column := range []string{"set", "novelty", "base", "effects", "effect_error"} {
		if !strings.Contains(want[0], `"`+column+`":`) {
			t.Errorf("predict has no %s: %s", column, want[0])
		}
	}
	s := serve(t, dir, "--model", model, "--max_rows", "100000", "--max_explained", "100000", "--max_body", "64MB")
	const query, kind = "?scores=true&probabilities=true&interval=0.9&novelty=true&explain=true", "application/json"
	const path, members = "/v1/predict" + query, `"scores":true,"probabilities":true,"interval":0.9,"novelty":true,"explain":true`
	var split strings.Builder
	header := strings.Split(strings.SplitN(text, "\n", 2)[0], ",")
	names, _ := json.Marshal(header)
	fmt.Fprintf(&split, `{"params":{%s},"dataframe_split":{"columns":%s,"data":[`, members, names)
	columns := map[string][]json.RawMessage{}
	for i, row := range rows {
		var of map[string]json.RawMessage
		if err := json.Unmarshal([]byte(row), &of); err != nil {
			t.Fatal(err)
		}
		var values []json.RawMessage
		for _, name := range header {
			values, columns[name] = append(values, of[name]), append(columns[name], of[name])
		}
		list, _ := json.Marshal(values)
		fmt.Fprintf(&split, "%s%s", []string{"", ","}[min(i, 1)], list)
	}
	inputs, _ := json.Marshal(map[string]any{"inputs": columns})
	list := strings.Join(rows, ",")
	for _, c := range []struct{ name, path, kind, body string }{
		{"rows", path, kind, `{"rows": [` + list + "]}"},
		{"options of the body", "/v1/predict", kind, "{" + members + `, "rows": [` + list + "]}"},
		{"an array", path, kind, "[" + list + "]"},
		{"lines", path, "application/x-ndjson", strings.Join(rows, "\n")},
		{"CSV", path, "text/csv", text},
		{"dataframe_split", "/invocations", kind, split.String() + "]}}"},
		{"dataframe_records", "/invocations" + query, kind, `{"dataframe_records": [` + list + "]}"},
		{"inputs", "/invocations" + strings.ReplaceAll(query, "true", "1"), kind, string(inputs)},
	} {
		answer, said := s.do(t, "POST", c.path, c.kind, c.body)
		if answer.StatusCode != 200 {
			t.Errorf("%s: %d %.300s", c.name, answer.StatusCode, said)
			continue
		}
		if got := answered(t, said); !slices.Equal(got, want) {
			i := 0
			for i < min(len(got), len(want)) && got[i] == want[i] {
				i++
			}
			t.Errorf("%s: %d predictions, want %d; the first that differs is %d: row %s", c.name, len(got), len(want), i, rows[i])
		}
	}
	for i := range 20 { // one by one
		if _, said := s.do(t, "POST", path, kind, rows[i]); !slices.Equal(answered(t, said), want[i:i+1]) {
			t.Errorf("row %d alone: %s, want %s", i, said, want[i])
		}
	}
	must(t, dir, append(all, "csv")...)
	if _, said := s.do(t, "POST", path, "text/csv", text, "Accept", "text/csv"); said != joined(t, filepath.Join(dir, "csv"), ".csv") {
		t.Error("an answer in CSV differs from predict")
	}
}

// otherRows returns rows of the typed table in which some values are unseen, missing or written in other ways.
func otherRows(n int) string {
	rows := typedRows(n, 2)
	for i := range rows {
		switch i % 7 {
		case 2:
			rows[i] = strings.Replace(rows[i], "osaka", "Atlantis", 1)
		case 3:
			rows[i] = strings.Replace(rows[i], "true", "YES", 1)
		case 4:
			rows[i] = strings.Replace(rows[i], ",2024-", ",2031-", 1)
		case 5:
			rows[i] = strings.Replace(rows[i], ",", ",  ", 1)
		}
	}
	return typedTable(typedHeader, rows)
}

// typedModel trains a model on the typed table.
func typedModel(t *testing.T, dir, model string, seed uint64) {
	t.Helper()
	write(t, dir, "train.csv", typedTable(typedHeader, typedRows(400, seed)))
	must(t, dir, append([]string{"train", "--label", "y", "--drop", "id", "--data", "train.csv", "--model", model,
		"--calibrate", "platt"}, smallModel...)...)
}

func TestServedPredictionsMatchPredict(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	typedModel(t, dir, "model", 1)
	write(t, dir, "new.csv", otherRows(2500))
	sameAsPredict(t, dir, "model", "new.csv")
	want := must(t, dir, "predict", "--model", "model", "--data", "new.csv", "--out", "-", "--threshold", "0.9", "--quiet")
	s := serve(t, dir, "--model", "model", "--threshold", "0.9")
	if _, said := s.do(t, "POST", "/v1/predict", "text/csv", read(t, dir, "new.csv"), "Accept", "text/csv"); said != want {
		t.Error("with --threshold an answer differs from predict")
	}
}

func TestServedPredictionsForAdultMatchPredict(t *testing.T) {
	t.Parallel()
	const header = "age,workclass,fnlwgt,education,education_num,marital,occupation,relationship,race,sex,gain,loss," +
		"hours,country,income\n"
	train, test := realdata.Read(t, "csv", "adult-train.csv.gz"), realdata.Read(t, "csv", "adult-test.csv.gz")
	dir := t.TempDir()
	write(t, dir, "train.csv", header+string(train))
	rows := strings.SplitAfter(string(test), "\n")
	if os.Getenv("BOCHNER_LONG") == "" {
		rows = rows[:2000] // to explain all takes a minute
	}
	write(t, dir, "new.csv", header+strings.Join(rows, ""))
	must(t, dir, "train", "--label", "income", "--data", "train.csv", "--model", "model", "--calibrate", "platt", "--features",
		"256", "--lambda", "1e-5", "--search", "none")
	sameAsPredict(t, dir, "model", "new.csv")
}

// Rows of a model without a header, of one of several targets, and of images are accepted with the names that
// columns have there.
func TestServeAcceptsRowsWithoutNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, dir, "generate", "friedman", "--rows", "300", "--out", "named.csv")
	_, table, _ := strings.Cut(read(t, dir, "named.csv"), "\n")
	write(t, dir, "data.csv", table)
	must(t, dir, append([]string{"train", "--label", "-1", "--data", "data.csv", "--model", "model"}, smallModel...)...)
	var features, arrays, members []string
	for _, line := range strings.Split(strings.TrimSpace(table), "\n")[:5] {
		fields := strings.Split(line, ",")
		fields = fields[:len(fields)-1]
		features, arrays = append(features, strings.Join(fields, ",")), append(arrays, "["+strings.Join(fields, ", ")+"]")
		for i, v := range fields {
			fields[i] = fmt.Sprintf(`"c%d": %s`, i+1, v)
		}
		members = append(members, "{"+strings.Join(fields, ",\n")+"}")
	}
	write(t, dir, "new.csv", strings.Join(features, "\n")+"\n")
	out := must(t, dir, "predict", "--model", "model", "--data", "new.csv", "--out", "-", "--out_format", "jsonl", "--quiet")
	want := strings.Split(strings.TrimSpace(out), "\n")
	s := serve(t, dir, "--model", "model")
	for path, body := range map[string]string{
		"/v1/predict":  `{"rows": [` + strings.Join(arrays, ",") + "]}",
		"/v1/predict?": `{"rows": [` + strings.Join(members, ",") + "]}",
	} {
		if _, said := s.do(t, "POST", path, "application/json", body); !slices.Equal(answered(t, said), want) {
			t.Errorf("%s: %s, want %s", body, said, want)
		}
	}
	_, said := s.do(t, "POST", "/v1/predict", "text/csv", strings.Join(features, "\n"))
	if !slices.Equal(answered(t, said), want) {
		t.Errorf("CSV without a header: %s, want %s", said, want)
	}
	_, said = s.do(t, "POST", "/invocations", "application/json", `{"instances": [`+strings.Join(arrays, ",")+"]}")
	if got := answered(t, said); len(got) != 5 || `{"prediction":`+got[4]+"}" != want[4] {
		t.Errorf("instances: %s, want %s", said, want)
	}
	// The model has no intervals, and the server says so in the words of predict.
	r := run(t, dir, "predict", "--model", "model", "--data", "new.csv", "--out", "x", "--interval", "0.9")
	_, why, _ := strings.Cut(r.stderr, "--interval: the model model has no intervals; ")
	why, _, _ = strings.Cut(why, "\n")
	answer, said := s.do(t, "POST", "/v1/predict?interval=0.9", "text/csv", features[0])
	if answer.StatusCode != 400 || why == "" || !strings.Contains(said, `"interval: the model has no intervals; `+why+`"`) {
		t.Errorf("%d %s, and predict says %s", answer.StatusCode, said, r.stderr)
	}
}

// A request that fails after its first block of rows has no effect on the next one.
func TestServeAnswersWithTheRowsOfTheRequest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, dir, "generate", "friedman", "--rows", "300", "--out", "data.csv")
	must(t, dir, append([]string{"train", "--label", "y", "--data", "data.csv", "--model", "model"}, smallModel...)...)
	s := serve(t, dir, "--model", "model", "--workers", "1")
	row := func(v string) string { return "[" + strings.TrimSuffix(strings.Repeat(v+",", 10), ",") + "]" }
	const path, kind = "/v1/predict", "application/json"
	_, want := s.do(t, "POST", path, kind, "["+row("0.25")+"]")
	failed, why := s.do(t, "POST", path, kind, "["+strings.Repeat(row("0.5")+",", 1024)+row("3e38")+"]")
	if failed.StatusCode != 422 || !strings.Contains(why, `"row":1025`) {
		t.Fatalf("%d %.300s", failed.StatusCode, why)
	}
	if _, got := s.do(t, "POST", path, kind, "["+row("0.25")+"]"); got != want || len(answered(t, got)) != 1 {
		t.Errorf("a row after a failed request: %.300s, want %s", got, want)
	}
}

func TestServeErrorsNameTheFaultOfARequest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	typedModel(t, dir, "model", 1)
	s := serve(t, dir, "--model", "model", "--max_body", "2000", "--max_rows", "3", "--max_explained", "2")
	const kind, good = "application/json", `{"age": 39, "city": "osaka", "member": true, "since": "2024-03-01", "id": "x"}`
	for _, c := range []struct {
		name, method, path, kind, body string
		code                           int
		want                           string
	}{
		{"good", "POST", "/v1/predict", kind, good, 200, `"prediction":`},
		{"a number", "POST", "/v1/predict", kind, strings.Replace(good, "39", `"abc"`, 1), 422,
			`"errors":[{"row":1,"column":"age","reason":"\"abc\" is not a number"}]`},
		{"second row", "POST", "/v1/predict", kind, "[" + good + "," + strings.Replace(good, "true", "7", 1) + "]", 422,
			`"row":2,"column":"member","reason":"\"7\" is neither true nor false"`},
		{"a missing column", "POST", "/v1/predict", kind, strings.Replace(good, "age", "Age", 1), 422,
			`"column":"age","reason":"is not in the object; null is a missing value"`},
		{"twice", "POST", "/v1/predict", kind, strings.Replace(good, `"id": "x"`, `"age": 3`, 1), 422, `"occurs twice in the object"`},
		{"nested", "POST", "/v1/predict", kind, strings.Replace(good, "39", "[39]", 1), 422, `"column":"age"`},
		{"too large", "POST", "/v1/predict", kind, strings.Replace(good, "39", "1e39", 1), 422, `"column":"age"`},
		{"a line", "POST", "/v1/predict", "text/csv", "age,city,member,since\n1,osaka,yes,2024-01-01\nx,osaka,no,2024-01-01\n", 422,
			`"line":3,"column":"age"`},
		{"no column", "POST", "/v1/predict", "text/csv", "age,city,since\n1,osaka,2024-01-01\n", 422, "missing column member"},
		{"no rows", "POST", "/v1/predict", kind, `{"rows": []}`, 422, "there are no rows"},
		{"no lines", "POST", "/v1/predict", "text/csv", "", 422, "is empty"},
		{"not JSON", "POST", "/v1/predict", kind, `{"age": 39,}`, 400, "byte 12"},
		{"not an object", "POST", "/v1/predict", kind, `39`, 400, "not an object"},
		{"other members", "POST", "/v1/predict", kind, `{"rows": [` + good + `], "score": true}`, 400, "may be added"},
		{"no boolean", "POST", "/v1/predict", kind, `{"rows": [` + good + `], "scores": null}`, 400, `"scores" must be true or false`},
		{"no params", "POST", "/invocations", kind, `{"instances": [` + good + `], "params": {"scores": 1}}`, 400, "true or false"},
		{"other params", "POST", "/invocations", kind, `{"instances": [` + good + `], "params": {"score": true}}`, 400,
			`only "scores", "probabilities", "interval", "novelty", "explain" may be in "params"`},
		{"a parameter", "POST", "/v1/predict?scores=maybe", kind, good, 400, "want true or false"},
		{"no level", "POST", "/v1/predict?interval=true", kind, good, 400, "the parameter interval is \"true\"; want a number above 0"},
		{"a level", "POST", "/v1/predict?interval=1", kind, good, 400, "interval 1: want a number above 0 and below 1"},
		{"a high level", "POST", "/v1/predict", kind, `{"rows": [` + good + `], "interval": 0.9999}`, 400,
			"interval: the model: level 0.9999 needs "},
		{"a text", "POST", "/v1/predict", kind, `{"rows": [` + good + `], "interval": "0.9"}`, 400, `"interval" must be a number above 0`},
		{"an unknown parameter", "POST", "/v1/predict?intervals=0.9", kind, good, 400, `the parameter "intervals" is unknown; have `},
		{"a parameter twice", "POST", "/v1/predict?interval=0.9&interval=0.5", kind, good, 400, "the parameter interval is given twice"},
		{"forms", "POST", "/invocations", kind, `{"columns": []}`, 400, "dataframe_split"},
		{"lengths", "POST", "/invocations", kind, `{"inputs": {"age": [1, 2], "city": ["a"], "member": [true, true], "since": ["2024-01-01", "2024-01-01"]}}`,
			400, "different lengths"},
		{"no path", "GET", "/v2", "", "", 404, "openapi.json"},
		{"no method", "GET", "/v1/predict", "", "", 405, "takes POST"},
		{"rows", "POST", "/v1/predict", kind, "[" + strings.Repeat(good+",", 3) + good + "]", 413, "more than 3 rows"},
		{"rows to explain", "POST", "/v1/predict?explain=true", kind, "[" + good + "," + good + "," + good + "]", 413,
			"3 rows to explain; the limit is 2 in a request"},
		{"explained", "POST", "/v1/predict?explain=true", kind, "[" + good + "," + good + "]", 200, `"effects":{"age":`},
		{"lines", "POST", "/v1/predict", "application/x-ndjson", strings.Repeat(good+"\n", 4), 413, "more than 3 rows"},
		{"CSV rows", "POST", "/v1/predict", "text/csv", "age,city,member,since\n" + strings.Repeat("1,osaka,yes,2024-01-01\n", 4), 413,
			"more than 3 rows"},
		{"bytes", "POST", "/v1/predict", kind, `{"rows": [` + strings.Repeat(" ", 2000) + "]}", 413, "more than 2000 bytes"},
		{"type", "POST", "/v1/predict", "text/xml", "<x/>", 415, "text/csv"},
	} {
		answer, said := s.do(t, c.method, c.path, c.kind, c.body)
		if answer.StatusCode != c.code || !strings.Contains(said, c.want) && !strings.Contains(strings.ReplaceAll(said, `\"`, `"`), c.want) {
			t.Errorf("%s: %d %s; want %d with %s", c.name, answer.StatusCode, said, c.code, c.want)
		}
		if c.code >= 400 && answer.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: Content-Type %s", c.name, answer.Header.Get("Content-Type"))
		}
	}
	if answer, _ := s.do(t, "POST", "/v1/predict", kind, good, "Content-Encoding", "gzip"); answer.StatusCode != 415 {
		t.Errorf("compressed: %d", answer.StatusCode)
	}
	// A body whose length is not known is cut off at the limit.
	reader, writer := io.Pipe()
	go func() {
		_, err := io.Copy(writer, io.LimitReader(zeros{}, 1<<30))
		writer.CloseWithError(err)
	}()
	answer, err := http.Post(s.url+"/v1/predict", kind, reader)
	if err == nil && answer.StatusCode != 413 {
		t.Errorf("a body without end: %d", answer.StatusCode)
	}
	_, metrics := s.do(t, "GET", "/metrics", "", "")
	for _, want := range []string{`bochner_requests_total{code="422",path="/v1/predict"}`, "bochner_rows_total 3\n",
		"bochner_rows_refused_total ", "bochner_model_info{digest="} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
}

// zeros is a body of spaces without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// held begins a request whose body does not end, and returns how to end it.
func (s *served) held(t *testing.T, body string) (end func() string) {
	t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	half := len(body) / 2
	fmt.Fprintf(c, "POST /v1/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		len(body), body[:half])
	return func() string {
		io.WriteString(c, body[half:])
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return err.Error()
		}
		text, _ := io.ReadAll(answer.Body)
		return answer.Status + " " + string(text)
	}
}

// waitsFor waits until the metrics have a line.
func (s *served) waitsFor(t *testing.T, line string) {
	t.Helper()
	for {
		if _, all := s.do(t, "GET", "/metrics", "", ""); strings.Contains(all, line+"\n") {
			return
		}
	}
}

func TestServeLimitsRequestsAndDrains(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	typedModel(t, dir, "model", 1)
	s := serve(t, dir, "--model", "model", "--max_requests", "2")
	const row = `{"age": 39, "city": "osaka", "member": true, "since": "2024-03-01"}`
	end := s.held(t, row)
	s.waitsFor(t, "bochner_requests_in_flight 2") // with that for the metrics
	for {                                         // until the third request comes while the second holds its place: either may come first
		second := s.held(t, row)
		answer, said := s.do(t, "POST", "/v1/predict", "application/json", row)
		if ended := second(); answer.StatusCode == http.StatusServiceUnavailable && strings.Contains(ended, "200 OK") {
			if answer.Header.Get("Retry-After") == "" || !strings.Contains(said, "2 requests are waiting") {
				t.Errorf("%v %s", answer.Header, said)
			}
			break
		}
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	for { // until it takes no connections
		c, err := net.Dial("tcp", s.address)
		if err != nil {
			break
		}
		c.Close()
	}
	if said := end(); !strings.Contains(said, "200 OK") || !strings.Contains(said, `"prediction":`) {
		t.Errorf("a request that had begun before SIGTERM: %s", said)
	}
	s.waits(t, "serve: stopped")
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	// A client that neither sends nor leaves is cut off.
	s = serve(t, dir, "--model", "model", "--timeout", "100ms", "--drain", "0")
	end = s.held(t, row)
	s.waitsFor(t, `bochner_requests_total{code="408",path="/v1/predict"} 1`)
	if said := end(); strings.Contains(said, "200 OK") {
		t.Errorf("a slow client: %s", said)
	}
	// So is a request that takes longer than --drain.
	s = serve(t, dir, "--model", "model", "--drain", "10ms")
	s.held(t, row)
	s.waitsFor(t, "bochner_requests_in_flight 2")
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.waits(t, "requests were cut off after 10ms")
	if s.cmd.Wait(); s.cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("exit code %d", s.cmd.ProcessState.ExitCode())
	}
}

func TestServeReloadsTheChampion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	typedModel(t, dir, "models/a", 1)
	typedModel(t, dir, "models/b", 2)
	must(t, dir, "generate", "moons", "--rows", "200", "--out", "moons.csv")
	must(t, dir, append([]string{"train", "--label", "y", "--data", "moons.csv", "--model", "models/other"}, smallModel...)...)
	promote := func(name string) { must(t, dir, "models", "promote", "--models", "models", "--model", name) }
	promote("a")
	s := serve(t, dir, "--model", "models@champion", "--reload", "0")
	const row = `{"age": 39, "city": "osaka", "member": true, "since": "2024-03-01"}`
	digest := func() string {
		answer, _ := s.do(t, "POST", "/v1/predict", "application/json", row)
		return answer.Header.Get("Bochner-Model")
	}
	first := digest()
	promote("b")
	if digest() != first {
		t.Error("the model changed without being looked up")
	}
	s.cmd.Process.Signal(syscall.SIGHUP)
	s.waitsFor(t, `bochner_reloads_total{result="changed"} 1`)
	second := digest()
	if second == first {
		t.Error("SIGHUP did not change the model")
	}
	promote("other") // a model for other rows is not used
	s.cmd.Process.Signal(syscall.SIGHUP)
	s.waitsFor(t, `bochner_reloads_total{result="failed"} 1`)
	if digest() != second {
		t.Error("a model for other rows is in use")
	}
	s.waits(t, "keeping the present model")
	s = serve(t, dir, "--model", "models/a", "--reload", "20ms")
	must(t, dir, append([]string{"train", "--label", "y", "--drop", "id", "--data", "train.csv", "--model", "models/c",
		"--calibrate", "platt", "--seed", "3"}, smallModel...)...)
	if err := os.Rename(filepath.Join(dir, "models/a"), filepath.Join(dir, "models/old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "models/c"), filepath.Join(dir, "models/a")); err != nil {
		t.Fatal(err)
	}
	s.waitsFor(t, `bochner_reloads_total{result="changed"} 1`)
}

func TestServeRequiresATokenBeyondThisMachine(t *testing.T) {
	dir := t.TempDir()
	typedModel(t, dir, "model", 1)
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0"} {
		refuse(t, dir, 2, []string{"--listen " + address, "--token_file", "--insecure"}, "serve", "--model", "model", "--listen", address)
	}
	write(t, dir, "short", "secret\n")
	refuse(t, dir, 2, []string{"at least 16"}, "serve", "--model", "model", "--token_file", "short")
	const token = "0123456789abcdef0123456789abcdef"
	write(t, dir, "token", token+"\n")
	s := serve(t, dir, "--model", "model", "--token_file", "token")
	refuse(t, dir, 3, []string{"cannot listen on " + s.address, "--listen"}, "serve", "--model", "model", "--listen", s.address)
	for _, c := range []struct {
		path, header string
		code         int
	}{
		{"/healthz", "", 200}, {"/readyz", "", 200}, {"/", "", 401}, {"/metrics", "", 401}, {"/openapi.json", "", 401},
		{"/metrics", "Bearer " + token[1:], 401}, {"/metrics", "Bearer " + token, 200}, {"/metrics", "bearer  " + token, 200},
		{"/", "Basic dXNlcjowMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZg==", 200}, {"/", "Basic dXNlcjo=", 401},
	} {
		answer, said := s.do(t, "GET", c.path, "", "", "Authorization", c.header)
		if answer.StatusCode != c.code || strings.Contains(said, token) {
			t.Errorf("%s with %q: %d, want %d", c.path, c.header, answer.StatusCode, c.code)
		}
	}
}

func TestOpenAPIDescribesTheColumns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	typedModel(t, dir, "model", 1)
	s := serve(t, dir, "--model", "model")
	_, text := s.do(t, "GET", "/openapi.json", "", "")
	var d struct {
		OpenAPI    string
		Paths      map[string]map[string]struct{ OperationID string }
		Components struct {
			Schemas map[string]struct {
				Required   []string
				Properties map[string]map[string]any
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	row := d.Components.Schemas["Row"]
	if d.OpenAPI != "3.1.0" || d.Paths["/v1/predict"]["post"].OperationID == "" ||
		!slices.Equal(row.Required, []string{"age", "city", "member", "since"}) || !bytes.Contains([]byte(text), []byte(`"Paris, 5e"`)) {
		t.Errorf("%+v", d)
	}
	for _, name := range row.Required {
		if len(row.Properties[name]) == 0 {
			t.Errorf("column %s is not described", name)
		}
	}
	for _, part := range strings.Split(text, `"$ref": "#/components/`)[1:] { // all references lead somewhere
		name, _, _ := strings.Cut(part, `"`)
		kind, of, _ := strings.Cut(name, "/")
		if kind == "schemas" && d.Components.Schemas[of].Properties == nil {
			t.Errorf("nothing at %s", name)
		}
	}
}

// selfSigned writes a certificate for 127.0.0.1 and its key, and returns what trusts it.
func selfSigned(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	cert, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	write(t, dir, "cert.pem", string(text))
	write(t, dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}

func TestServeAnswersOverTLS(t *testing.T) {
	dir := t.TempDir()
	typedModel(t, dir, "model", 1)
	pool := selfSigned(t, dir)
	refuse(t, dir, 2, []string{"--tls_cert and --tls_key must be set together"}, "serve", "--model", "model", "--tls_cert", "cert.pem")
	refuse(t, dir, 2, []string{"--tls_cert key.pem"}, "serve", "--model", "model", "--tls_cert", "key.pem", "--tls_key", "key.pem")
	s := serve(t, dir, "--model", "model", "--tls_cert", "cert.pem", "--tls_key", "key.pem")
	c := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool}}}
	answer, err := c.Get("https://" + s.address + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 200 || answer.TLS.Version < tls.VersionTLS12 {
		t.Errorf("%d %x", answer.StatusCode, answer.TLS.Version)
	}
	if answer, err = http.Get("http://" + s.address + "/readyz"); err == nil && answer.StatusCode == 200 {
		t.Error("a request without TLS was answered")
	}
}

func TestServeMetricsCountRowsAndDrift(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	typedModel(t, dir, "model", 1)
	s := serve(t, dir, "--model", "model")
	text := otherRows(3000)
	if answer, said := s.do(t, "POST", "/v1/predict", "text/csv", text); answer.StatusCode != 200 {
		t.Fatal(said)
	}
	_, metrics := s.do(t, "GET", "/metrics", "", "")
	value := func(name string) float64 {
		_, after, _ := strings.Cut(metrics, "\n"+name+" ")
		line, _, _ := strings.Cut(after, "\n")
		v, err := strconv.ParseFloat(line, 64)
		if err != nil {
			t.Errorf("no metric %s", name)
		}
		return v
	}
	missing := 0
	for _, row := range rowObjects(t, text) {
		for _, absent := range []string{`"age":null`, `"age":"NA"`, `"age":"?"`} {
			if strings.Contains(row, absent) {
				missing++
			}
		}
	}
	if got := value(`bochner_missing_values_total{column="age"}`); missing < 100 || got != float64(missing) {
		t.Errorf("%g missing values, want %d", got, missing)
	}
	if got, want := value(`bochner_unseen_levels_total{column="city"}`), strings.Count(text, "Atlantis"); want < 50 || got != float64(want) {
		t.Errorf("%g unseen levels, want %d", got, want)
	}
	if got := value("bochner_drift_rows"); got != 3000 {
		t.Errorf("drift of %g rows", got)
	}
	// A seventh of the dates is seven years later than all of training.
	if got := value(`bochner_drift{column="since.days",kind="range"}`); got < 0.02 || got > 1.0/7 || got != value("bochner_drift_largest") {
		t.Errorf("drift %g of dates, of which a seventh has moved", got)
	}
}

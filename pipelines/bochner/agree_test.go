package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/realdata"
)

// exampleHTTP starts the program of examples/http and returns what asks it about columns of texts.
func exampleHTTP(t *testing.T, model string) func(columns string) (*http.Response, error) {
	t.Helper()
	module, err := consumers()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(module, "bin", "http"), model, "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	said := bufio.NewReader(stderr)
	line, err := said.ReadString('\n')
	at := strings.Index(line, "http://")
	if err != nil || at < 0 {
		t.Fatalf("examples/http says %q: %v", line, err)
	}
	return func(columns string) (*http.Response, error) {
		answer, err := http.Post(strings.TrimSpace(line[at:]), "application/json", strings.NewReader(columns))
		if err != nil {
			rest, _ := io.ReadAll(said)
			err = fmt.Errorf("%w\n%s", err, rest)
		}
		return answer, err
	}
}

// goPredictsLike checks that the program of examples/http predicts the rows of a table with texts as the command, bit
// for bit, and that it says what is wrong.
func goPredictsLike(t *testing.T, model, table, own string) {
	t.Helper()
	ask := exampleHTTP(t, model)
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	want, wantErr := csv.NewReader(strings.NewReader(own)).ReadAll()
	if err != nil || wantErr != nil {
		t.Fatal(err, wantErr)
	}
	type column struct {
		Name  string
		Texts []string
	}
	var columns []column
	for j, name := range rows[0] {
		if !slices.Contains([]string{"age", "city", "member", "since"}, name) {
			continue
		}
		c := column{Name: name}
		for _, row := range rows[1:] {
			c.Texts = append(c.Texts, row[j])
		}
		columns = append(columns, c)
	}
	text, _ := json.Marshal(columns) // texts
	answer, err := ask(string(text))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var said struct {
		Predictions []int
		Outputs     []string
		Scores      []float64
	}
	err = json.NewDecoder(answer.Body).Decode(&said)
	n := len(said.Predictions)
	if err != nil || n < 100 || n != len(want)-1 || len(said.Scores) != 2*n {
		t.Fatalf("examples/http: %s: %v; %d predictions of %d rows", answer.Status, err, n, len(want)-1)
	}
	for i, row := range want[1:] {
		got := []string{said.Outputs[said.Predictions[i]]}
		for _, v := range said.Scores[2*i : 2*i+2] {
			got = append(got, strconv.FormatFloat(v, 'g', -1, 32))
		}
		if wanted := slices.Concat(row[:1], normal(row[1:3])); !slices.Equal(got, wanted) {
			t.Fatalf("row %d: examples/http predicts %q, the command %q", i+1, got, wanted)
		}
	}
	wrong, err := ask(`[{"name": "age", "texts": ["39"]}]`)
	if err != nil {
		t.Fatal(err)
	}
	defer wrong.Body.Close()
	text, _ = io.ReadAll(wrong.Body)
	if wrong.StatusCode != 400 || !strings.Contains(string(text), `"city": is missing`) {
		t.Errorf("without columns: %s %s", wrong.Status, text)
	}
}

// normal returns numbers of 32 bits as Go writes them.
func normal(texts []string) (all []string) {
	for _, text := range texts {
		v, _ := strconv.ParseFloat(text, 32)
		all = append(all, strconv.FormatFloat(v, 'g', -1, 32))
	}
	return all
}

// The command, the server, a Go program, Python with numpy and ONNX Runtime give the same predictions for the
// same rows, the first three to the last bit.
func TestPythonPredictsLikeTheServerAndGo(t *testing.T) {
	t.Parallel()
	python(t, ".", "-c", "")
	dir, n := t.TempDir(), 1000
	if os.Getenv("BOCHNER_LONG") != "" || os.Getenv(realdata.Variable) != "" {
		n = 10_000
	}
	typedModel(t, dir, "model", 1)
	table := typedTable(typedHeader, typedRows(n, 3))
	write(t, dir, "new.csv", table)
	comparePrograms(t, dir, "model", []string{"--data", "new.csv"}, exportCase{})
	own := joined(t, filepath.Join(dir, "model-predicted"), ".csv")
	s := serve(t, dir, "--model", "model")
	_, said := s.do(t, "POST", "/v1/predict?scores=true&probabilities=true", "text/csv", table, "Accept", "text/csv")
	if said != own {
		t.Errorf("the server does not answer as the command: %.300s", said)
	}
	goPredictsLike(t, filepath.Join(dir, "model"), table, own)
}

// A Go program serves predictions with net/http and package models.
func TestExampleServesOverHTTP(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	typedModel(t, dir, "model", 1)
	write(t, dir, "new.csv", typedTable(typedHeader, typedRows(100, 3)))
	own := must(t, dir, "predict", "--model", "model", "--data", "new.csv", "--out", "-", "--scores", "--quiet")
	goPredictsLike(t, filepath.Join(dir, "model"), read(t, dir, "new.csv"), own)
}

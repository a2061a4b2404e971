//go:build unix

package streamtrial

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// suffix ends the names of files of predictions.
const suffix = ".predictions.csv"

// check counts the rows of the output and prints the figures.
func (t *Trial) check(ctx context.Context) error {
	entries, err := os.ReadDir(t.path("out"))
	if err != nil {
		return err
	}
	if len(entries) != t.written-1 {
		return fmt.Errorf("%d files in the output, want %d", len(entries), t.written-1)
	}
	byModel := map[string]int{}
	example := map[string]int{} // a file of each model
	var latencies []time.Duration
	total := 0
	for i := range t.written {
		if i == t.bad {
			continue
		}
		digest, n, err := t.count(i)
		if err != nil {
			return err
		}
		total += n
		byModel[t.digests[digest]] += n
		example[digest] = i
		in, err := os.Stat(t.path("in", name(i)))
		if err != nil {
			return err
		}
		out, err := os.Stat(t.path("out", name(i)+suffix))
		if err != nil {
			return err
		}
		latencies = append(latencies, out.ModTime().Sub(in.ModTime()))
	}
	if want := (t.written - 1) * t.PerFile; total != want {
		return fmt.Errorf("%d rows in the output, want %d", total, want)
	}
	if len(byModel) != t.Reloads+1 {
		return fmt.Errorf("rows of %d models, want %d: %v", len(byModel), t.Reloads+1, byModel)
	}
	if _, err := os.Stat(t.path("out-dead", name(t.oops)+".rows.json")); err != nil {
		return fmt.Errorf("the bad row: %w", err)
	}
	for digest, i := range example {
		if err := t.same(ctx, i, t.digests[digest]); err != nil {
			return err
		}
	}
	slices.Sort(latencies)
	spent := time.Since(t.began)
	at := func(q float64) time.Duration {
		return latencies[int(q*float64(len(latencies)-1))].Round(time.Millisecond)
	}
	fmt.Fprintf(t.Log, "rows       %d, each once, in %d files; %.0f a second over %v\n", total, len(latencies),
		float64(total)/spent.Seconds(), spent.Round(time.Second))
	fmt.Fprintf(t.Log, "events     %d models after the first, %d kills of the stream with its workers, %d of the job "+
		"server (after %d the stream was started again), 1 broken model, 1 bad file, 1 bad row\n",
		t.Reloads, t.Kills, t.Managers, t.ended)
	fmt.Fprintf(t.Log, "models     %d, a file of each equal to the batch's\n", len(byModel))
	fmt.Fprintf(t.Log, "latency    p50 %v, p99 %v, most %v\n", at(0.5), at(0.99), at(1))
	if n := len(t.memory); n >= 4 {
		fmt.Fprintf(t.Log, "memory     at most %d MB in the first quarter, %d MB in the last\n",
			slices.Max(t.memory[:n/4])>>20, slices.Max(t.memory[n-n/4:])>>20)
	}
	if t.server != nil {
		fmt.Fprintf(t.Log, "           %d MB in the job server at the end\n", resident(t.server.cmd.Process)>>20)
	}
	return nil
}

// count reads the predictions for a file. It returns the digest of the model of all of them.
func (t *Trial) count(i int) (digest string, n int, err error) {
	f, err := os.Open(t.path("out", name(i)+suffix))
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Scan() // the header
	for ; lines.Scan(); n++ {
		fields := strings.Split(lines.Text(), ",")
		if len(fields) != 3 || fields[0] != fmt.Sprintf("%d-%d", i, n) {
			return "", 0, fmt.Errorf("%s: row %d is %q", name(i), n, lines.Text())
		}
		if (fields[1] == "") != (i == t.oops && n == 0) {
			return "", 0, fmt.Errorf("%s: row %d has the prediction %q", name(i), n, fields[1])
		}
		if digest == "" {
			digest = fields[2]
		}
		if fields[2] != digest || t.digests[digest] == "" {
			return "", 0, fmt.Errorf("%s: row %d is of the model %q, others are of %q", name(i), n, fields[2], digest)
		}
	}
	if n != t.PerFile {
		return "", 0, fmt.Errorf("%s: %d rows, want %d", name(i), n, t.PerFile)
	}
	return digest, n, lines.Err()
}

// same compares the predictions for a file with the predictions of a batch with the model.
func (t *Trial) same(ctx context.Context, i int, model string) error {
	batch := t.path("batch")
	err := t.command(ctx, "predict", "--model", t.path("models", model), "--data", t.path("in", name(i)), "--out", batch,
		"--model_digest", "--max_bad_fraction", "1", "--quiet")
	if err != nil {
		return err
	}
	defer os.RemoveAll(batch)
	want, err := os.ReadFile(t.path("batch", "part-00000.csv"))
	if err != nil {
		return err
	}
	got, err := os.ReadFile(t.path("out", name(i)+suffix))
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("%s: the predictions differ from a batch with %s", name(i), model)
	}
	return err
}

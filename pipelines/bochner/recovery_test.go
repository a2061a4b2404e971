//go:build linux

package main

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/gcstest"
)

// watched counts the data files that are read from a server, and holds the writer of a checkpoint.
type watched struct {
	mu     sync.Mutex
	reads  map[string]int // requests by data file
	passes []string       // that have written checkpoints, in order
	writes int            // of checkpoints of the second of them
	most   int            // writes that are not held
	held   chan struct{}  // closed when one is held
	free   chan struct{}  // closed to go on
}

// before is called before the server answers a request.
func (w *watched) before(kind, name string) {
	w.mu.Lock()
	file := path.Base(name)
	if kind == "read" && strings.HasPrefix(name, "data/") {
		w.reads[file]++
	}
	hold := false
	if pass, ok := strings.CutPrefix(file, "checkpoint-"); ok && kind == "write" {
		pass, _, _ = strings.Cut(pass, "-")
		if n := len(w.passes); n == 0 || w.passes[n-1] != pass {
			w.passes = append(w.passes, pass)
		}
		if len(w.passes) == 2 {
			w.writes++
			if hold = w.writes > w.most; hold && w.writes == w.most+1 {
				close(w.held)
			}
		}
	}
	w.mu.Unlock()
	if hold {
		<-w.free
	}
}

// If a worker is killed in the middle of a pass, only the shards that its readers were reading are read again;
// earlier ones are in checkpoints.
func TestKilledWorkerCostsOneShardOfEachReader(t *testing.T) {
	campaign.Long(t)
	const n, rows, readers, most = 12, 150, 2, 7
	c := newCluster(t)
	server, address := gcstest.Start(t)
	const bucket = "gs://" + gcstest.Bucket + "/"
	dir := t.TempDir()
	for i := range n {
		name := fmt.Sprintf("data-%02d.csv", i)
		must(t, dir, "generate", "windmill", "--rows", strconv.Itoa(rows), "--seed", strconv.Itoa(i+1), "--out", name)
		server.Fill("data/"+name, []byte(read(t, dir, name)))
	}
	args := []string{"train", "--search", "none", "--kernel", "gaussian", "--label", "y", "--features", "64", "--lambda",
		"1e-6", "--folds", "3"}
	args = append(args, "--data", bucket+"data/*.csv", "--storage_emulator", address, "--readers", strconv.Itoa(readers))
	undisturbed := &watched{reads: map[string]int{}, most: 1 << 30}
	server.Faults.Before(undisturbed.before)
	if r := runCommand(t, c.job(dir, append(args, "--model", bucket+"want")...)); r.code != 0 {
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	args = append(args, "--model", bucket+"model", "--checkpoint", "-1ns")

	w := &watched{reads: map[string]int{}, most: most, held: make(chan struct{}), free: make(chan struct{})}
	server.Faults.Before(w.before)
	done := make(chan result, 1)
	go func() { done <- runCommand(t, c.job(dir, args...)) }()
	select {
	case <-w.held:
	case r := <-done:
		t.Fatalf("nothing was held: exit code %d\n%s", r.code, r.stderr)
	}
	for _, p := range c.workers() {
		syscall.Kill(p.id, syscall.SIGKILL)
	}
	r := <-done
	close(w.free)
	if r.code != 1 || !strings.Contains(r.stderr, "a worker ended during the job") {
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}

	pieces := 0
	for _, name := range server.Names() {
		if strings.Contains(name, "-of-2-from-") && !strings.HasSuffix(name, "-from-0") {
			pieces++
		}
	}
	t.Logf("%d checkpoints of parts of readers", pieces)

	again := &watched{reads: map[string]int{}, most: 1 << 30}
	server.Faults.Before(again.before)
	r = runCommand(t, c.job(dir, append(args, "--resume")...))
	server.Faults.Before(nil)
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	found := regexp.MustCompile(`found partial sums of ([\d,]+) rows`).FindStringSubmatch(r.stderr)
	if found == nil {
		t.Fatalf("no partial sums were found:\n%s", r.stderr)
	}
	saved, err := strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	// A checkpoint that was held when its writer was killed may be complete, or may not. prism splits
	// readers: each piece may have a writer.
	if saved%rows != 0 || saved < most*rows {
		t.Errorf("%d rows were saved after %d checkpoints of %d rows", saved, most, rows)
	}
	spared := 0 // files that only the driver has looked into
	for i := range n {
		name := fmt.Sprintf("data-%02d.csv", i)
		switch less := undisturbed.reads[name] - again.reads[name]; less {
		case 2: // in neither of the two passes
			spared++
		case 1, 0, -1: // a reader also opens shards in advance that are given to another then
		default:
			t.Errorf("file %d was read %d times, and %d times undisturbed", i, again.reads[name], undisturbed.reads[name])
		}
	}
	if spared != saved/rows {
		t.Errorf("%d of %d files were not read again, want %d", spared, n, saved/rows)
	}
	t.Logf("%d of %d rows were read again", (n-spared)*rows, n*rows)
	for _, name := range server.Names() {
		made, ok := strings.CutPrefix(name, "want/")
		if ok && string(server.Content("model/"+made)) != string(server.Content(name)) {
			t.Errorf("%s differs", made)
		}
	}
	if server.Content("model/weights.safetensors") == nil {
		t.Error("there is no model")
	}
}

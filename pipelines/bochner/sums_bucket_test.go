//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/gcstest"
	"github.com/bochner-ml/bochner/io/storage/gcs"
)

// sumJobs sums, fits, trains by a recipe, forgets and verifies at a place, and retrains for three nights.
// It returns the checksums of the manifests of the models, by name and for each champion.
func sumJobs(t *testing.T, at string, on func(args ...string) result, flags ...string) (manifests map[string]string) {
	t.Helper()
	do := func(args ...string) string {
		t.Helper()
		r := on(args...)
		if r.code != 0 {
			t.Fatalf("%q: exit code %d\n%s", args, r.code, r.stderr)
		}
		return r.stdout
	}
	job := func(args ...string) { t.Helper(); do(append(append(args, "--quiet"), flags...)...) }
	day := func(i int) string { return fmt.Sprintf("dt=2026-11-1%d", i) }
	for i := range 4 {
		do("generate", "moons", "--rows", "150", "--seed", fmt.Sprint(i+1), "--out", at+"data/"+day(i)+"/part.csv")
	}
	job("train", "--search", "none", "--data", at+"data/"+day(0)+"/*", "--label", "y", "--features", "32", "--lambda",
		"1e-6,1e-4", "--folds", "3", "--model", at+"recipe", smallShards)
	for i := range 3 {
		job("sum", "--recipe", at+"recipe", "--data", at+"data/"+day(i)+"/*", "--out", at+"sums/"+day(i), smallShards)
	}
	job("fit", "--sums", at+"sums/dt=*", "--save_sums", at+"total", "--model", at+"fitted", "--max_drift", "0.5")
	job("train", "--recipe", at+"recipe", "--data", at+"data/"+day(0)+"/*", "--data", at+"data/"+day(1)+"/*", "--model",
		at+"again", smallShards)
	job("fit", "--sums", at+"total", "--without", at+"sums/"+day(2), "--model", at+"without")
	job("forget", "--model", at+"fitted", "--sums", at+"sums/dt=*", "--data", "gone.csv", "--out", at+"less",
		"--certificate", at+"proof.json")
	job("verify", "--certificate", at+"proof.json", "--model", at+"less", "--sums", at+"total", "--data", "gone.csv")
	for i := 1; i < 4; i++ {
		job("retrain", "--models", at+"models", "--data", at+"data/dt=YYYY-MM-DD/*.csv", "--day", day(i)[3:], "--label", "y",
			"--search", "none",
			"--features", "32", "--lambda", "1e-4", "--max_drift", "0.5", "--gate", "accuracy>=0.5", "--paired_gate",
			"not worse by 50% at 50%")
	}
	manifests = map[string]string{}
	for _, name := range []string{"recipe", "fitted", "again", "without", "less", "models@champion", "models@previous"} {
		manifests[name] = inspectedSum(t, do("inspect", "--model", at+name, "--json"))
	}
	if manifests["again"] != manifests["without"] {
		t.Error("training by the recipe on two days is not the fit to their sums")
	}
	return manifests
}

// inspectedSum returns the checksum of the manifest, which is the last that inspect prints.
func inspectedSum(t *testing.T, text string) string {
	t.Helper()
	const before = `"sha256": "`
	at := strings.LastIndex(text, before)
	if at < 0 {
		t.Fatalf("no checksum of a manifest: %s", text)
	}
	return text[at+len(before):][:64]
}

// The outputs of sum, fit, forget, verify and retrain in a bucket whose requests fail, and on prism, equal
// those on the disk; the short form of the tests does both at once.
func TestSumsInABucketMatchThoseOnTheDisk(t *testing.T) {
	campaign.Long(t)
	dir := t.TempDir()
	on := func(args ...string) result { return runProgram(t, dir, args...) }
	must(t, dir, "generate", "moons", "--rows", "150", "--seed", "2", "--out", "whole.csv")
	write(t, dir, "gone.csv", strings.Join(strings.SplitAfter(read(t, dir, "whole.csv"), "\n")[:8], ""))
	want := sumJobs(t, dir+"/", on)
	type way struct {
		faults string
		flags  []string
	}
	onPrism := []string{"--runner", "prism", "--readers", "2"}
	ways := map[string]way{"faults on prism": {"0.1", onPrism}}
	if long() {
		ways["faults"], ways["prism"] = way{"0.1", nil}, way{"0", onPrism}
	}
	for name, c := range ways {
		t.Run(name, func(t *testing.T) {
			s := newObjects(t, "-faults", c.faults)
			got := sumJobs(t, bucket, func(args ...string) result { return runProgram(t, dir, s.flags(args...)...) }, c.flags...)
			for name, sum := range want {
				if got[name] != sum {
					t.Errorf("%s differs", name)
				}
			}
			s.rules(t, gcstest.Rules{})
			for _, name := range s.names(t, "") {
				if top, _, _ := strings.Cut(name, "/"); strings.Contains(name, ".bochner-") ||
					!slices.Contains([]string{"data", "recipe", "sums", "total", "fitted", "again", "without", "less", "proof.json",
						"models", "models-sums"}, top) {
					t.Errorf("left in the bucket: %s", name)
				}
			}
		})
	}
}

// A night in a bucket that is killed at each of its changes, or at some of them, continues with the same
// command, and its model equals the model of an undisturbed night.
func TestKilledNightInABucketContinues(t *testing.T) {
	campaign.Long(t)
	server, address := gcstest.Start(t)
	gcs.UseEmulator(func() string { return address })
	t.Cleanup(func() { gcs.UseEmulator(func() string { return "" }) })
	dir := t.TempDir()
	for i := range 3 {
		must(t, dir, "generate", "moons", "--rows", "150", "--seed", fmt.Sprint(i+1), "--out", "part.csv")
		server.Fill(fmt.Sprintf("data/dt=2026-11-1%d/part.csv", i), []byte(read(t, dir, "part.csv")))
		if err := os.RemoveAll(filepath.Join(dir, "part.csv")); err != nil {
			t.Fatal(err)
		}
	}
	night := func(models string, day int) []string {
		return []string{"retrain", "--models", bucket + models, "--data", bucket + "data/dt=YYYY-MM-DD/*.csv", "--day",
			fmt.Sprintf("2026-11-1%d", day), "--label", "y", "--search", "none",
			"--features", "32", "--lambda", "1e-4", "--paired_gate", "not worse by 50% at 50%", "--quiet", "--storage_emulator",
			address}
	}
	champion := func(models string) string {
		return inspectedSum(t, must(t, dir, "inspect", "--model", bucket+models+"@champion", "--json", "--storage_emulator",
			address))
	}
	changes := func(call func()) {
		server.Faults.Before(func(kind, _ string) {
			if slices.Contains([]string{"write", "copy", "delete"}, kind) {
				call()
			}
		})
	}
	var calls atomic.Int64
	must(t, dir, night("undisturbed", 1)...)
	changes(func() { calls.Add(1) })
	must(t, dir, night("undisturbed", 2)...)
	server.Faults.Before(nil)
	want := champion("undisturbed")

	all := int(calls.Load())
	at := rand.New(rand.NewPCG(2, 2)).Perm(all)
	if !long() {
		at = at[:3]
	}
	killed := 0
	for try := 0; try < len(at); try++ {
		k := at[try]
		models := fmt.Sprint("models-", try)
		must(t, dir, night(models, 1)...)
		c := &chore{dir: dir, args: night(models, 2)}
		var n atomic.Int64
		stop, over := make(chan struct{}), make(chan struct{})
		changes(func() {
			if n.Add(1) == int64(k+1) {
				close(stop)
				<-over
				panic(http.ErrAbortHandler) // the request is never served
			}
		})
		s := c.start(t)
		select {
		case <-stop:
			server.Faults.Before(nil)
			s.signal(os.Kill)
		case <-s.ended:
			server.Faults.Before(nil)
		}
		close(over)
		if s.killed() {
			killed++
		} else { // it has made fewer changes, because it was faster and has renewed leases less often
			at = append(at, k%int(n.Load()))
		}
		if r := runProgram(t, dir, night(models, 2)...); r.code != 0 {
			t.Errorf("killed at change %d of %d: exit code %d\n%s", k+1, all, r.code, r.stderr)
			continue
		}
		if champion(models) != want {
			t.Errorf("killed at change %d of %d: another model", k+1, all)
		}
		for _, name := range server.Names() {
			if strings.HasPrefix(name, models) && strings.Contains(name, ".bochner-") {
				t.Errorf("killed at change %d of %d: left %s", k+1, all, name)
			}
		}
	}
	t.Logf("%d nights killed, of %d changes each", killed, all)
}

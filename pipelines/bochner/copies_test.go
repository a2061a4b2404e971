package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// repeated is a table of 12 distinct rows and some others, with labels of two classes
// that differ between equal rows.
func repeated() table {
	r := rand.New(rand.NewPCG(3, 4))
	tb := table{name: "repeated rows", header: "a,b,y\n", label: "y"}
	for i := range 900 {
		k := min(r.IntN(12), r.IntN(12))
		row := fmt.Sprintf("%d,%d", k%4, k/4)
		if i%10 == 0 {
			row = fmt.Sprintf("%.4f,%.4f", r.NormFloat64(), r.NormFloat64())
		}
		y := "no"
		if r.IntN(12) < k {
			y = "yes"
		}
		tb.rows = append(tb.rows, row+","+y+"\n")
	}
	return tb
}

// Copies are in the same folds for any order of the rows, files, shards, readers and runner, as λ and the
// curves of the probabilities show, which follow from folds.
func TestFoldsOfRepeatedRowsAreTheSameByteForByte(t *testing.T) {
	tb := repeated()
	flags := []string{"--features", "64", "--width", "1", "--calibrate", "isotonic"}
	want := variant{}.train(t, tb, flags...)
	if !strings.Contains(want["manifest.json"], `"mse"`) {
		t.Fatalf("no held-out errors in %s", want["manifest.json"])
	}
	tiny := variant{name: "tiny shards, 3 readers", args: []string{"--shard_bytes=200", "--runner", "prism", "--readers", "3"},
		readers: 3}
	for _, v := range []variant{order, onOneCore, tiny} {
		same(t, v.name, want, v.train(t, tb, flags...))
	}
}

// Learners in rounds depend on the files and on the order of the rows, but not on readers, runners and shards;
// the rows that they hold out do not depend on the order.
func TestRoundLearnersHoldOutTheSameCopies(t *testing.T) {
	campaign.Long(t)
	tb := repeated()
	for _, learner := range []string{"sgd", "svm"} {
		flags := []string{"--features", "32", "--width", "1", "--learner", learner, "--lambda", "1e-3,1e-2", "--rounds", "2",
			"--partitions", "2", "--calibrate", "platt"}
		c := cut{files: 3}
		want := variant{cut: c}.train(t, tb, flags...)
		for _, v := range []variant{
			{name: "small shards", cut: c, args: []string{smallShards}},
			{name: "prism, 2 readers", cut: c, args: []string{"--runner", "prism", "--readers", "2", smallShards}},
			{name: "nothing kept", cut: c, args: []string{"--keep_bytes", "0"}},
		} {
			same(t, learner+", "+v.name, want, v.train(t, tb, flags...))
		}
		held := line(t, want["manifest.json"], `"held_rows"`)
		for _, v := range []variant{order, {name: "7 files", cut: cut{files: 7}}} {
			if got := line(t, v.train(t, tb, flags...)["manifest.json"], `"held_rows"`); got != held {
				t.Errorf("%s, %s: %s, want %s", learner, v.name, got, held)
			}
		}
	}
}

// line returns the first line of a text with the word.
func line(t *testing.T, text, word string) string {
	t.Helper()
	for l := range strings.Lines(text) {
		if strings.Contains(l, word) {
			return strings.TrimSpace(l)
		}
	}
	t.Fatalf("no %s in %s", word, text)
	return ""
}

// Verify holds out the copies that the training run held out.
func TestVerifyKnowsWhichCopiesWereHeldOut(t *testing.T) {
	dir := t.TempDir()
	data := repeated().write(t, cut{files: 2})
	must(t, dir, slices.Concat([]string{"train", "--model", "m", "--features", "32", "--learner", "svm", "--lambda",
		"1e-2", "--folds", "4", "--rounds", "20"}, data)...)
	must(t, dir, slices.Concat([]string{"verify", "--model", "m"}, data)...)
}

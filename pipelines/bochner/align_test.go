package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// fewChains keep the game of a test short.
var fewChains = []string{"--chains", "12", "--steps", "8", "--take", "3", "--features", "16"}

// hiddenClasses has the signs of the labels of hidden as classes.
func hiddenClasses(t *testing.T) table {
	tb := generated(t, "hidden", 1500)
	for i, row := range tb.rows {
		at := strings.LastIndexByte(row, ',') + 1
		class := "above\n"
		if row[at] == '-' {
			class = "below\n"
		}
		tb.rows[i] = row[:at] + class
	}
	return tb
}

func TestLearnedFeaturesAreTheSameByteForByte(t *testing.T) {
	campaign.Long(t)
	all := map[string][]string{
		"game":    {"--kernel", "learned", "--learner", "ridge", "--lambda", "1e-4"},
		"needles": {"--kernel", "learned", "--learner", "ridge", "--lambda", "1e-4"},
		"svm": {"--kernel", "learned", "--learner", "svm", "--lambda", "1e-3", "--rounds", "3", "--partitions", "3",
			"--sample", "200", "--form", "offset"},
		"lkrf":     {"--kernel", "learned", "--align", "lkrf", "--pick", "draw", "--lambda", "1e-4"},
		"harmonic": {"--kernel", "harmonic", "--harmonics", "60", "--scale", "none", "--lambda", "1e-4"},
	}
	for i, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := "windmill"
			if name == "harmonic" {
				set = "checkerboard"
			}
			tb := generated(t, set, 400)
			if name == "needles" {
				tb = hiddenClasses(t)
			}
			flags := slices.Concat(fewChains, []string{"--steps", "3"}, all[name])
			want := variant{}.train(t, tb, flags...)
			if want["align.json"] == "" || name != "harmonic" && want[learned.FileName] == "" {
				t.Fatalf("the model has only %d files", len(want))
			}
			var rounds []struct{ Best float64 }
			if name == "needles" {
				if err := json.Unmarshal([]byte(want["game.json"]), &rounds); err != nil || !(rounds[0].Best > 0.05) {
					t.Fatalf("no chain started from a needle: %v, %v", rounds, err)
				}
			}
			for _, v := range onOneCoreToo(share(steady(), i, len(all)), i) {
				if d := cmp.Diff(want, v.train(t, tb, flags...)); d != "" {
					t.Errorf("%s: %s", v.name, d)
				}
			}
			// The game depends on the partitions: the test can fail.
			if name == "game" {
				if got := (variant{cut: cut{files: 7}}).train(t, tb, flags...); got[learned.FileName] == want[learned.FileName] {
					t.Error("the same frequencies from other files: the test sees nothing")
				}
			}
		})
	}
}

func TestLearnedFeaturesAreReusedByOtherJobs(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "windmill", "--rows", "1000", "--out", "data.csv")
	data := []string{"--data", "data.csv", "--label", "y"}
	said := must(t, dir, slices.Concat([]string{"align", "--out", "features", "--curve", "curve.svg", "--folds", "1"},
		data, fewChains)...)
	for _, want := range []string{"learned   from 1,000 rows\n", "16 of the learned kernel, 8 frequencies", "step ζ ",
		"temperature ξ ", "value     at least -", "the regret is at most "} {
		if !strings.Contains(said, want) {
			t.Errorf("align does not say %q:\n%s", want, said)
		}
	}
	var game []struct{ Taken int }
	if err := json.Unmarshal([]byte(read(t, dir, "features/game.json")), &game); err != nil {
		t.Fatal(err)
	}
	taken := 0
	for _, r := range game {
		taken += r.Taken
	}
	if taken != 8 || len(game) < 3 {
		t.Errorf("the game took %d frequencies in %d rounds, want 8", taken, len(game))
	}
	if picture := read(t, dir, "curve.svg"); !strings.Contains(picture, "lower bound") {
		t.Error("no lower bound in the picture")
	}

	// In one go it is the same model.
	use := []string{"--kernel", "learned", "--frequencies", "features"}
	must(t, dir, slices.Concat([]string{"train", "--model", "two", "--lambda", "1e-4"}, use, data)...)
	must(t, dir, slices.Concat([]string{"train", "--model", "one", "--lambda", "1e-4", "--kernel", "learned"}, fewChains,
		data)...)
	must(t, dir, slices.Concat([]string{"align", "--out", "fast", "--align_rate", "5"}, data, fewChains)...)
	if read(t, dir, "fast/"+learned.FileName) == read(t, dir, "features/"+learned.FileName) {
		t.Error("--align_rate changes nothing")
	}
	if d := cmp.Diff(files(t, filepath.Join(dir, "one")), files(t, filepath.Join(dir, "two"))); d != "" {
		t.Error(d)
	}

	os.RemoveAll(filepath.Join(dir, "features"))
	must(t, dir, slices.Concat([]string{"evaluate", "--model", "one", "--gate", "accuracy>=0.7"}, data[:2])...)
	must(t, dir, "predict", "--model", "one", "--data", "data.csv", "--out", "predictions", "--runner", "prism")
	must(t, dir, "inspect", "--model", "one")
	must(t, dir, "featurize", "--model", "one", "--data", "data.csv", "--out", "of model", "--out_format", "csv")
	// A model has what a directory of features has.
	must(t, dir, slices.Concat([]string{"featurize", "--out", "of features", "--out_format", "csv", "--kernel", "learned",
		"--frequencies", "one"}, data)...)
	if d := cmp.Diff(read(t, dir, "of model/part-00000.csv"), read(t, dir, "of features/part-00000.csv")); d != "" {
		t.Error(d)
	}
	must(t, dir, slices.Concat([]string{"embed", "--model", "embedding", "--kernel", "learned", "--frequencies", "one"},
		data)...)
	must(t, dir, "predict", "--model", "embedding", "--data", "data.csv", "--out", "coordinates")
}

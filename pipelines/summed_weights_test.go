package pipelines

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// Sums of a part whose rows all have the same weight add up with the sums of other parts to the sums of all
// rows at once.
func TestSumsOfAPartWithEqualWeightsHaveTheWeights(t *testing.T) {
	dir := t.TempDir()
	const header = "a,w,y\n"
	var equal, mixed string
	for i := range 60 {
		row := func(w int) string { return fmt.Sprintf("%d,%d,%s\n", i*37%61, w, []string{"in", "out"}[i%2]) }
		if i < 20 {
			equal += row(3)
		} else {
			mixed += row(1 + i%3)
		}
	}
	data := func(name, text string) dataset.Options {
		return dataset.Options{Files: []string{jobtest.Write(t, dir, name+".csv", header+text)}, Label: "y",
			Roles: dataset.Roles{Weight: "w"}}
	}
	all := data("all", equal+mixed)
	_, err := Train(jobtest.Ctx, options.Train{Search: options.NoSearch, Model: dir + "/recipe", Lambda: lambdaOf(1e-3),
		Prepare: options.Prepare{Data: all, Kernel: &fourier.GaussianOptions{Features: 16}, Seed: 1}})
	for name, of := range map[string]dataset.Options{"sum-equal": data("equal", equal), "sum-mixed": data("mixed", mixed),
		"sum-all": all} {
		if err == nil {
			_, err = Sum(jobtest.Ctx, options.Sum{Recipe: dir + "/recipe", Data: of, Out: dir + "/" + name})
		}
	}
	if err == nil {
		_, err = AddSums(jobtest.Ctx, options.AddSums{SumDirs: options.SumDirs{Sums: []string{dir + "/sum-equal", dir + "/sum-mixed"}},
			Out: dir + "/total"})
	}
	if err != nil {
		t.Fatal(err)
	}
	var digests []string
	for _, name := range []string{"total", "sum-all"} {
		p, err := sums.ReadManifest(jobtest.Ctx, dir+"/"+name)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, p.Sums)
	}
	if digests[0] != digests[1] {
		t.Errorf("added %s, at once %s", digests[0], digests[1])
	}
}

// Days with equal files that have no rows can be added, days with an equal file of rows cannot.
func TestEqualFilesWithoutRowsAreNotCountedTwice(t *testing.T) {
	dir := t.TempDir()
	rows := func(seed int) string {
		text := "a,y\n"
		for i := range 40 {
			text += fmt.Sprintf("%d,%s\n", i*37%41*seed, []string{"in", "out"}[i%2])
		}
		return text
	}
	first, second := jobtest.Write(t, dir, "1.csv", rows(1)), jobtest.Write(t, dir, "2.csv", rows(2))
	header, none := jobtest.Write(t, dir, "header.csv", "a,y\n"), jobtest.Write(t, dir, "none.csv", "")
	data := func(files ...string) dataset.Options { return dataset.Options{Files: files, Label: "y"} }
	_, err := Train(jobtest.Ctx, options.Train{Search: options.NoSearch, Model: dir + "/recipe", Lambda: lambdaOf(1e-3),
		Prepare: options.Prepare{Data: data(first), Kernel: &fourier.GaussianOptions{Features: 16}, Seed: 1}})
	for name, of := range map[string]dataset.Options{"/one": data(first, header, none), "/two": data(second, none, header),
		"/three": data(header, second, first)} {
		if err == nil {
			_, err = Sum(jobtest.Ctx, options.Sum{Recipe: dir + "/recipe", Data: of, Out: dir + name})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	fit := func(name string, of ...string) error {
		_, err := Fit(jobtest.Ctx, options.Fit{SumDirs: options.SumDirs{Sums: of}, Model: dir + name})
		return err
	}
	if err := fit("/model", dir+"/one", dir+"/two"); err != nil {
		t.Error(err)
	}
	err = fit("/wrong", dir+"/one", dir+"/three")
	if exit.CodeOf(err) != exit.CodeData || !strings.Contains(err.Error(), "1.csv, whose rows would count twice") {
		t.Error(err)
	}
}

package pipelines

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// biased returns rows of which three in four are of one class, for any columns.
func biased(n int, seed uint64) []string {
	lines, r := coins(n, 4, seed), rand.New(rand.NewPCG(seed, 6))
	for i := range lines[1:] {
		at := strings.LastIndexByte(lines[i+1], ',') + 1
		lines[i+1] = lines[i+1][:at] + []string{"tails", "heads", "heads", "heads"}[r.IntN(4)] + "\n"
	}
	return lines
}

// Probabilities from sums are about as good on other rows as Platt's method on the rows of the sums, though the
// recipe is from a fraction of them; for coin flips they are the shares of the sides.
func TestProbabilitiesFromSumsAreAboutThoseOfRows(t *testing.T) {
	dir := t.TempDir()
	for name, lines := range map[string]func(n int, seed uint64) []string{
		"moons":        func(n int, seed uint64) []string { return jobtest.Made(t, "moons", int64(n), seed) },
		"interactions": func(n int, seed uint64) []string { return jobtest.Made(t, "interactions", int64(n), seed) },
		"coins":        biased,
	} {
		path := func(of string) string { return dir + "/" + name + "-" + of }
		data := func(of string, lines []string) dataset.Options {
			return dataset.Options{Files: []string{jobtest.Write(t, dir, name+of+".csv", strings.Join(lines, ""))}, Label: "y"}
		}
		train := func(model string, of dataset.Options) {
			t.Helper()
			if _, err := Train(jobtest.Ctx, options.Train{Search: options.NoSearch, Model: path(model),
				Decision: options.Decision{Calibrate: score.Platt},
				Prepare:  options.Prepare{Data: of, Kernel: &fourier.GaussianOptions{Features: 64}, Seed: 1}}); err != nil {
				t.Fatal(err)
			}
		}
		rows := lines(6000, 1)
		all := data("all", rows)
		train("recipe", data("some", rows[:3000]))
		train("rows", all)
		_, err := Sum(jobtest.Ctx, options.Sum{Recipe: path("recipe"), Data: all, Out: path("sums")})
		if err == nil {
			_, err = Fit(jobtest.Ctx, options.Fit{SumDirs: options.SumDirs{Sums: []string{path("sums")}}, Calibrate: score.Platt,
				Model: path("fitted")})
		}
		if err != nil {
			t.Fatal(err)
		}
		unseen := data("unseen", lines(8000, 2))
		loss := func(model string) float64 {
			r, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: path(model), Data: unseen})
			if err != nil {
				t.Fatal(err)
			}
			return r.Probabilities.LogLoss
		}
		sums, platt := loss("fitted"), loss("rows")
		t.Logf("%s: log loss %.4f by sums, %.4f by rows", name, sums, platt)
		if !(sums < 1.03*platt) {
			t.Errorf("%s: log loss %.4f by sums, %.4f by rows", name, sums, platt)
		}
		if name != "coins" {
			continue
		}
		m, err := models.LoadURI(jobtest.Ctx, path("fitted"))
		if err != nil {
			t.Fatal(err)
		}
		x, p, normal, mean := make([]float64, 4), make([]float64, 2), rand.New(rand.NewPCG(9, 9)), 0.0
		for range 100 {
			for j := range x {
				x[j] = normal.NormFloat64()
			}
			if err := m.Probabilities(p, x); err != nil || math.Abs(p[0]-0.75) > 0.2 {
				t.Fatalf("heads have the probability %g, %v", p[0], err)
			}
			mean += p[0] / 100
		}
		if math.Abs(mean-0.75) > 0.03 {
			t.Errorf("heads have the mean probability %g", mean)
		}
	}
}

// A class that the recipe does not have, and a class without a held-out row, have probabilities too.
func TestLaterClassesHaveProbabilitiesFromSums(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(3, 3))
	file := func(name string, classes string, n int) dataset.Options {
		text := "x,y,l\n"
		for range n {
			c := r.IntN(len(classes))
			text += fmt.Sprintf("%.4f,%.4f,%c\n", float64(classes[c]-'a')+0.3*r.NormFloat64(), r.NormFloat64(), classes[c])
		}
		return dataset.Options{Files: []string{jobtest.Write(t, dir, name+".csv", text)}, Label: "l"}
	}
	_, err := Train(jobtest.Ctx, options.Train{Search: options.NoSearch, Model: dir + "/recipe",
		Decision: options.Decision{Calibrate: score.Platt},
		Lambda:   lambdaOf(1e-3), Prepare: options.Prepare{Data: file("ab", "ab", 300), Kernel: &fourier.GaussianOptions{Features: 32},
			Seed: 1}})
	for name, of := range map[string]dataset.Options{"one": file("one", "abc", 300), "two": file("two", "d", 1)} {
		if err == nil {
			_, err = Sum(jobtest.Ctx, options.Sum{Recipe: dir + "/recipe", Data: of, Out: dir + "/sums/" + name})
		}
	}
	if err == nil {
		_, err = Fit(jobtest.Ctx, options.Fit{SumDirs: options.SumDirs{Sums: []string{dir + "/sums/*"}}, Calibrate: score.Platt,
			Model: dir + "/fitted"})
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := models.LoadURI(jobtest.Ctx, dir+"/fitted")
	if err != nil {
		t.Fatal(err)
	}
	p := make([]float64, 4)
	for c := range 3 {
		err := m.Probabilities(p, []float64{float64(c), 0})
		for other, v := range p {
			if err != nil || !(v > 0 && v < 1) || other != c && v > p[c] {
				t.Errorf("a row of class %d has the probabilities %v, %v", c, p, err)
			}
		}
	}
}

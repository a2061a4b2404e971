package pipelines

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// sized writes rows of two numbers with a target that is smooth, which few features fit, or rough,
// which takes many.
func sized(t *testing.T, n int, rough, classes bool) dataset.Options {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	b.WriteString("a,b,y\n")
	for range n {
		x, z := rng.NormFloat64(), rng.NormFloat64()
		y := x + 0.2*x*z + 0.5*rng.NormFloat64()
		if rough {
			y = math.Sin(9*x)*math.Cos(8*z) + 0.02*rng.NormFloat64()
		}
		if classes {
			fmt.Fprintf(&b, "%g,%g,%v\n", x, z, y > 0)
		} else {
			fmt.Fprintf(&b, "%g,%g,%g\n", x, z, y)
		}
	}
	return dataset.Options{Files: []string{jobtest.Write(t, t.TempDir(), "data.csv", b.String())}, Label: "y"}
}

// modelFiles returns the files of a model directory that are the model.
func modelFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, name := range []string{"manifest.json", "weights.safetensors"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = data
	}
	return out
}

// The model of a chosen size equals, byte for byte, the model of a training run with its number of
// features. Doubling stops where a smooth target is fitted, and continues where a rough one is not.
func TestModelOfAChosenSizeEqualsTrainingWithThatSize(t *testing.T) {
	campaign.Long(t)
	for _, c := range []struct {
		rows           int
		rough, classes bool
		size           options.Size
		least, most    int
	}{
		{600, false, false, options.Size{MinGain: 0.001}, 512, 512},
		{600, false, true, options.Size{MinGain: 0.001}, 512, 512},
		{3000, true, false, options.Size{MinGain: 0.001}, 1024, 1024},
		{600, false, false, options.Size{Time: time.Nanosecond}, 512, 512},
		{3000, true, false, options.Size{Time: 24 * time.Hour}, 1024, 1024},
	} {
		dir := t.TempDir()
		o := options.Train{Model: filepath.Join(dir, "chosen"), Search: "none", Size: c.size}
		o.Data, o.Seed = sized(t, c.rows, c.rough, c.classes), 1
		width := 1.0
		if c.rough {
			width = 0.3
		}
		o.Kernel = &fourier.GaussianOptions{Features: 1024, Width: kernel.Width(width)}
		o.Lambda.Path = []float64{1e-6, 1e-3}
		r, err := Train(jobtest.Ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Size == nil || r.Size.Features < c.least || r.Size.Features > c.most {
			t.Errorf("%+v: %+v", c, r.Size)
			continue
		}
		text := jobtest.Text(t, r)
		for _, want := range []string{fmt.Sprintf("features  %d of", r.Size.Features),
			fmt.Sprintf("size      %d features: ", r.Size.Features), fmt.Sprintf("train with --features %d",
				r.Size.Features)} {
			if !strings.Contains(text, want) {
				t.Errorf("%+v: no %q in\n%s", c, want, text)
			}
		}
		o.Size = options.Size{}
		o.Model = filepath.Join(dir, "given")
		o.Kernel = &fourier.GaussianOptions{Features: r.Size.Features, Width: kernel.Width(width)}
		given, err := Train(jobtest.Ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		want := modelFiles(t, given.Model)
		for name, data := range modelFiles(t, r.Model) {
			if !bytes.Equal(data, want[name]) {
				t.Errorf("%+v: %s is not that of %d features:\n%s\n%s", c, name, r.Size.Features, data[:min(3000, len(data))],
					want[name][:min(3000, len(want[name]))])
			}
		}
		if len(r.Notes) != len(given.Notes) {
			t.Errorf("%+v: notes %q, want %q", c, r.Notes, given.Notes)
		}
	}
}

// The time limit of a job also limits the rounds of an iterative learner.
func TestTimeLimitsRoundsToo(t *testing.T) {
	o := options.Train{Model: filepath.Join(t.TempDir(), "m"), Search: "none",
		Size: options.Size{Time: time.Nanosecond}}
	o.Data, o.Seed = sized(t, 200, false, true), 1
	o.Kernel = &fourier.GaussianOptions{Features: 32, Width: 1}
	o.Lambda.Path = []float64{1e-3}
	l, err := iterative.Lookup("sgd")
	if err != nil {
		t.Fatal(err)
	}
	o.Learner = l.New()
	r, err := Train(jobtest.Ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Log.Rounds > 2 {
		t.Errorf("%d rounds in no time", r.Log.Rounds)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "longer than --time 1ns") {
		t.Errorf("no note on the time:\n%s", notes)
	}
}

func TestUnavailableSizesAreRejected(t *testing.T) {
	data := sized(t, 60, false, false)
	of := func(name string) iterative.Options {
		l, err := iterative.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		return l.New()
	}
	for want, change := range map[string]func(*options.Train){
		"--worth needs held-out errors": func(o *options.Train) {
			o.Size.MinGain, o.Lambda.Path = 0.001,
				[]float64{1}
		},
		"--worth compares trainings by exact sums": func(o *options.Train) { o.Size.MinGain, o.Learner = 0.001, of("sgd") },
		"worth must be at least 0 and below 1":     func(o *options.Train) { o.Size.MinGain = 2 },
		"time must be 0":                           func(o *options.Train) { o.Size.Time = -1 },
		"--time cannot be used with --max_time": func(o *options.Train) {
			o.Size.Time, o.Learner = 1,
				of("sgd")
			o.Learner.(iterative.LearnerOptions).Common().Time = 1
		},
		"which --kernel linear does not have": func(o *options.Train) {
			o.Size.Time, o.Kernel = 1,
				&identity.Options{}
		},
	} {
		o := options.Train{Model: filepath.Join(t.TempDir(), "m"), Search: "none"}
		o.Data, o.Kernel = data, &fourier.GaussianOptions{Features: 64}
		change(&o)
		if _, err := Train(jobtest.Ctx, o); err == nil || !strings.Contains(err.Error(), want) || exit.CodeOf(err) != 2 {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

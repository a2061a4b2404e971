package pipelines

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/sgd"
	"github.com/bochner-ml/bochner/models/svm"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// Fit of ridge, svm and sgd gives the weights of the job with the same rows and options, without its files.
func TestTrainingOnSlicesGivesTheModelOfTheJob(t *testing.T) {
	const n, d = 700, 3
	r := rand.New(rand.NewPCG(3, 4))
	var x []float32
	var class []int32
	var target []float64
	var classes, targets strings.Builder
	for range n {
		for range d {
			v := float32(r.NormFloat64())
			x = append(x, v)
			fmt.Fprintf(&classes, "%g,", v)
			fmt.Fprintf(&targets, "%g,", v)
		}
		row := x[len(x)-d:]
		y := math.Sin(2*float64(row[0])) + float64(row[1]) + 0.2*r.NormFloat64()
		c := int32(min(2, max(0, math.Round(y+1))))
		class, target = append(class, c), append(target, y)
		fmt.Fprintf(&classes, "%d\n", c)
		fmt.Fprintf(&targets, "%g\n", y)
	}
	dir := t.TempDir()
	files := []string{jobtest.Write(t, dir, "classes.csv", classes.String()),
		jobtest.Write(t, dir, "targets.csv", targets.String())}
	fit := map[string]func(d *linear.Data, lambda []float64) (*linear.Machine, error){
		"ridge": func(d *linear.Data, lambda []float64) (*linear.Machine, error) {
			f, err := ridge.Fit(d, lambda, nil)
			if err != nil {
				return nil, err
			}
			return f.Machine, nil
		},
		"svm": func(d *linear.Data, lambda []float64) (*linear.Machine, error) {
			o := svm.NewLearnerOptions()
			o.Rounds = 6
			f, err := svm.Fit(d, lambda[0], o)
			if err != nil {
				return nil, err
			}
			return f.Machine, nil
		},
		"sgd": func(d *linear.Data, lambda []float64) (*linear.Machine, error) {
			o := sgd.NewLearnerOptions()
			o.Rounds = 6
			f, err := sgd.Fit(d, lambda[0], o)
			if err != nil {
				return nil, err
			}
			return f.Machine, nil
		},
	}
	for _, c := range []struct {
		name, learner string
		file          int
		lambda        []float64
	}{
		{"ridge, classes", "ridge", 0, []float64{1e-4}},
		{"ridge, a path", "ridge", 0, nil},
		{"ridge, targets", "ridge", 1, []float64{1e-3, 1e-5, 1e-7}},
		{"svm, classes", "svm", 0, []float64{1e-4}},
		{"svm, targets", "svm", 1, []float64{1e-4}},
		{"sgd, classes", "sgd", 0, []float64{1e-4}},
		{"sgd, targets", "sgd", 1, []float64{1e-4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options.Train{Prepare: options.Prepare{Kernel: &fourier.GaussianOptions{Features: 64}, Seed: 1},
				Lambda: options.Lambda{Path: c.lambda}}
			o.Data = dataset.Options{Files: files[c.file : c.file+1], Label: "-1"}
			o.Model = filepath.Join(t.TempDir(), "model")
			if c.learner != "ridge" {
				o.Learner = jobtest.Iterative(c.learner, func(s *iterative.Shared) { s.Rounds = 6 })
			}
			if _, err := trainPlain(jobtest.Ctx, o); err != nil {
				t.Fatal(err)
			}
			m, err := models.LoadURI(jobtest.Ctx, o.Model)
			if err != nil {
				t.Fatal(err)
			}
			data := &linear.Data{Map: m.Map, X: x}
			if c.file == 0 {
				data.Class = class
			} else {
				data.Target = target
			}
			have, err := fit[c.learner](data, c.lambda)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(have.Linear.W, m.Linear.W) || !slices.Equal(have.Linear.B, m.Linear.B) {
				t.Errorf("weights %v…, intercepts %v; the job has %v…, %v", have.Linear.W[:4], have.Linear.B, m.Linear.W[:4],
					m.Linear.B)
			}
			if c.file == 1 && !slices.Equal(have.Grid, m.Manifest.TargetGrid) {
				t.Errorf("targets scaled by %+v; the job by %+v", have.Grid, m.Manifest.TargetGrid)
			}
		})
	}
}

package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/align"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
)

// classes is the number of digits.
const classes = 10

// digits are rows of MNIST.
type digits struct {
	x     []float32 // n×784, as in the file
	class []int32   // length n
}

// rows returns the rows of dim numbers with their classes.
func (d digits) rows(dim, classes int) align.Rows {
	return align.Rows{X: d.x, D: dim, Class: d.class, Classes: classes}
}

// read reads images of ten classes, as the numbers that a map makes of them; nil leaves the pixels.
func read(ctx context.Context, o dataset.Options, m features.Map) (d digits, err error) {
	files, err := dataset.Open(ctx, o)
	if err != nil {
		return d, err
	}
	label := func(token []byte) (float64, string) { return float64(token[0] - '0'), "" }
	for file := range files.Files {
		r := files.Read(ctx, dataset.Whole(file), label, dataset.FailFast)
		var b rowio.Block
		for r.Next(&b) {
			x := b.X
			if m != nil {
				_, out := m.Dims()
				x = make([]float32, b.N*out)
				m.Apply(x, b.X, b.N)
			}
			d.x = append(d.x, x...)
			for _, y := range b.Y {
				d.class = append(d.class, int32(y))
			}
		}
		fault := r.Report().Fault
		r.Close()
		if fault != "" {
			return d, fmt.Errorf("%s: %s", files.Files[file].Name, fault)
		}
	}
	return d, nil
}

// allRows reads the training rows and the test rows of MNIST.
func (e experiment) allRows(ctx context.Context) (train, test digits, err error) {
	if train, err = read(ctx, e.mnist("train"), nil); err != nil {
		return train, test, err
	}
	test, err = read(ctx, e.mnist("t10k"), nil)
	return train, test, err
}

// split returns every fifth row, and the other rows.
func (d digits) split() (rest, held digits) {
	in := len(d.x) / len(d.class)
	for i, c := range d.class {
		to := &rest
		if i%5 == 0 {
			to = &held
		}
		to.x = append(to.x, d.x[i*in:(i+1)*in]...)
		to.class = append(to.class, c)
	}
	return rest, held
}

// sum returns the sum of ridge regression over the rows.
func (d digits) sum(m features.Gridded) *ridge.Sum {
	in, out := m.Dims()
	threads := runtime.GOMAXPROCS(0)
	s, z := ridge.NewSum(ridge.Shape{Dim: out, Outputs: classes}), features.NewGrid(out, features.ByteSteps)
	for lo := 0; lo < len(d.class); lo += blas.MaxRows {
		hi := min(lo+blas.MaxRows, len(d.class))
		m.Quantize(z, d.x[lo*in:], hi-lo, threads)
		s.AddLabels(z, d.class[lo:hi], nil, threads)
	}
	return s
}

// loss holds the errors of a fit.
type loss struct {
	wrong   int     // number of misclassified rows
	squares float64 // mean over the rows of Σ (score − code)²
}

// losses returns the loss of each fit on the rows.
func (d digits) losses(m features.Map, fits []*ridge.Solution) []loss {
	in, dim := m.Dims()
	n, k := len(d.class), len(fits)*classes
	all := &linear.Model{K: k, D: dim}
	for _, f := range fits {
		all.W, all.B = append(all.W, f.Weights...), append(all.B, f.Intercept...)
	}
	scores := make([]float32, n*k)
	const run = 256
	parallel.Ranges((n+run-1)/run, 1, runtime.GOMAXPROCS(0), func(first, last int) {
		phi := make([]float32, run*dim)
		for lo := first * run; lo < min(last*run, n); lo += run {
			m.Apply(phi, d.x[lo*in:], min(run, n-lo))
			all.Scores(scores[lo*k:], phi, min(run, n-lo))
		}
	})
	out := make([]loss, len(fits))
	for i, c := range d.class {
		for f := range fits {
			row := scores[i*k+f*classes:][:classes]
			if row[c] < slices.Max(row) {
				out[f].wrong++
			}
			for j, s := range row {
				code := -1.0
				if j == int(c) {
					code = 1
				}
				out[f].squares += (float64(s) - code) * (float64(s) - code) / float64(n)
			}
		}
	}
	return out
}

// chosen holds the test error of ridge regression with the λ that held-out rows chose.
type chosen struct {
	lambda  float64
	percent float64 // of the test rows
}

// holdOut chooses λ by every fifth row of train, fits to all rows, and returns the errors on test: with the λ
// of the fewest held-out errors, and with the λ of the least squared error. It breaks ties by the largest λ.
func holdOut(r features.Recipe, lambda []float64, train, test digits) (byErrors, bySquares chosen, err error) {
	made, err := r.New()
	if err != nil {
		return byErrors, bySquares, err
	}
	m := made.(features.Gridded)
	solve := func(s *ridge.Sum, lambda float64) (*ridge.Solution, error) {
		return ridge.Solve(ridge.Options{
			Search: ridge.LambdaSearch{Lambda: []float64{lambda}},
			From:   ridge.Source{Shape: s.Shape(), Add: func(to *ridge.Sum, _ int) error { to.Merge(s); return nil }},
			Units:  ridge.Units{Step: m.Step()}, Threads: runtime.GOMAXPROCS(0),
		})
	}
	rest, held := train.split()
	sum := rest.sum(m)
	fits := make([]*ridge.Solution, len(lambda))
	for i, l := range lambda {
		if fits[i], err = solve(sum, l); err != nil {
			return byErrors, bySquares, err
		}
	}
	var errors, squares int
	losses := held.losses(m, fits)
	for i, l := range losses {
		if l.wrong <= losses[errors].wrong {
			errors = i
		}
		if l.squares <= losses[squares].squares {
			squares = i
		}
	}
	sum.Merge(held.sum(m))
	fits = fits[:0]
	for _, i := range []int{errors, squares} {
		fit, err := solve(sum, lambda[i])
		if err != nil {
			return byErrors, bySquares, err
		}
		fits = append(fits, fit)
	}
	tested := test.losses(m, fits)
	percent := func(l loss) float64 { return 100 * float64(l.wrong) / float64(len(test.class)) }
	return chosen{lambda[errors], percent(tested[0])}, chosen{lambda[squares], percent(tested[1])}, nil
}

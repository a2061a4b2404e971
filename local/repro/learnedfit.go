package main

import (
	"context"
	"path/filepath"
	"runtime"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/align"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/svm"
)

// pair returns the rows of two classes, at most the given number. The first class is class 1.
func (d digits) pair(of [2]int32, divide float32) (out digits) {
	in := len(d.x) / len(d.class)
	for i, c := range d.class {
		if c != of[0] && c != of[1] {
			continue
		}
		class := int32(0)
		if c == of[0] {
			class = 1
		}
		out.class = append(out.class, class)
		for _, v := range d.x[i*in : (i+1)*in] {
			out.x = append(out.x, v/divide)
		}
	}
	return out
}

// fifth returns every fifth row, from a start that depends on the trial, and the other rows.
func (d digits) fifth(trial int) (rest, held digits) {
	shift := trial % 5
	in := len(d.x) / len(d.class)
	turned := digits{x: append(d.x[shift*in:len(d.x):len(d.x)], d.x[:shift*in]...),
		class: append(d.class[shift:len(d.class):len(d.class)], d.class[:shift]...)}
	return turned.split()
}

// images reads the available CIFAR-10 images, as histograms of 512 numbers.
func (e experiment) images(ctx context.Context) (digits, error) {
	shape := preprocess.ImageShape{Height: 32, Width: 32, Channels: 3, Planar: true}
	histograms, err := preprocess.HoG{Shape: shape, Cell: 4, Orientations: 8}.New()
	if err != nil {
		return digits{}, err
	}
	names := filepath.Join(e.data, "cifar10", "*.bin*")
	return read(ctx, dataset.Options{Files: []string{names}, Format: "cifar10"}, histograms)
}

// medianDistance returns the median distance between two of the first rows.
func medianDistance(x []float32, in int) float64 {
	n := min(len(x)/in, 1000)
	width, err := kernel.MedianWidth(x[:n*in], n, in, kernel.Euclidean)
	if err != nil {
		panic("repro: rows without distances: " + err.Error())
	}
	return width
}

// options returns the options of the game for n rows.
func (g game) options(n int, width float64, frequencies int, seed uint64) align.Options {
	o := align.PaperOptions(1/(g.gameC*float64(n)), g.width*width, frequencies, seed)
	o.Search.Chains, o.Search.Steps, o.Sample = g.chains, g.steps, g.sample
	o.Rate, o.Alternations = g.rate, g.alternations
	return o
}

// play returns the frequencies that the game finds.
func (g game) play(d digits, classes int, width float64, frequencies int, seed uint64) ([]float32, error) {
	in := len(d.x) / len(d.class)
	r, err := align.Learn(d.rows(in, classes), g.options(len(d.class), width, frequencies, seed),
		runtime.GOMAXPROCS(0), nil)
	if err != nil {
		return nil, err
	}
	return r.W, nil
}

// frequencies returns the function that chooses n of at most the given number of frequencies by a method.
func (g game) frequencies(method string, d digits, most int,
	seed uint64) (choose func(n int) *learned.Frequencies, err error) {
	rows := len(d.class)
	in := len(d.x) / rows
	width := medianDistance(d.x, in)
	var w []float32
	switch method {
	case "RBF":
		w = align.Propose(most, in, width, seed)
	case "LKRF": // drawn frequencies with weights (Sinha and Duchi 2016)
		n := max(g.proposals, 4*most)
		w = align.Propose(n, in, width, seed)
		v := align.Alignment(align.NewField(d.x, rows, in), w, n, d.rows(in, 2), runtime.GOMAXPROCS(0))
		q, err := align.Weigh(v, g.rho)
		return func(n int) *learned.Frequencies {
			index, weight := align.Top(q, n)
			if g.pick == "draw" {
				index, weight = align.Draw(q, n, seed)
			}
			return align.Select(w, in, index, weight)
		}, err
	default:
		w, err = g.play(d, 2, width, most, seed)
	}
	return func(n int) *learned.Frequencies { return &learned.Frequencies{In: in, Count: n, W: w[:n*in]} }, err
}

// recipeOf returns the recipe of paired features of the frequencies.
func recipeOf(f *learned.Frequencies) (features.Recipe, error) {
	data, err := learned.Encode(f)
	if err != nil {
		return nil, err
	}
	return learned.RecipeOf(data, fourier.Paired, 1)
}

// heldOutC returns the C with the fewest errors on every fifth row, the first of equal ones.
func heldOutC(r features.Recipe, d digits, c []float64) (best float64, err error) {
	rest, held := d.split()
	most := -1.0
	for _, c := range c {
		accuracy, err := judge(r, rest, held, c)
		if err != nil {
			return 0, err
		}
		if accuracy > most {
			best, most = c, accuracy
		}
	}
	return best, nil
}

// judgeFrequencies is judge for paired features of frequencies.
func judgeFrequencies(f *learned.Frequencies, train, test digits, c float64) (float64, error) {
	r, err := recipeOf(f)
	if err != nil {
		return 0, err
	}
	return judge(r, train, test, c)
}

// judge returns the test accuracy in percent of a support vector machine on the features.
func judge(r features.Recipe, train, test digits, c float64) (float64, error) {
	l, err := hinge(r, train, c)
	if err != nil {
		return 0, err
	}
	n := len(test.class)
	found := make([]int32, n)
	l.Classes(found, test.x, n)
	right := 0
	for i, c := range found {
		if c == test.class[i] {
			right++
		}
	}
	return 100 * float64(right) / float64(n), nil
}

// hinge fits a support vector machine for two classes, to within 0.2% of its optimal objective. C is the weight
// of a row's loss relative to ½‖w‖².
func hinge(r features.Recipe, d digits, c float64) (*linear.Machine, error) {
	m, err := r.New()
	if err != nil {
		return nil, err
	}
	o := svm.NewLearnerOptions()
	o.Gap, o.Rounds = 2e-3, 60
	fit, err := svm.Fit(&linear.Data{Map: m, X: d.x, Class: d.class}, 1/(c*float64(len(d.class))), o)
	if err != nil {
		return nil, err
	}
	return fit.Machine, nil
}

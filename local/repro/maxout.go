package main

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/bochner-ml/bochner/features/maxout"
	"github.com/bochner-ml/bochner/features/preprocess"
)

// paperMaxout is Table 1 of Mroueh, Rennie and Goel ("Random Maxout Features",
// 2015): MNIST test error in percent, mean and standard deviation of 5 runs, by q
// and the number of units.
var paperMaxout = map[int]map[int][2]float64{
	1:  {100: {17.68, 0.28}, 500: {14.76, 0.23}, 1000: {14.64, 0.08}, 5000: {15.02, 0.64}, 10000: {15.12, 0.58}},
	2:  {100: {16.95, 0.53}, 500: {7.98, 0.22}, 1000: {5.62, 0.18}, 5000: {2.86, 0.11}, 10000: {2.35, 0.04}},
	4:  {100: {18.24, 0.39}, 500: {7.70, 0.24}, 1000: {5.50, 0.16}, 5000: {2.78, 0.07}, 10000: {2.23, 0.07}},
	8:  {100: {18.90, 0.28}, 500: {7.98, 0.47}, 1000: {5.59, 0.19}, 5000: {2.81, 0.10}, 10000: {2.32, 0.09}},
	16: {100: {20.57, 0.76}, 500: {8.19, 0.21}, 1000: {5.66, 0.15}, 5000: {2.87, 0.12}, 10000: {2.58, 0.04}},
}

// maxoutCell has our figure and the paper's.
type maxoutCell struct {
	Q        int       `json:"q"`
	Units    int       `json:"units"`
	Errors   []float64 `json:"errors"` // percent, by seed
	Lambda   []float64 `json:"lambda"` // chosen, by seed
	Mean     float64   `json:"mean"`
	Dev      float64   `json:"dev"` // standard deviation over seeds
	Paper    float64   `json:"paper"`
	PaperDev float64   `json:"paper_dev"`
	// Apart is the difference of the means in standard errors: of both means over seeds, and of the
	// two errors on the same 10,000 test rows.
	Apart float64 `json:"apart"`
	// BySquares is the mean of the errors with the λ of the least held-out
	// squared error, which is what cross-validation from sums can choose by.
	BySquares float64 `json:"by_squares"`
}

// maxoutLambda are the values of λ to choose from.
var maxoutLambda = []float64{1e-8, 1e-7, 1e-6, 1e-5, 1e-4}

// maxout repeats Table 1: regularised least squares on one-vs-all codes, rows of
// norm 1, λ chosen on held-out rows, by the errors on them.
func (e experiment) maxout(ctx context.Context) error {
	units := e.features
	if len(units) == 0 {
		units = []int{100, 500, 1000, 5000, 10000}
	}
	qs := e.qs
	if len(qs) == 0 {
		qs = []int{1, 2, 4, 8, 16}
	}
	train, test, err := e.allRows(ctx)
	if err != nil {
		return err
	}
	unit, err := preprocess.Unit{In: 784}.New()
	if err != nil {
		return err
	}
	for _, d := range []digits{train, test} {
		unit.Apply(d.x, d.x, len(d.class))
	}
	var cells []maxoutCell
	fmt.Println("MNIST test error in %, rows of norm 1, λ by held-out errors; mean ± deviation over seeds, ours | " +
		"paper (apart, in standard errors)")
	for _, m := range units {
		for _, q := range qs {
			cell := maxoutCell{Q: q, Units: m}
			seeds := e.seedsOf(m)
			for seed := range seeds {
				if err := ctx.Err(); err != nil {
					return err
				}
				r := maxout.Recipe{In: 784, Out: m, Q: q, Bound: maxout.Bound(1, q, 1e-9), Seed: uint64(seed + 1)}
				byErrors, bySquares, err := holdOut(r, maxoutLambda, train, test)
				if err != nil {
					return err
				}
				cell.Errors = append(cell.Errors, byErrors.percent)
				cell.Lambda = append(cell.Lambda, byErrors.lambda)
				cell.BySquares += bySquares.percent / float64(seeds)
			}
			cell.compare()
			cells = append(cells, cell)
			fmt.Printf("m = %5d  q = %2d  %6.2f ± %.2f (%d seeds) | %5.2f ± %.2f (%+.1f)  λ %.0e; by held-out squares %.2f\n",
				m, q, cell.Mean, cell.Dev, len(cell.Errors), cell.Paper, cell.PaperDev, cell.Apart, cell.Lambda, cell.BySquares)
			if err := e.write("table.json", cells); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare fills in what follows from the errors.
func (c *maxoutCell) compare() {
	c.Mean = stat.Mean(c.Errors, nil)
	if len(c.Errors) > 1 {
		c.Dev = stat.StdDev(c.Errors, nil)
	}
	paper := paperMaxout[c.Q][c.Units]
	c.Paper, c.PaperDev = paper[0], paper[1]
	// A single seed has no deviation of its own; the paper's stands in.
	dev := math.Max(c.Dev, c.PaperDev)
	p := c.Mean / 100
	sampling := 100 * math.Sqrt(p*(1-p)/10000) // of an error on 10,000 rows
	c.Apart = (c.Mean - c.Paper) / math.Sqrt(dev*dev/float64(len(c.Errors))+c.PaperDev*c.PaperDev/5+sampling*sampling)
}

package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models/align"
)

// landscape draws Figure 1a of the paper for our windmill. For several numbers of learned frequencies it shows
// the rows, with sizes by their dual weights; the Fourier potential under these weights with the frequencies
// (the last round's as squares); and the scores of a support vector machine on the features, with lines at 0
// and ±1.
func (e experiment) landscape(ctx context.Context, g game) error {
	g = g.or(windmillDefaults)
	train, test, err := sets(ctx, "windmill", 2000, 1)
	if err != nil {
		return err
	}
	width := medianDistance(train.x, 2)
	grid := make([][]*picture.Chart, 3)
	counts := []int{10, 100, 300, 1000}
	for _, frequencies := range counts {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := align.Learn(train.rows(2, 2), g.options(len(train.class), width, frequencies, 1),
			runtime.GOMAXPROCS(0), nil)
		if err != nil {
			return err
		}
		last := r.Reports[len(r.Reports)-1]
		accuracy, scores, err := g.fitAndDraw(r.W, train, test)
		if err != nil {
			return err
		}
		for i, p := range []picture.Heat{
			weighedRows(train, r.Dual), potential(train, r, last.Taken), scores,
		} {
			p.Title = fmt.Sprintf("T = %d", frequencies)
			if i == 2 {
				p.Title = fmt.Sprintf("T = %d: %.1f%% of test rows right", frequencies, accuracy)
			}
			drawn, err := p.Plot()
			if err != nil {
				return err
			}
			grid[i] = append(grid[i], drawn)
		}
		fmt.Printf("landscape: T = %d of %v, accuracy %.2f%%\n", frequencies, counts, accuracy)
	}
	data, err := picture.EncodeTiles(grid, 8, 8, "png")
	if err != nil {
		return err
	}
	name := filepath.Join(e.out, "landscape.png")
	fmt.Println("picture in", name)
	return os.WriteFile(name, data, 0o666)
}

// weighedRows draws the rows with sizes by their dual weights.
func weighedRows(d digits, dual *align.Dual) picture.Heat {
	p := picture.Heat{Half: 1.05, X: "x1", Y: "x2"}
	alpha, _ := dual.Row(0)
	for class := range 2 {
		s := picture.Spots{}
		for i, c := range d.class {
			if int(c) == class {
				s.X, s.Y = append(s.X, float64(d.x[2*i])), append(s.Y, float64(d.x[2*i+1]))
				s.Radius = append(s.Radius, 0.3+1.7*alpha[i])
			}
		}
		p.Spots = append(p.Spots, s)
	}
	return p
}

// potential draws the potential under the last dual weights, and the learned frequencies and their opposites;
// the last round found latest of them.
func potential(d digits, r *align.Result, latest int) picture.Heat {
	radians := make([]float64, len(r.W))
	for i, w := range r.W {
		radians[i] = 2 * math.Pi * float64(w)
	}
	p := picture.Heat{X: "ω1", Y: "ω2", Rows: 160, Cols: 160, Half: 1.1 * max(slices.Max(radians), -slices.Min(radians))}
	turns := make([]float32, 0, 2*p.Rows*p.Cols)
	for row := range p.Rows {
		for column := range p.Cols {
			turns = append(turns, float32(p.At(column, p.Cols)/(2*math.Pi)), float32(-p.At(row, p.Rows)/(2*math.Pi)))
		}
	}
	n := float64(r.Dual.N)
	cs := make([]float64, len(turns))
	align.NewField(d.x, r.Dual.N, 2).Sums(cs, turns, len(turns)/2, r.Dual.Weightings(), runtime.GOMAXPROCS(0))
	for j := range len(turns) / 2 {
		c, s := cs[2*j]/n, cs[2*j+1]/n
		p.Values = append(p.Values, math.Sqrt(c*c+s*s)) // the square root makes low peaks visible
	}
	for _, ends := range [][2]int{{0, len(r.W)/2 - latest}, {len(r.W)/2 - latest, len(r.W) / 2}} {
		spots := picture.Spots{}
		for j := ends[0]; j < ends[1]; j++ {
			x, y := radians[2*j], radians[2*j+1]
			spots.X, spots.Y = append(spots.X, x, -x), append(spots.Y, y, -y)
		}
		p.Spots = append(p.Spots, spots)
	}
	return p
}

// fitAndDraw fits a support vector machine with C = 1 to features of the frequencies that are not scaled by
// their number. It returns its test accuracy in percent, and a picture of its scores.
func (g game) fitAndDraw(w []float32, train, test digits) (accuracy float64, p picture.Heat, err error) {
	n := len(w) / 2
	r, err := recipeOf(&learned.Frequencies{In: 2, Count: n, W: w})
	if err != nil {
		return 0, p, err
	}
	c := g.c * float64(n)
	if accuracy, err = judge(r, train, test, c); err != nil {
		return 0, p, err
	}
	l, err := hinge(r, train, c)
	if err != nil {
		return 0, p, err
	}
	p = picture.Heat{Half: 1.05, X: "x1", Y: "x2", Rows: 160, Cols: 160, Signed: true, Levels: []float64{-1, 0, 1}}
	var x []float32
	for row := range p.Rows {
		for column := range p.Cols {
			x = append(x, float32(p.At(column, p.Cols)), float32(-p.At(row, p.Rows)))
		}
	}
	scores := make([]float32, len(x)/2*l.Linear.K)
	l.Scores(scores, x, len(x)/2)
	for i := range len(x) / 2 {
		p.Values = append(p.Values, max(-3, min(3, float64(scores[i*l.Linear.K+l.Linear.K-1])))) // of class 1
	}
	return accuracy, p, nil
}

package ridge

import (
	"math"
	"math/rand/v2"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/linear"
)

// sample is a small data set on the grids, cut into folds.
type sample struct {
	shape Shape
	step  float64
	grid  linear.Grids
	z     [][]int8
	class []int32   // of classes
	y     [][]int32 // of targets
	fold  []int
	folds int
}

// draw makes n rows of cosine features, which have means and correlations, of
// points in the plane, with labels that depend on the point.
func draw(shape Shape, n, folds int, seed uint64) *sample {
	rng := rand.New(rand.NewPCG(seed, 17))
	s := &sample{shape: shape, folds: folds, step: math.Sqrt(2/float64(shape.Dim)) / blas.MaxByte}
	w := make([][3]float64, shape.Dim)
	for j := range w {
		w[j] = [3]float64{rng.NormFloat64(), rng.NormFloat64(), 2 * math.Pi * rng.Float64()}
	}
	for range n {
		a, b := 2*rng.NormFloat64(), 2*rng.NormFloat64()
		row := make([]int8, shape.Dim)
		for j, w := range w {
			row[j] = int8(math.RoundToEven(blas.MaxByte * math.Cos(a*w[0]+b*w[1]+w[2])))
		}
		s.z = append(s.z, row)
		s.class = append(s.class, int32(math.Abs(math.Floor(a*b+0.3*rng.NormFloat64())))%int32(shape.Outputs))
		y := make([]int32, shape.Outputs)
		for c := range y {
			y[c] = int32(9000*math.Sin(a+float64(c)*b) + 500*rng.NormFloat64() - 20000)
		}
		s.y = append(s.y, y)
		s.fold = append(s.fold, int(rng.Uint64N(uint64(folds))))
	}
	if shape.Regression {
		for c := range shape.Outputs { // targets of different units
			s.grid = append(s.grid, linear.TargetGrid{Low: -3, High: 11 + 1000*float64(c)})
		}
	}
	return s
}

// rows packs some rows of the sample.
func (s *sample) pack(rows []int) *features.Grid {
	var v []int8
	for _, i := range rows {
		v = append(v, s.z[i]...)
	}
	return packBytes(v, len(rows), s.shape.Dim)
}

// add adds some rows to a sum, in blocks of at most size rows.
func (s *sample) add(sum *Sum, rows []int, size, threads int) {
	for len(rows) > 0 {
		block := rows[:min(size, len(rows))]
		rows = rows[len(block):]
		var class, y []int32
		for _, i := range block {
			class = append(class, s.class[i])
			y = append(y, s.y[i]...)
		}
		if s.shape.Regression {
			sum.AddLabels(s.pack(block), y, nil, threads)
		} else {
			sum.AddLabels(s.pack(block), class, nil, threads)
		}
	}
}

func (s *sample) sum(rows []int) *Sum {
	sum := NewSum(s.shape)
	s.add(sum, rows, blas.MaxRows, 2)
	return sum
}

// split returns the rows in and out of a fold.
func (s *sample) split(fold int) (in, out []int) {
	for i, f := range s.fold {
		if f == fold {
			in = append(in, i)
		} else {
			out = append(out, i)
		}
	}
	return in, out
}

func (s *sample) all() []int {
	_, all := s.split(-1)
	return all
}

// sums returns the sums of the folds.
func (s *sample) sums() []*Sum {
	sums := make([]*Sum, s.folds)
	for f := range sums {
		in, _ := s.split(f)
		sums[f] = s.sum(in)
	}
	return sums
}

// options solves the sample with its folds.
func (s *sample) options(lambda ...float64) Options {
	return Options{
		Search: LambdaSearch{Lambda: lambda}, Plan: FoldPlan{Folds: s.folds}, From: adding(s.sums()...),
		Units: Units{Step: s.step, Grid: s.grid}, Threads: 2,
	}
}

// adding is the Source of sums in memory.
func adding(sums ...*Sum) Source {
	return Source{Shape: sums[0].shape, Add: func(to *Sum, fold int) error { to.Merge(sums[fold]); return nil }}
}

// phi and target give a row in units of the data.
func (s *sample) phi(i int) []float64 {
	v := make([]float64, s.shape.Dim)
	for j := range v {
		v[j] = s.step * float64(s.z[i][j])
	}
	return v
}

func (s *sample) target(i int) []float64 {
	t := make([]float64, s.shape.Outputs)
	for c := range t {
		switch {
		case s.shape.Regression:
			t[c] = s.grid[c].Value(s.y[i][c])
		case int(s.class[i]) == c:
			t[c] = 1
		default:
			t[c] = -1
		}
	}
	return t
}

// twin is the model by the book: centre the rows, form the normal equations,
// eliminate.
type twin struct {
	w [][]float64 // k×D
	b []float64
}

func (s *sample) refit(rows []int, lambda float64) twin {
	d, k, n := s.shape.Dim, s.shape.Outputs, float64(len(rows))
	mean, mid := make([]float64, d), make([]float64, k)
	for _, i := range rows {
		for j, v := range s.phi(i) {
			mean[j] += v / n
		}
		for c, v := range s.target(i) {
			mid[c] += v / n
		}
	}
	a := make([][]float64, d) // G_c + nλI, then R_c in the last k columns
	for j := range a {
		a[j] = make([]float64, d+k)
		a[j][j] = n * lambda
	}
	for _, i := range rows {
		phi, t := s.phi(i), s.target(i)
		for j := range phi {
			phi[j] -= mean[j]
		}
		for j, v := range phi {
			for l, u := range phi {
				a[j][l] += v * u
			}
			for c := range t {
				a[j][d+c] += v * (t[c] - mid[c])
			}
		}
	}
	eliminate(a)
	m := twin{b: mid}
	for c := range k {
		w := make([]float64, d)
		for j := range w {
			w[j] = a[j][d+c]
			m.b[c] -= w[j] * mean[j]
		}
		m.w = append(m.w, w)
	}
	return m
}

// normalise makes of a model of targets one of (t - Mid)/Half.
func (m twin) normalise(grids linear.Grids) {
	for c, w := range m.w {
		g := grids[c]
		m.b[c] = (m.b[c] - g.Mid()) / g.Half()
		for j := range w {
			w[j] /= g.Half()
		}
	}
}

// eliminate solves in place the systems whose right-hand sides are the columns
// behind the square, by Gauss and Jordan with pivoting.
func eliminate(a [][]float64) {
	for p := range a {
		best := p
		for i := p; i < len(a); i++ {
			if math.Abs(a[i][p]) > math.Abs(a[best][p]) {
				best = i
			}
		}
		a[p], a[best] = a[best], a[p]
		for c := len(a[p]) - 1; c >= p; c-- {
			a[p][c] /= a[p][p]
		}
		for i := range a {
			if f := a[i][p]; i != p && f != 0 {
				for c := p; c < len(a[p]); c++ {
					a[i][c] -= f * a[p][c]
				}
			}
		}
	}
}

// squares returns Σ‖t - Wᵀφ - b‖² over the rows, one by one.
func (m twin) squares(s *sample, rows []int) float64 {
	var e float64
	units := s.units()
	for _, i := range rows {
		phi, t := s.phi(i), s.target(i)
		for c := range t {
			r := t[c] - m.b[c]
			for j, v := range phi {
				r -= m.w[c][j] * v
			}
			e += units[c] * r * r
		}
	}
	return e
}

// units returns the factor of the squared error of each output: 1 unless there are several
// targets, whose errors are shares of their variances, averaged.
func (s *sample) units() []float64 {
	k, n := s.shape.Outputs, float64(len(s.z))
	units := make([]float64, k)
	for c := range units {
		if units[c] = 1; !s.shape.Regression || k == 1 {
			continue
		}
		var mean, variance float64
		for i := range s.z {
			mean += s.target(i)[c] / n
		}
		for i := range s.z {
			variance += (s.target(i)[c] - mean) * (s.target(i)[c] - mean) / n
		}
		units[c] = 1 / variance / float64(k)
	}
	return units
}

// apart returns the largest difference of two vectors, relative to the largest entry.
func apart(got []float32, want []float64) float64 {
	var diff, size float64
	for i, w := range want {
		diff = math.Max(diff, math.Abs(float64(got[i])-w))
		size = math.Max(size, math.Abs(w))
	}
	return diff / size
}

package solver

import (
	"math"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// Points are the rows of a fold: n rows of D features and k targets, row-major.
type Points struct {
	Z       []int16   // features in steps of a grid
	Q       []float64 // targets
	Weights []float64 // nil if all are 1
}

// fold is the rows of a fold within a Problem.
type fold struct {
	n     int       // 0 if the fold is empty
	steps []int16   // n×D
	y     []float64 // n×k
	first int       // position of the first row among the rows of all folds
}

// NewDual returns the dual problem of the rows of all folds, whose features are on a grid of the given
// number of steps from 0 to the bound. ridge is the diagonal of R. mean (length D) and target (length k)
// are the means over all rows; they are subtracted first, so that nothing large cancels. If ridge is the
// same for all features, the kernel is a product of whole numbers and exact, apart from its centring.
func NewDual(folds []Points, steps int, mean, target, ridge []float64, threads int) *Problem {
	d, k := len(mean), len(target)
	p := &Problem{root: make([]float64, d), plain: true, threads: threads}
	for j, r := range ridge {
		p.root[j] = 1 / math.Sqrt(r)
		p.plain = p.plain && r == 1
	}
	for _, points := range folds {
		s := &fold{n: len(points.Z) / d, steps: points.Z, first: p.n}
		p.folds = append(p.folds, s)
		p.n += s.n
		for i := range s.n {
			root := 1.0
			if points.Weights != nil {
				root = math.Sqrt(points.Weights[i])
			}
			p.u = append(p.u, root)
			for c, q := range points.Q[i*k:][:k] {
				p.y = append(p.y, root*(q-target[c]))
			}
		}
		s.y = p.y[s.first*k:]
	}
	if p.plain {
		p.integers(d, steps)
	} else {
		p.products(mean)
	}
	return p
}

// integers computes the kernel in whole numbers if all features have the same penalty.
func (p *Problem) integers(d, steps int) {
	n := p.n
	p.k = kernel{n, blas.NewTiles(n)}
	// The block is transposed: its rows are the features, its columns the rows. Whole cache lines of a
	// column are written at once.
	block, columns := blas.NewGrid(n, steps), blas.Make[float32](min(d, blas.MaxRows)*n)
	for from := 0; from < d; from += blas.MaxRows {
		count := min(blas.MaxRows, d-from)
		for _, s := range p.folds {
			parallel.Each((s.n+side-1)/side, p.threads, func(_, g int) {
				first, end := g*side, min((g+1)*side, s.n)
				for j := range count {
					to, z := columns[j*n+s.first:], s.steps[from+j:]
					for i := first; i < end; i++ {
						to[i] = float32(z[i*d])
					}
				}
			})
		}
		block.Quantize(columns, count, float32(steps), p.threads) // a step is 1
		blas.Gram(p.k.tiles, block, p.threads)
	}
	p.k.centre(p.u, p.threads)
}

// productFeatures is the number of features that products takes at a time.
const productFeatures = 256

// products computes the kernel in float64 if features have different penalties.
func (p *Problem) products(mean []float64) {
	n, d := p.n, len(mean)
	p.k = kernel{n, blas.NewTiles(n)}
	block, part := make([]float64, n*productFeatures), make([]float64, strip*n)
	for from := 0; from < d; from += productFeatures {
		count := min(productFeatures, d-from)
		for _, s := range p.folds {
			parallel.Each(s.n, p.threads, func(_, i int) {
				to, u := block[(s.first+i)*count:], p.u[s.first+i]
				for j, v := range s.steps[i*d+from:][:count] {
					to[j] = u * (float64(v) - mean[from+j]) * p.root[from+j]
				}
			})
		}
		for first := 0; first < n; first += strip {
			end := min(first+strip, n)
			rows := part[:(end-first)*end]
			clear(rows)
			blas.SubProduct(rows, block[first*count:end*count], block, end-first, end, count, p.threads)
			p.k.subtract(rows, first, 0, end, p.threads)
		}
	}
}

// gradient stores Σ αz over the rows of all folds in vt (k×D).
func (p *Problem) gradient(vt, alpha []float64, d, k, threads int) {
	weighted := make([]float64, p.n*k)
	for i := range weighted {
		weighted[i] = p.u[i/k] * alpha[i]
	}
	type scratch struct {
		z    []float32 // some rows of some features
		sums []float64 // of these features
	}
	memory := make([]scratch, max(1, threads))
	parallel.Each((d+gradientSide-1)/gradientSide, threads, func(worker, item int) {
		first := item * gradientSide
		n, r := min(gradientSide, d-first), &memory[worker]
		if r.z == nil {
			*r = scratch{make([]float32, gradientSide*gradientSide), make([]float64, gradientSide*k)}
		}
		sums := r.sums[:k*n]
		clear(sums)
		for _, s := range p.folds {
			for from := 0; from < s.n; from += gradientSide {
				rows := min(gradientSide, s.n-from)
				for i := range rows {
					blas.Floats(r.z[i*n:][:n], s.steps[(from+i)*d+first:][:n])
				}
				blas.Gradient64(sums, weighted[(s.first+from)*k:][:rows*k], r.z, rows, n, k, 1)
			}
		}
		for c := range k {
			copy(vt[c*d+first:], sums[c*n:][:n])
		}
	})
}

// gradientSide is the side of the squares of rows and features that gradient takes at once: few
// enough to stay in the cache.
const gradientSide = 256

// dualBytes returns the most memory of a Problem with these numbers of rows, features (dim), outputs and folds,
// without the rows. before is the memory that the caller holds until the first solution, next to the kernel.
func dualBytes(rows int64, dim, outputs, folds, threads int, before int64) int64 {
	d, k := int64(dim), int64(outputs)
	kernel := 4 * rows * (rows + blas.TileDim)
	// Blocks of either kind of kernel are freed before anything else is allocated.
	block := max(6*rows*min(d, blas.MaxRows), 8*(productFeatures+strip)*rows)
	// Concurrent solutions share the threads; each has its own α.
	gradient := int64(max(1, threads))*gradientSide*(4*gradientSide+8*k) + int64(AtOnce(rows, threads))*8*rows*k
	return max(kernelBytes(rows, dim, outputs, folds, threads)+gradient, kernel+block, kernel+before) + 8*rows*2*k
}

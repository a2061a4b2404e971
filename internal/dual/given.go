package dual

import (
	"math"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// Points are the rows of a fold themselves: n rows of D features and k targets, row-major.
type Points struct {
	Z       []int16   // features in steps of a grid
	Q       []float64 // targets
	Weights []float64 // nil if all are 1
}

// NewGiven returns the dual problem of the rows of all folds, on a grid of that many steps from 0 to the bound.
// mean, target and ridge are those of New. Where ridge is the same for all features, the kernel is a product of
// whole numbers and so exact, but for its centring.
func NewGiven(folds []Points, steps int, mean, target, ridge []float64, threads int) *Problem {
	d, k := len(mean), len(target)
	f := &Problem{root: make([]float64, d), given: true, plain: true, threads: threads}
	for j, r := range ridge {
		f.root[j] = 1 / math.Sqrt(r)
		f.plain = f.plain && r == 1
	}
	for _, p := range folds {
		s := &Rows{n: len(p.Z) / d, steps: p.Z, first: f.n}
		f.folds = append(f.folds, s)
		f.n += s.n
		for i := range s.n {
			root := 1.0
			if p.Weights != nil {
				root = math.Sqrt(p.Weights[i])
			}
			f.u = append(f.u, root)
			for c, q := range p.Q[i*k:][:k] {
				f.y = append(f.y, root*(q-target[c]))
			}
		}
		s.y = f.y[s.first*k:]
	}
	if f.plain {
		f.integers(d, steps)
	} else {
		f.products(mean)
	}
	return f
}

// rows calls do with every row, from several goroutines.
func (f *Problem) rows(d int, do func(i int, z []int16)) {
	for _, s := range f.folds {
		parallel.Each(s.n, f.threads, func(_, i int) { do(s.first+i, s.steps[i*d:][:d]) })
	}
}

// integers computes the kernel of features that are penalised alike.
func (f *Problem) integers(d, steps int) {
	n := f.n
	f.k = kernel{n, blas.NewTiles(n)}
	// The features are rows of the block, and the rows its columns, of which a line of the cache is written at once.
	const side = 32
	block, columns := blas.NewGrid(n, steps), blas.Make[float32](min(d, blas.MaxRows)*n)
	for from := 0; from < d; from += blas.MaxRows {
		count := min(blas.MaxRows, d-from)
		for _, s := range f.folds {
			parallel.Each((s.n+side-1)/side, f.threads, func(_, g int) {
				first, end := g*side, min((g+1)*side, s.n)
				for j := range count {
					to, z := columns[j*n+s.first:], s.steps[from+j:]
					for i := first; i < end; i++ {
						to[i] = float32(z[i*d])
					}
				}
			})
		}
		block.Quantize(columns, count, float32(steps), f.threads) // a step is 1
		blas.Gram(f.k.tiles, block, f.threads)
	}
	f.k.centre(f.u, f.threads)
}

// products computes the kernel of features that are penalised each in its way.
func (f *Problem) products(mean []float64) {
	const some = 256 // features at a time
	n, d := f.n, len(mean)
	f.k = kernel{n, blas.NewTiles(n)}
	block, part := make([]float64, n*some), make([]float64, strip*n)
	for from := 0; from < d; from += some {
		count := min(some, d-from)
		f.rows(d, func(i int, z []int16) {
			for j, v := range z[from:][:count] {
				block[i*count+j] = f.u[i] * (float64(v) - mean[from+j]) * f.root[from+j]
			}
		})
		for first := 0; first < n; first += strip {
			end := min(first+strip, n)
			rows := part[:(end-first)*end]
			clear(rows)
			blas.SubProduct(rows, block[first*count:end*count], block, end-first, end, count, f.threads)
			f.k.subtract(rows, first, 0, end, f.threads)
		}
	}
}

// gradient adds Σ αz to vt (k×D).
func (f *Problem) gradient(vt, alpha []float64, s *Rows, d, k, threads int) {
	const some = 256 // rows at a time
	z, a := make([]float32, some*d), make([]float64, some*k)
	for first := 0; first < s.n; first += some {
		n := min(some, s.n-first)
		parallel.Each(n, threads, func(_, i int) {
			for j, v := range s.steps[(first+i)*d:][:d] {
				z[i*d+j] = float32(v)
			}
			for c, v := range alpha[(first+i)*k:][:k] {
				a[i*k+c] = f.u[s.first+first+i] * v
			}
		})
		blas.Gradient64(vt, a, z, n, d, k, threads)
	}
}

// GivenBytes returns the most memory of a problem of that many given rows, features and outputs, with that many folds,
// besides the rows themselves. before is what others hold beside the kernel until the first solution.
func GivenBytes(rows int64, dim, outputs, folds, threads int, before int64) int64 {
	d, k := int64(dim), int64(outputs)
	kernel := 4 * rows * (rows + blas.TileDim)
	block := max(6*rows*min(d, blas.MaxRows), 8*(256+strip)*rows) // of either kernel, gone before anything else
	gradient := int64(AtOnce(rows, threads)) * 256 * (4*d + 8*k)
	return max(KernelBytes(rows, dim, outputs, folds, threads)+gradient, kernel+block, kernel+before) + 8*rows*2*k
}

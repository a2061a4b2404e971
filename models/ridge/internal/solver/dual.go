package solver

import (
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/internal/blas"
)

// Problem is the dual problem of ridge regression for rows in folds. It is safe for concurrent use.
type Problem struct {
	folds   []*fold
	n       int
	k       kernel
	y, u    []float64
	root    []float64 // R^(-½)
	plain   bool      // all features have the same penalty, R = I
	threads int

	mu    sync.Mutex
	spare []*workspace // not in use by a call of Solve
}

// workspace is the memory of a call of Solve.
type workspace struct {
	tiles [][]float64 // the kernel without a fold, with μ on its diagonal, and its factor
	strip []float64   // rows of the fold against the other rows
}

// strip is the number of rows of the kernel that are computed together.
const strip = 192

// Len returns the number of rows.
func (p *Problem) Len() int { return p.n }

// AtOnce returns the number of concurrent calls of Solve that take the least time for a number of rows, each
// with threads/AtOnce threads. Each call has its own memory.
func AtOnce(rows int64, threads int) int {
	most := 4
	if rows > 2048 { // one factorisation keeps several threads busy
		most = max(1, min(2, threads/2))
	}
	return max(1, min(threads, most))
}

// kernelBytes returns the memory that a Problem, and concurrent calls of Solve with their weights, need
// besides the rows.
func kernelBytes(rows int64, dim, outputs, folds, threads int) int64 {
	rest := rows - rows/int64(max(folds, 2))*3/4 // folds may be smaller than their mean
	one := blas.TileBytes(int(rest), 8) + 8*strip*rest + 8*int64(outputs)*(4*rows+2*int64(dim))
	return 4*rows*(rows+blas.TileDim) + int64(AtOnce(rows, threads))*one
}

// Fit is the result of a fit to the rows of all folds except one. Squares have the factors of the outputs.
type Fit struct {
	HeldOut float64 // Σ of the squared errors on the held-out rows
	Train   float64 // the same on the fitted rows
	Squares float64 // of the weights
}

// Plain reports whether all features have the same penalty; then Solve needs no v for a complete Fit.
func (p *Problem) Plain() bool { return p.plain }

// Solve fits to the rows of all folds except one and stores the weights (D×k) in v, unless v is nil. With a
// nil v, Fit.Squares is set only if the problem is Plain. factors multiply the squared errors of the outputs. If
// the matrix is not positive definite to working precision, ok is false and pivot is the index of the
// failure. The result does not depend on threads.
func (p *Problem) Solve(v, factors []float64, mu float64, fold, threads int) (fit Fit, pivot int, ok bool) {
	out := p.folds[fold]
	k, n := len(factors), p.n-out.n
	without := func(all []float64, width int) []float64 { // the entries of other folds
		return slices.Concat(all[:out.first*width], all[(out.first+out.n)*width:])
	}
	place := func(i int) int { // index, among all rows, of remaining row i
		if i >= out.first {
			i += out.n
		}
		return i
	}
	memory := p.borrow()
	defer p.giveBack(memory)
	rest := memory.kernel(n)
	p.k.without(rest, out, mu, threads)
	targets, ones := without(p.y, k), without(p.u, 1)
	right := make([]float64, n*(k+1)) // y and u
	for i, u := range ones {
		copy(right[i*(k+1):], targets[i*k:][:k])
		right[i*(k+1)+k] = u
	}
	if pivot, ok := blas.CholeskyTiles(rest.tiles, n, threads); !ok {
		return fit, pivot, false
	}
	blas.CholeskyTilesSolve(rest.tiles, n, right, k+1, threads)
	solved := right           // (K + μI)⁻¹y and (K + μI)⁻¹u
	b := make([]float64, k+1) // u·x of each solution x; uᵀα = 0 then gives b
	for i, u := range ones {
		for c := range b {
			b[c] += float64(u * solved[i*(k+1)+c])
		}
	}
	alphas, rows := make([]float64, p.n*k), make([]float64, k*n) // α, and its transpose without the fold
	for c := range k {
		b[c] /= b[k]
		for i := range n {
			a := solved[i*(k+1)+c] - float64(b[c]*solved[i*(k+1)+k])
			alphas[place(i)*k+c], rows[c*n+i] = a, a
			// The residuals of the rows are μα, and VᵀRV = αᵀKα.
			off := float64(mu * a)
			fit.Train += float64(factors[c] * float64(off*off))
			fit.Squares += float64(factors[c] * float64(a*(targets[i*k+c]-float64(ones[i]*b[c])-off)))
		}
	}
	for i, e := range p.residuals(out, rows, b[:k], memory.strip, threads) {
		fit.HeldOut += float64(factors[i%k] * float64(e*e))
	}
	if v == nil {
		return fit, 0, true
	}
	p.weights(v, alphas, k, threads)
	if !p.plain {
		fit.Squares = 0
		for i, w := range v {
			fit.Squares += float64(factors[i%k] * float64(w*w))
		}
	}
	return fit, 0, true
}

// residuals returns y - Kα - u b for the rows of a fold, where α is k×n, without this fold. across is memory.
func (p *Problem) residuals(out *fold, alpha, b, across []float64, threads int) []float64 {
	k, n := len(b), p.n-out.n
	r := make([]float64, out.n*k)
	for i := range r {
		r[i] = out.y[i] - float64(p.u[out.first+i/k]*b[i%k])
	}
	for from := 0; from < out.n; from += strip {
		upTo := min(from+strip, out.n)
		across := across[:(upTo-from)*n]
		p.k.across(across, out, out.first+from, out.first+upTo, threads)
		blas.SubProduct(r[from*k:upTo*k], across, alpha, upTo-from, k, n, threads)
	}
	return r
}

// borrow returns memory for one call of Solve, for any fold.
func (p *Problem) borrow() *workspace {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.spare) - 1; last >= 0 {
		r := p.spare[last]
		p.spare = p.spare[:last]
		return r
	}
	var rest, across int
	for _, s := range p.folds {
		rest = max(rest, p.n-s.n)
		across = max(across, min(strip, s.n)*(p.n-s.n))
	}
	return &workspace{blas.NewTiles(rest), blas.Make[float64](across)}
}

// giveBack returns the memory of borrow.
func (p *Problem) giveBack(w *workspace) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spare = append(p.spare, w)
}

// kernel returns the memory of a kernel of n rows.
func (w *workspace) kernel(n int) *kernel {
	k := &kernel{n: n}
	for i := 0; i*blas.TileDim < n; i++ {
		for j := range i + 1 {
			k.tiles = append(k.tiles, w.tiles[len(k.tiles)][:blas.TileRows(n, i)*blas.TileRows(n, j)])
		}
	}
	return k
}

// weights stores V = R⁻¹Zᵀα in v.
func (p *Problem) weights(v, alpha []float64, k, threads int) {
	d := len(p.root)
	vt := make([]float64, k*d)
	p.gradient(vt, alpha, d, k, threads)
	for c := range k {
		for j, w := range vt[c*d:][:d] {
			v[j*k+c] = w * p.root[j]
			v[j*k+c] *= p.root[j]
		}
	}
}

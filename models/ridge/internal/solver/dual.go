package solver

import (
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
	rooms []*room // not in use by a call of Solve
}

// room is the memory of a call of Solve.
type room struct {
	tiles [][]float64 // the kernel without a fold, with μ on its diagonal, and its factor
	strip []float64   // rows of the fold against the other rows
}

// strip is the number of rows of the kernel that are computed together.
const strip = 192

// Len returns the number of rows.
func (f *Problem) Len() int { return f.n }

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
func (f *Problem) Plain() bool { return f.plain }

// Solve fits to the rows of all folds except one and stores the weights (D×k) in v, unless v is nil. With a
// nil v, Fit.Squares is set only if the problem is Plain. each has the factors of the squared errors. If
// the matrix is not positive definite to working precision, ok is false and pivot is the index of the
// failure. The result does not depend on threads.
func (f *Problem) Solve(v, each []float64, mu float64, fold, threads int) (fit Fit, pivot int, ok bool) {
	out := f.folds[fold]
	k, end := len(each), out.first+out.n
	n := f.n - out.n
	// without copies the entries that are not of the fold.
	without := func(dst, src []float64, width int) {
		copy(dst, src[:out.first*width])
		copy(dst[out.first*width:], src[end*width:])
	}
	place := func(i int) int { // index, among all rows, of remaining row i
		if i >= out.first {
			i += out.n
		}
		return i
	}
	room := f.takeRoom()
	defer f.giveBack(room)
	rest := room.kernel(n)
	f.k.without(rest, out, mu, threads)
	right, targets, ones := make([]float64, n*(k+1)), make([]float64, n*k), make([]float64, n)
	without(targets, f.y, k)
	without(ones, f.u, 1)
	for i, u := range ones {
		copy(right[i*(k+1):], targets[i*k:][:k])
		right[i*(k+1)+k] = u
	}
	if pivot, ok := blas.CholeskyTiles(rest.tiles, n, threads); !ok {
		return fit, pivot, false
	}
	blas.CholeskyTilesSolve(rest.tiles, n, right, k+1, threads)
	b := make([]float64, k+1) // u·x of each right-hand side x
	for i, u := range ones {
		for c := range b {
			b[c] += float64(u * right[i*(k+1)+c])
		}
	}
	alphas, rows := make([]float64, f.n*k), make([]float64, k*n) // α, and its transpose without the fold
	for c := range k {
		b[c] /= b[k]
		for i := range n {
			a := right[i*(k+1)+c] - float64(b[c]*right[i*(k+1)+k])
			alphas[place(i)*k+c], rows[c*n+i] = a, a
			// The residuals of the rows are μα, and VᵀRV = αᵀKα.
			off := float64(mu * a)
			fit.Train += float64(each[c] * float64(off*off))
			fit.Squares += float64(each[c] * float64(a*(targets[i*k+c]-float64(ones[i]*b[c])-off)))
		}
	}
	errors := make([]float64, out.n*k)
	for i := range out.n {
		for c := range k {
			errors[i*k+c] = out.y[i*k+c] - float64(f.u[out.first+i]*b[c])
		}
	}
	for from := 0; from < out.n; from += strip {
		upTo := min(from+strip, out.n)
		across := room.strip[:(upTo-from)*n]
		f.k.across(across, out, out.first+from, out.first+upTo, threads)
		blas.SubProduct(errors[from*k:upTo*k], across, rows, upTo-from, k, n, threads)
	}
	for i, e := range errors {
		fit.HeldOut += float64(each[i%k] * float64(e*e))
	}
	if v == nil {
		return fit, 0, true
	}
	f.weights(v, alphas, k, threads)
	if !f.plain {
		fit.Squares = 0
		for i, w := range v {
			fit.Squares += float64(each[i%k] * float64(w*w))
		}
	}
	return fit, 0, true
}

// takeRoom returns memory for one call of Solve, for any fold.
func (f *Problem) takeRoom() *room {
	f.mu.Lock()
	defer f.mu.Unlock()
	if last := len(f.rooms) - 1; last >= 0 {
		r := f.rooms[last]
		f.rooms = f.rooms[:last]
		return r
	}
	var rest, across int
	for _, s := range f.folds {
		rest = max(rest, f.n-s.n)
		across = max(across, min(strip, s.n)*(f.n-s.n))
	}
	return &room{blas.NewTiles(rest), blas.Make[float64](across)}
}

// giveBack returns the memory of takeRoom.
func (f *Problem) giveBack(r *room) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rooms = append(f.rooms, r)
}

// kernel returns the memory of a kernel of n rows.
func (r *room) kernel(n int) *kernel {
	k := &kernel{n: n}
	for i := 0; i*blas.TileDim < n; i++ {
		for j := range i + 1 {
			k.tiles = append(k.tiles, r.tiles[len(k.tiles)][:blas.TileRows(n, i)*blas.TileRows(n, j)])
		}
	}
	return k
}

// weights stores V = R⁻¹Zᵀα in v.
func (f *Problem) weights(v, alpha []float64, k, threads int) {
	d := len(f.root)
	vt := make([]float64, k*d)
	f.gradient(vt, alpha, d, k, threads)
	for c := range k {
		for j, w := range vt[c*d:][:d] {
			v[j*k+c] = w * f.root[j]
			v[j*k+c] *= f.root[j]
		}
	}
}

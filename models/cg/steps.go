package cg

import (
	"cmp"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/exact"
)

// setGrid makes the grid of each column from its largest feature.
func (s *state) setGrid(f *partial) error {
	var squares float64
	for j := range s.unit {
		most := float64(f.most[j])
		if !exact.Finite(most) {
			return fmt.Errorf("cg: feature %d is not finite in some row", j)
		}
		_, e := math.Frexp(most * (1 + 1e-6))
		s.unit[j] = math.Ldexp(1, max(e-gridBits, -120))
		squares += float64(most * most)
	}
	s.radius = math.Sqrt(squares) * (1 + 1e-3)
	s.size = float64(f.most[len(s.unit)])
	s.phase = moments
	return nil
}

// setMoments sets μ and r.
func (r *round) setMoments(s *state, f *partial) error {
	k, d, totals := r.Outputs, r.Dim, f.totals(r)
	ones, step := f.sums[k*d:], r.vectors[k].step
	total := float64(float64(totals[k]) * step)
	for j := range d {
		s.mean[j] = float64(float64(float64(ones[j])*step)*s.unit[j]) / total
	}
	for c := range k {
		sum := float64(float64(totals[c]) * r.vectors[c].step)
		s.target[c] = sum / total
		squares := total // for codes ±1
		if r.Regression {
			squares = f.exact[0].Float64()
		}
		s.spread[c] = (squares - float64(sum*s.target[c])) / float64(r.Rows)
		right := s.right[c*d:][:d]
		r.centred(right, s, f, c)
		s.norm[c] = math.Sqrt(blas.Dot64(right, right))
	}
	for q := range r.columns() {
		copy(s.residual[q*d:][:d], s.right[q%k*d:])
	}
	s.phase = direction
	if blas.Dot64(s.x, s.x) > 0 { // given weights, whose residual must be computed
		s.phase = verify
		return nil
	}
	return r.turn(s, s.residual)
}

// centred stores (1/n) Σ (z−μ) t in dst, from the sums Σ zt and Σ t of vector v in units of the grids.
func (r *round) centred(dst []float64, s *state, f *partial, v int) {
	n, step := float64(r.Rows), r.vectors[v].step
	total := float64(float64(f.totals(r)[v]) * step)
	for j := range dst {
		dst[j] = (float64(float64(float64(f.sums[v*r.Dim+j])*step)*s.unit[j]) - float64(s.mean[j]*total)) / n
	}
}

// descend takes a step of conjugate gradients along the directions that the pass has multiplied by A. Directions are
// rounded to float32, so each step is an exact line search, and β is Polak and Ribière's.
func (r *round) descend(s *state, f *partial) error {
	d := r.Dim
	ap := make([]float64, d)
	for i, v := range r.vectors {
		q := v.column
		p, x, res := s.p[q*d:][:d], s.x[q*d:][:d], s.residual[q*d:][:d]
		r.centred(ap, s, f, i)
		blas.Axpy64(r.lambda(q), p, ap)
		alpha := 0.0
		if curvature := blas.Dot64(p, ap); curvature > 0 {
			alpha = blas.Dot64(p, res) / curvature
		}
		blas.Axpy64(alpha, p, x)
		blas.Axpy64(-alpha, ap, res)
		s.found[q] = relative(res, s.norm[q%r.Outputs])
	}
	if r.worst(s) <= 0.5 || s.round >= r.Planned-2 {
		s.phase = verify
		return nil
	}
	return r.turn(s, r.residual)
}

// worst returns the largest residual of a column in units of its tolerance.
func (o *options) worst(s *state) (worst float64) {
	for q, residual := range s.found {
		worst = max(worst, residual/o.tolerance(q))
	}
	return worst
}

// turn sets the next direction of every column: z + βp with z = P⁻¹·residual and β = z·(residual −
// before)/ρ; only z if ρ is 0.
func (r *round) turn(s *state, before []float64) error {
	d, k := r.Dim, r.Outputs
	sample, err := r.sample()
	if err != nil {
		return err
	}
	for i, lambda := range r.Path {
		z := sample.precondition(s.residual[i*k*d:][:k*d], k, d, lambda)
		for c := range k {
			q := i*k + c
			to, p := z[c*d:][:d], s.p[q*d:][:d]
			rho, beta := blas.Dot64(to, s.residual[q*d:][:d]), 0.0
			if s.rho[q] > 0 {
				beta = max(0, (rho-blas.Dot64(to, before[q*d:][:d]))/s.rho[q])
			}
			s.rho[q] = rho
			blas.Axpy64(beta, p, to)
			copy(p, published(to))
		}
	}
	return nil
}

// verified takes the residuals of the published weights, recomputed from the rows. It ends the rounds if
// they are small, if they have hardly fallen since the last verification, or if no rounds are left.
func (r *round) verified(s *state, f *partial) error {
	d := r.Dim
	ax := make([]float64, d)
	for q := range r.vectors {
		x, res := s.x[q*d:][:d], s.residual[q*d:][:d]
		copy(x, published(x))
		r.centred(ax, s, f, q)
		blas.Axpy64(r.lambda(q), x, ax)
		copy(res, s.right[q%r.Outputs*d:])
		blas.Axpy64(-1, ax, res)
		s.found[q] = relative(res, s.norm[q%r.Outputs])
	}
	rows := f.rows(r)[1:]
	for i := range 2 * len(r.Path) {
		tally := s.counts[i*fields:]
		tally[0], tally[1] = float64(rows[2*i]), float64(rows[2*i+1])
		for j := range 3 {
			tally[2+j] = f.exact[1+3*i+j].Float64()
		}
	}
	before, worst := s.last, r.worst(s)
	s.last = worst
	if worst <= 1 || s.round >= r.Planned-2 || before > 0 && worst > before/2 {
		s.phase = done
		return nil
	}
	s.phase = direction
	clear(s.rho)
	return r.turn(s, s.residual)
}

// relative returns ‖v‖/norm; 0 if v is 0, and 1 if only the norm is 0.
func relative(v []float64, norm float64) float64 {
	length := math.Sqrt(blas.Dot64(v, v))
	return length / cmp.Or(norm, length, 1)
}

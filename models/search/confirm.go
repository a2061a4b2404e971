package search

import (
	"context"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
)

// Candidates with widths outside these limits, in median distances, are confirmed with random features. Their kernel
// matrices are nearly the identity or nearly constant, and random features do not approximate the difference.
const (
	narrow = 1. / 3
	wide   = 6.
	// mostDrawn is the largest number of features of a kernel matrix; drawnBlock of them are multiplied at a time.
	mostDrawn  = 4096
	drawnBlock = 512
)

// unusual reports whether a width is outside the limits.
func unusual(width float64) bool { return width < narrow || width > wide }

// confirm returns chosen, or another candidate that does better with as many random features as the model has.
// With few rows, candidates are tried with exact kernels. If the width of chosen is unusual, confirm compares it
// with the best candidate of a usual width and with the default, all with random features and by the rule of
// simplest. The trial of the default is replaced too, so that the two trials of the result are comparable.
func (r *runner) confirm(ctx context.Context, field []*entry, chosen *entry, l *level) (*entry, error) {
	if !l.exact || chosen.judged == nil || !unusual(chosen.Width) {
		return chosen, nil
	}
	drawn := *l
	drawn.drawn, drawn.features = true, min(kernel.Count(r.options.Features), mostDrawn)
	same := func(e *entry) *entry {
		next := *e
		next.start = coarse
		return &next
	}
	standard := same(r.standard)
	all := []*entry{same(chosen), standard}
	usual := slices.IndexFunc(field, func(e *entry) bool {
		return e.judged != nil && !unusual(e.Width) && e != r.standard
	})
	if usual >= 0 {
		all = append(all, same(field[usual]))
	}
	r.spare = nil // memory for other sizes
	if err := r.tryAll(ctx, all, &drawn); err != nil {
		return chosen, err
	}
	order(all)
	if all[0].judged == nil {
		return chosen, nil
	}
	r.standard = standard
	return r.simplest(all), nil
}

// drawMatrix sets the kernel matrix of e to the inner products of the recipe's features of the rows of x.
func (e *entry) drawMatrix(l *level, recipe features.Recipe, x *scaled, s *scratch, threads int) error {
	made, err := recipe.New()
	if err != nil {
		return err
	}
	n := len(l.rows.rows)
	_, out := made.Dims()
	phi := make([]float32, n*out)
	made.Apply(phi, l.rows.of(x.x, x.d), n)
	e.matrix = &kernelMatrix{l.rows, n, grow(&s.all, triangle(n))}
	clear(e.matrix.K)
	block := make([]float32, n*min(out, drawnBlock))
	for lo := 0; lo < out; lo += drawnBlock {
		d := min(drawnBlock, out-lo)
		for i := range n {
			copy(block[i*d:(i+1)*d], phi[i*out+lo:(i+1)*out])
		}
		e.matrix.addProducts(block[:n*d], d, threads)
	}
	return nil
}

// drawnBytes bounds the memory of drawMatrix for n rows, without the matrix itself.
func drawnBytes(n int64) int64 { return n * (4*(mostDrawn+mostHats) + 12*drawnBlock + 8*productRows) }

package ridge

import "github.com/bochner-ml/bochner/internal/blas"

// pick returns the sum of some features, given in ascending order.
func (s *Sum) pick(features []int) *Sum {
	shape := s.shape
	shape.Dim = len(features)
	to := NewSum(shape)
	copy(to.head, s.head)
	w := shape.width()
	for a, j := range features {
		copy(to.cross[a*w:][:w], s.cross[j*w:])
	}
	blas.EachTile(shape.Dim, 1, func(_, t, i, j int) {
		rows, cols := blas.TileRows(shape.Dim, i), blas.TileRows(shape.Dim, j)
		for a := range rows {
			r := features[i*blas.TileDim+a]
			for b := range cols {
				c := features[j*blas.TileDim+b]
				if c > r {
					break
				}
				to.tiles[t][a*cols+b] = s.at(r, c)
			}
		}
	})
	return to
}

// at returns the sum of the products of features r and c, c ≤ r.
func (s *Sum) at(r, c int) float64 {
	i, j := r/blas.TileDim, c/blas.TileDim
	cols := blas.TileRows(s.shape.Dim, j)
	return s.tiles[i*(i+1)/2+j][(r-i*blas.TileDim)*cols+c-j*blas.TileDim]
}

// pick returns the ranges of some features.
func (r Ranges) pick(features []int) (to Ranges) {
	if r.Half == nil {
		return r
	}
	for _, j := range features {
		to.Centre, to.Half = append(to.Centre, r.Centre[j]), append(to.Half, r.Half[j])
	}
	return to
}

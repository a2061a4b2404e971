package ridge

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// GridRows is a set of rows whose features are on a grid of whole numbers.
type GridRows struct {
	Dim      int // features of a row
	Labels   int // per row: the targets on their grid, or 1 for a class
	Weighted bool

	Z []int16 // N×Dim, row-major, in steps of the grid
	Q []int32 // N×Labels
	W []int64 // N weights; nil unless Weighted
}

// N returns the number of rows.
func (s *GridRows) N() int { return len(s.Z) / s.Dim }

// row returns the features of a row.
func (s *GridRows) row(i int) []int16 { return s.Z[i*s.Dim:][:s.Dim] }

// Add adds the rows of z, with their labels and, if the set has them, weights. It panics if the lengths do not fit.
func (s *GridRows) Add(z *features.Grid, labels []int32, weights []int64, threads int) {
	n := z.N()
	if z.D() != s.Dim || len(labels) != n*s.Labels || s.Weighted && len(weights) != n {
		panic("ridge: block, labels and set do not fit")
	}
	from := len(s.Z)
	s.Z = slices.Grow(s.Z, n*s.Dim)[:from+n*s.Dim]
	parallel.Each(n, threads, func(_, i int) { z.Row(s.Z[from+i*s.Dim:][:s.Dim], i) })
	s.Q = append(s.Q, labels...)
	if s.Weighted {
		s.W = append(s.W, weights...)
	}
}

// Drop removes the first n rows.
func (s *GridRows) Drop(n int) {
	s.Z = s.Z[:copy(s.Z, s.Z[n*s.Dim:])]
	s.Q = s.Q[:copy(s.Q, s.Q[n*s.Labels:])]
	if s.Weighted {
		s.W = s.W[:copy(s.W, s.W[n:])]
	}
}

// pick returns the rows with only some of the features.
func (s *GridRows) pick(indices []int) *GridRows {
	to := &GridRows{Dim: len(indices), Labels: s.Labels, Weighted: s.Weighted, Z: make([]int16, s.N()*len(indices)),
		Q: s.Q, W: s.W}
	for i := range s.N() {
		from, row := s.row(i), to.row(i)
		for a, j := range indices {
			row[a] = from[j]
		}
	}
	return to
}

// JoinRows returns the rows of several sets of the same shape, in an order that depends only on the rows.
func JoinRows(sets []*GridRows) *GridRows {
	type ref struct{ set, row int }
	var refs []ref
	for i, s := range sets {
		for r := range s.N() {
			refs = append(refs, ref{i, r})
		}
	}
	slices.SortFunc(refs, func(a, b ref) int {
		s, t := sets[a.set], sets[b.set]
		if c := slices.Compare(s.row(a.row), t.row(b.row)); c != 0 {
			return c
		}
		k := s.Labels
		if c := slices.Compare(s.Q[a.row*k:][:k], t.Q[b.row*k:][:k]); c != 0 || !s.Weighted {
			return c
		}
		return cmp.Compare(s.W[a.row], t.W[b.row])
	})
	to := &GridRows{Dim: sets[0].Dim, Labels: sets[0].Labels, Weighted: sets[0].Weighted}
	to.Z = make([]int16, 0, len(refs)*to.Dim)
	for _, p := range refs {
		s := sets[p.set]
		to.Z, to.Q = append(to.Z, s.row(p.row)...), append(to.Q, s.Q[p.row*s.Labels:][:s.Labels]...)
		if s.Weighted {
			to.W = append(to.W, s.W[p.row])
		}
	}
	return to
}

// An encoded set begins with five numbers of 4 bytes: the rows, the features and the labels of a row, 1 if
// there are weights, and the bytes of a feature. Weights (8 bytes each), labels (4) and features (1 or 2)
// follow, little-endian.
const header = 20

// errDamagedRows is returned for data that is not an encoded set.
var errDamagedRows = errors.New("ridge: encoded rows are damaged")

// Encode returns the encoding of the rows from first up to end.
func (s *GridRows) Encode(first, end int) []byte {
	le := binary.LittleEndian
	z := s.Z[first*s.Dim : end*s.Dim]
	width := 1
	var beyond uint16
	for _, v := range z {
		beyond |= uint16(v) + 128 // at most 255 where a byte holds v
	}
	if beyond > 255 {
		width = 2
	}
	weighted := 0
	if s.Weighted {
		weighted = 1
	}
	out := make([]byte, 0, header+(end-first)*(8+4*s.Labels)+width*len(z))
	for _, v := range []int{end - first, s.Dim, s.Labels, weighted, width} {
		out = le.AppendUint32(out, uint32(v))
	}
	if s.Weighted {
		for _, w := range s.W[first:end] {
			out = le.AppendUint64(out, uint64(w))
		}
	}
	for _, q := range s.Q[first*s.Labels : end*s.Labels] {
		out = le.AppendUint32(out, uint32(q))
	}
	to := out[len(out):][:width*len(z)]
	if width == 1 {
		for i, v := range z {
			to[i] = byte(v)
		}
	} else {
		for i, v := range z {
			le.PutUint16(to[2*i:], uint16(v))
		}
	}
	return out[:len(out)+len(to)]
}

// DecodeRows decodes a set. It fails unless the set has the shape of like.
func DecodeRows(data []byte, like *GridRows) (*GridRows, error) {
	le := binary.LittleEndian
	if len(data) < header {
		return nil, errDamagedRows
	}
	var h [5]uint64
	for i := range h {
		h[i] = uint64(le.Uint32(data[4*i:]))
	}
	data = data[header:]
	n, dim, labels, weighted, width := h[0], h[1], h[2], h[3], h[4]
	if dim != uint64(like.Dim) || labels != uint64(like.Labels) || weighted == 1 != like.Weighted || weighted > 1 ||
		width < 1 || width > 2 {
		return nil, fmt.Errorf("%w: rows of %d features and %d labels, want %d and %d", errDamagedRows, dim, labels,
			like.Dim, like.Labels)
	}
	each := 8*weighted + 4*labels + width*dim // below 2³⁷
	if n > math.MaxInt32 || n*each != uint64(len(data)) || dim == 0 {
		return nil, fmt.Errorf("%w: %d bytes of %d rows of %d", errDamagedRows, len(data), n, each)
	}
	s := &GridRows{Dim: like.Dim, Labels: like.Labels, Weighted: like.Weighted, Z: make([]int16, n*dim),
		Q: make([]int32, n*labels)}
	if s.Weighted {
		s.W = make([]int64, n)
		for i := range s.W {
			s.W[i] = int64(le.Uint64(data[8*i:]))
			if s.W[i] < 0 || s.W[i] > math.MaxUint32 {
				return nil, fmt.Errorf("%w: weight %d of row %d", errDamagedRows, s.W[i], i)
			}
		}
		data = data[8*n:]
	}
	for i := range s.Q {
		s.Q[i] = int32(le.Uint32(data[4*i:]))
	}
	data = data[4*n*labels:]
	if width == 1 {
		for i, v := range data {
			s.Z[i] = int16(int8(v))
		}
		return s, nil
	}
	for i := range s.Z {
		s.Z[i] = int16(le.Uint16(data[2*i:]))
		if s.Z[i] < -features.MaxSteps || s.Z[i] > features.MaxSteps {
			return nil, fmt.Errorf("%w: a feature of %d steps", errDamagedRows, s.Z[i])
		}
	}
	return s, nil
}

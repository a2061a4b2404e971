package ridge

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/features"
)

// An encoded set begins with five numbers of 4 bytes: the rows, the features and the labels of a row, 1 if
// there are weights, and the bytes of a feature. Weights (8 bytes each), labels (4) and features (1 or 2)
// follow, little-endian.
const header = 20

// errDamagedRows is returned for data that is not an encoded set.
var errDamagedRows = errors.New("points: encoded rows are damaged")

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
			if s.W[i] = int64(le.Uint64(data[8*i:])); s.W[i] < 0 || s.W[i] > math.MaxUint32 {
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
		if s.Z[i] = int16(le.Uint16(data[2*i:])); s.Z[i] < -features.MaxSteps || s.Z[i] > features.MaxSteps {
			return nil, fmt.Errorf("%w: a feature of %d steps", errDamagedRows, s.Z[i])
		}
	}
	return s, nil
}

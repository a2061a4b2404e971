package ridge

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/features"
)

// drawRows returns n rows, whose features have up to that many steps.
func drawRows(n, dim, labels int, weighted bool, most int) *GridRows {
	r := rand.New(rand.NewPCG(uint64(n), uint64(dim)))
	s := &GridRows{Dim: dim, Labels: labels, Weighted: weighted}
	for range n {
		for range dim {
			s.Z = append(s.Z, int16(r.IntN(2*most+1)-most))
		}
		for range labels {
			s.Q = append(s.Q, int32(r.IntN(65535)-32767))
		}
		if weighted {
			s.W = append(s.W, r.Int64N(1<<32))
		}
	}
	return s
}

// Rows that are encoded in pieces, or put into a block and added from it, are the same rows, in an order that
// depends on the rows only.
func TestGridRowsRoundTripThroughPieces(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		for _, most := range []int{features.ByteSteps, features.MaxSteps} {
			s := drawRows(37, 21, 2, weighted, most)
			want := JoinRows([]*GridRows{s})
			var pieces []*GridRows
			for _, cut := range [][2]int{{30, 37}, {0, 11}, {11, 11}, {11, 30}} {
				piece, err := DecodeRows(s.Encode(cut[0], cut[1]), s)
				if err != nil {
					t.Fatal(err)
				}
				pieces = append(pieces, piece)
			}
			if diff := cmp.Diff(want, JoinRows(pieces)); diff != "" {
				t.Errorf("weighted %v, %d steps: %s", weighted, most, diff)
			}
			steps := features.ByteSteps
			if most > steps {
				steps = 27720
			}
			shape := Shape{Dim: s.Dim, Outputs: s.Labels, Regression: true, Weighted: weighted}
			many, whole := NewSum(shape), NewSum(shape)
			for _, piece := range pieces {
				for i := range piece.W {
					piece.W[i] %= 64 // for exact sums
				}
			}
			repeated := slices.Repeat(pieces, 30) // more than a block takes
			for _, piece := range repeated {
				many.AddGridRows(steps, 1, piece)
			}
			if whole.AddGridRows(steps, 2, JoinRows(repeated)); !whole.Equal(many) || whole.Rows() != int64(30*s.N()) {
				t.Errorf("weighted %v, %d steps: another sum of %d rows in blocks", weighted, most, whole.Rows())
			}
		}
	}
}

func TestPickKeepsTheChosenColumns(t *testing.T) {
	s := drawRows(3, 9, 1, true, 127)
	p := s.pick([]int{1, 4, 8})
	for i := range s.N() {
		if diff := cmp.Diff([]int16{s.row(i)[1], s.row(i)[4], s.row(i)[8]}, p.row(i)); diff != "" || p.Q[i] != s.Q[i] ||
			p.W[i] != s.W[i] {
			t.Errorf("row %d: %s", i, diff)
		}
	}
}

// Bytes that are not the encoding of rows are rejected before memory for the rows is allocated.
func FuzzDecode(f *testing.F) {
	for _, weighted := range []bool{false, true} {
		f.Add(drawRows(2, 5, 2, weighted, 127).Encode(0, 2), weighted)
		f.Add(drawRows(3, 5, 2, weighted, 9000).Encode(0, 3), weighted)
		f.Add(drawRows(3, 5, 2, weighted, 9000).Encode(0, 3)[1:], weighted)
	}
	f.Add([]byte("\xff\xff\xff\xff\x05\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00"), false)
	f.Fuzz(func(t *testing.T, data []byte, weighted bool) {
		s, err := DecodeRows(data, &GridRows{Dim: 5, Labels: 2, Weighted: weighted})
		if err != nil {
			if !errors.Is(err, errDamagedRows) {
				t.Errorf("%v", err)
			}
			return
		}
		again, err := DecodeRows(s.Encode(0, s.N()), s)
		if err != nil || !cmp.Equal(s, again) {
			t.Errorf("%v after encoding, want %v: %v", again, s, err)
		}
	})
}

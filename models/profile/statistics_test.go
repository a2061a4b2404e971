package profile

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/io/rowio"
)

func TestDecilesMatchTheValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s := New(Options{Sample: 1000})
	var b rowio.Block
	b.Reset(3)
	var normal []float64
	nan := float32(math.NaN())
	for i := range 1000 {
		v := float32(r.NormFloat64())
		normal = append(normal, float64(v))
		missing := float32(i)
		if i%2 == 0 {
			missing = nan
		}
		b.X, b.N = append(b.X, v, missing, 7), b.N+1
	}
	s.AddBlock(&b, rowio.HashBlock(nil, 1, &b))
	got := s.Statistics()
	slices.Sort(normal)
	if len(got.Deciles) != 3 || len(got.Deciles[0]) != 9 {
		t.Fatalf("deciles %v", got.Deciles)
	}
	for q := range 9 {
		// The sample has all rows, so the deciles are exact.
		if want := normal[((q+1)*999+5)/10]; float64(got.Deciles[0][q]) != want {
			t.Errorf("decile %d is %g, want %g", q+1, got.Deciles[0][q], want)
		}
		if got.Deciles[2][q] != 7 {
			t.Errorf("decile %d of a constant is %g", q+1, got.Deciles[2][q])
		}
		if d := got.Deciles[1][q]; math.IsNaN(float64(d)) || int(d)%2 == 0 {
			t.Errorf("decile %d of a column whose even rows are missing is %g", q+1, d)
		}
	}
	if got.Columns[1].Missing != 500 {
		t.Errorf("%d missing", got.Columns[1].Missing)
	}
}

func TestStatisticsCountLevels(t *testing.T) {
	s := NewTable(Options{}, []int{3, 0})
	var b rowio.Block
	b.Reset(2)
	for i := range 10 {
		b.X, b.N = append(b.X, float32(i%3), float32(i)), b.N+1
	}
	s.AddBlock(&b, rowio.HashBlock(nil, 1, &b))
	got := s.Statistics()
	if !slices.Equal(got.Levels[0], []int64{4, 3, 3}) || got.Levels[1] != nil || got.Deciles[0] != nil ||
		len(got.Deciles[1]) != 9 {
		t.Errorf("levels %v, deciles %v", got.Levels, got.Deciles)
	}
}

func TestStatisticsOfVeryLongRowsAreSmall(t *testing.T) {
	for _, c := range []struct {
		dim              int
		columns, deciles bool
	}{{MaxDeciles, true, true}, {MaxDeciles + 1, true, false}, {maxColumns, true, false}, {maxColumns + 1, false,
		false}} {
		s := New(Options{Sample: 2})
		b := rowio.Block{N: 1, D: c.dim, X: make([]float32, c.dim)}
		s.AddBlock(&b, []uint64{1})
		if got := s.Statistics(); (got.Columns != nil) != c.columns || (got.Deciles != nil) != c.deciles {
			t.Errorf("%d columns: columns %v, deciles %v", c.dim, got.Columns != nil, got.Deciles != nil)
		}
	}
}

package prepare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/profile"
)

// typed returns a table with rows of it, some of whose values are missing, and their profile.
func typed(n int) (schema dataset.Schema, x []float32, p profile.Profile, sum *profile.Sum) {
	rng := rand.New(rand.NewPCG(1, 1))
	nan := float32(math.NaN())
	b := &rowio.Block{N: n, D: 4}
	for range n {
		row := []float32{float32(1000 + rng.NormFloat64()), float32(50 * rng.Float64()), float32(rng.IntN(3)),
			float32(rng.IntN(2))}
		for j := 1; j < 4; j++ {
			if rng.IntN(5) == 0 {
				row[j] = nan
			}
		}
		b.X = append(b.X, row...)
	}
	sum = profile.NewTable(profile.Options{}, []int{0, 0, 3, 0})
	sum.AddBlock(b, rowio.HashBlock(nil, 1, b))
	schema = dataset.Schema{Format: "csv"}
	schema.SetTable(table)
	return schema, b.X, sum.Result(), sum
}

var table = &schema.Table{Columns: []schema.Column{
	{Name: "a", Type: schema.Number}, {Name: "b", Type: schema.Number},
	{Name: "c", Type: schema.Category, Levels: []string{"x", "y"}}, {Name: "d", Type: schema.Boolean},
}}

// A chain passes on the statistics of the encoded rows, and scalings do not change the numbers of categories.
func TestChainsPassOnStatisticsOfEncodedColumns(t *testing.T) {
	s, x, p, sum := typed(700)
	n := len(x) / s.Dim
	for _, chain := range []string{"none", "2", "standard", "minmax", "0.5,standard", "minmax,standard", "standard,minmax",
		"auto"} {
		sc, err := chooseScale(strings.Split(chain, ","), encoding{ColumnOptions: preprocess.ColumnOptions{Weight: 0.5}}, 1,
			s, &p, sum)
		if err != nil {
			t.Fatal(err)
		}
		y, err := sc.Apply(x, n)
		if err != nil {
			t.Fatal(err)
		}
		if sc.Dim != 10 || len(y) != n*sc.Dim {
			t.Fatalf("%s: %d numbers", chain, sc.Dim)
		}
		least, largest, err := sc.ranges()
		if err != nil {
			t.Fatal(err)
		}
		unit := float32(0.5)
		if chain == "2" {
			unit /= 2
		} else if chain == "0.5,standard" {
			unit *= 2
		}
		for j := range sc.Dim {
			mean, ss, low, high := 0.0, 0.0, float32(math.Inf(1)), float32(math.Inf(-1))
			for i := range n {
				v := y[i*sc.Dim+j]
				mean += float64(v) / float64(n)
				low, high = min(low, v), max(high, v)
				if j >= 2 && v != 0 && v != unit {
					t.Fatalf("%s: number %d of a category is %v", chain, j, v)
				}
			}
			for i := range n {
				ss += (float64(y[i*sc.Dim+j]) - mean) * (float64(y[i*sc.Dim+j]) - mean)
			}
			near(t, fmt.Sprintf("%s: mean of column %d", chain, j), sc.mean[j], mean, 1e-4)
			near(t, fmt.Sprintf("%s: variance of column %d", chain, j), sc.variance[j], ss/float64(n), 1e-4)
			if low != least[j] || high != largest[j] {
				t.Errorf("%s: column %d is from %v to %v, want %v to %v", chain, j, least[j], largest[j], low, high)
			}
		}
	}
}

// The sample after the chain, from which the width of the kernel follows, has no missing values.
func TestSampleOfATypedTableHasNoNaN(t *testing.T) {
	s, _, p, sum := typed(300)
	sc, err := chooseScale(nil, encoding{}, 1, s, &p, sum)
	if err != nil {
		t.Fatal(err)
	}
	x, n, err := sc.Sample()
	if err != nil || n != 300 || len(x) != n*sc.Dim {
		t.Fatalf("%d rows, %d values, %v", n, len(x), err)
	}
	for _, v := range x {
		if v != v {
			t.Fatal("NaN")
		}
	}
}

package drift

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/profile"
)

// sizes are the changes of the table of the documentation: what is caught in at least 95 of 100
// draws, of one of 20 normal columns, or of a category, in that many rows; 20,000 were trained on.
var sizes = []struct {
	change       string
	counts, sums [2]float64 // in 1,000 and in 10,000 rows; 0 where it is not seen
	format       string
	apply        func(r *rand.Rand, row []float32, size float64) // changes a row, which follows others
}{
	{"a column shifted", [2]float64{0.45, 0.35}, [2]float64{0.25, 0.1}, "%g deviations",
		func(_ *rand.Rand, row []float32, size float64) { row[0] += float32(size) }},
	{"a column multiplied", [2]float64{1.8, 1.6}, [2]float64{2.2, 2}, "by %g",
		func(_ *rand.Rand, row []float32, size float64) { row[0] *= float32(size) }},
	{"values missing", [2]float64{0.12, 0.06}, [2]float64{0.12, 0.06}, "%g of the rows",
		func(r *rand.Rand, row []float32, size float64) {
			if r.Float64() < size {
				row[0] = float32(math.NaN())
			}
		}},
	{"a level renamed", [2]float64{0.18, 0.08}, [2]float64{0.18, 0.08}, "%g of the rows",
		func(r *rand.Rand, row []float32, size float64) {
			if r.Float64() < size {
				row[20] = 4
			}
		}},
	{"rows that occur twice", [2]float64{}, [2]float64{0.15, 0.3}, "%g of the rows", nil},
}

func twenty(r *rand.Rand, n int) *rowio.Block {
	b := &rowio.Block{D: 21}
	for range n {
		for range 20 {
			b.X = append(b.X, float32(r.NormFloat64()))
		}
		b.X = append(b.X, float32(r.IntN(4)))
		b.N++
	}
	return b
}

func ofTwenty(b *rowio.Block) *profile.Sum {
	values := make([]int, 21)
	values[20] = 5
	s := profile.NewTable(profile.Options{}, values)
	s.AddBlock(b, rowio.HashBlock(nil, 1, b))
	return s
}

func TestChangesAreCaughtAtTheSizesOfTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/comparing.md")
	if err != nil {
		t.Fatal(err)
	}
	draws := campaign.Pick(3, 100)
	r := rand.New(rand.NewPCG(9, 9))
	ref := ofTwenty(twenty(r, 20_000)).Statistics()
	for _, c := range sizes {
		for k, n := range []int{1000, 10_000} {
			caught := [2]int{}
			for range draws {
				for i, size := range []float64{c.counts[k], c.sums[k]} {
					b := twenty(r, n)
					for row := range b.N {
						if c.apply != nil {
							c.apply(r, b.Row(row), size)
						} else if row > 0 && float64(row) <= size*float64(n) {
							copy(b.Row(row), b.Row(b.N-row))
						}
					}
					var report *Report
					if i == 0 {
						counts := NewCounts(ref)
						counts.Add(b, 0)
						report = CompareCounts(ref, counts, 0, Names{})
					} else {
						report = CompareSum(ref, ofTwenty(b), 0, Names{})
					}
					if len(report.Columns) > 0 {
						caught[i]++
					}
				}
			}
			t.Logf("%s in %d rows: %v of %d", c.change, n, caught, draws)
			for i := range caught {
				if [2]float64{c.counts[k], c.sums[k]}[i] > 0 && caught[i] < draws*95/100 {
					t.Errorf("%s, %v, in %d rows: caught in %d of %d draws (%d)", c.change, []float64{c.counts[k], c.sums[k]}[i], n,
						caught[i], draws, i)
				}
			}
		}
		line := fmt.Sprintf("| %s |", c.change)
		for _, size := range []float64{c.counts[0], c.counts[1], c.sums[0], c.sums[1]} {
			if size == 0 {
				line += " – |"
				continue
			}
			line += fmt.Sprintf(" "+c.format+" |", size)
		}
		if !strings.Contains(string(page), line) {
			t.Errorf("docs/comparing.md lacks %s", line)
		}
	}
}

package columns

import (
	"math"
	"math/rand/v2"
	"testing"
)

// placed returns rows of two columns, a whole number below 30 and a real number, and codes of their
// labels.
func placed(n int, label func(place int, x float64) float64) (rows []float32, codes [][]float64) {
	r := rand.New(rand.NewPCG(4, 2))
	codes = make([][]float64, 1)
	for range n {
		place, x := r.IntN(30), r.NormFloat64()
		rows = append(rows, float32(place-15)/8, float32(x))
		codes[0] = append(codes[0], label(place, x)+0.1*r.NormFloat64())
	}
	return rows, codes
}

// A linear fit of a line leaves only the noise, and of other functions everything that is not linear.
func TestResidualsMatchLeastSquares(t *testing.T) {
	rows, codes := placed(600, func(place int, x float64) float64 { return 3 + float64(place)/8 - 2*x })
	left, share := residuals(codes, rows, 2, 2)
	if want := 0.01 * 600 / squares(codes[0]); math.Abs(share-want) > 0.2*want || math.Abs(squares(left[0])-6) > 1.2 {
		t.Errorf("share %.5f and squares %.2f of a line with noise, want %.5f and 6", share, squares(left[0]), want)
	}
	// A second output and other threads change nothing.
	again, _ := residuals([][]float64{codes[0], codes[0]}, rows, 2, 1)
	for i, v := range left[0] {
		if again[0][i] != v || again[1][i] != v {
			t.Fatalf("row %d: %g and %g, want %g", i, again[0][i], again[1][i], v)
		}
	}
}

// Labels jump between the values of a column of names. They do not if the column measures something
// or is irrelevant.
func TestJumpsFindNumbersThatName(t *testing.T) {
	for name, c := range map[string]struct {
		label func(place int, x float64) float64
		least float64
		most  float64
	}{
		"names":   {func(place int, x float64) float64 { return float64(place * place * 7 % 13) }, 0.7, 2},
		"a wave":  {func(place int, x float64) float64 { return 2 * math.Sin(float64(place)/5) }, 0, 0.03},
		"nothing": {func(place int, x float64) float64 { return x }, -0.05, 0.05},
	} {
		rows, codes := placed(900, c.label)
		left, _ := residuals(codes, rows, 2, 1)
		column, ok := levelsOf(rows, 2, 0, 256)
		if !ok || len(column.Cuts) != 29 {
			t.Fatalf("%s: %d cuts", name, len(column.Cuts))
		}
		share, sure := jumpShare(left, rows, 2, column)
		if share < c.least || share > c.most || (sure > 5) != (name == "names") && name != "a wave" {
			t.Errorf("%s: share %.3f, want %g to %g, by %.1f standard errors", name, share, c.least, c.most, sure)
		}
		if _, ok := levelsOf(rows, 2, 1, 256); ok {
			t.Errorf("%s: a number of which no two are equal has levels", name)
		}
	}
}

// The limits on levels and on rows per level hold whether or not rows with equal values are
// neighbours.
func TestLevelsAreFewEnough(t *testing.T) {
	for _, c := range []struct {
		rows, values, most int
		ok                 bool
	}{
		{1000, 500, 500, true}, {1000, 501, 600, false}, {5000, 1024, 1024, true}, {5000, 1025, 1024, false},
		{40, 3, 3, true}, {40, 4, 3, false}, {40, 2, 3, false}, {6, 3, 3, true}, {5, 3, 3, false},
	} {
		for _, sorted := range []bool{false, true} {
			var x []float32
			for i := range c.rows {
				v := i % c.values
				if sorted {
					v = i * c.values / c.rows
				}
				x = append(x, float32(v))
			}
			if column, ok := levelsOf(x, 1, 0, c.most); ok != c.ok || ok && len(column.Cuts) != c.values-1 {
				t.Errorf("%+v, sorted %v: %d cuts, %v", c, sorted, len(column.Cuts), ok)
			}
		}
	}
}

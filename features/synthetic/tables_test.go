package synthetic

import (
	"math"
	"strings"
	"testing"
)

func TestTablesMatchTheirFormulas(t *testing.T) {
	for name, f := range map[string]func(x []float64) float64{
		"irrelevant": func(x []float64) float64 { return 2*math.Sin(2*x[0]) + x[1]*x[2] + 2/(1+x[3]*x[3]) },
		"tails": func(x []float64) float64 {
			rank := func(x float64) float64 { return 2/(x*x) - 1 }
			root := func(x float64) float64 { // of z + z⁵ = x, which has one
				low, high := -10., 10.
				for range 60 {
					if z := (low + high) / 2; z+z*z*z*z*z < x {
						low = z
					} else {
						high = z
					}
				}
				return low
			}
			return 3*rank(x[0])*rank(x[1]) + math.Sin(math.Pi*rank(x[2])) + math.Abs(root(x[4])) + root(x[5])*root(x[6])/2
		},
		"rotated": func(x []float64) float64 {
			return math.Sin(2*direction(x, 3)) + direction(x, 5)*direction(x, 7)
		},
		"hidden": func(x []float64) float64 { return math.Sin(9*x[7]) * x[20] },
		"interactions": func(x []float64) float64 {
			class := 0.
			if x[0]*x[1]+x[2]*x[3] > 0 {
				class++
			}
			if x[4]*x[5] > x[6]*x[7] {
				class += 2
			}
			return class
		},
	} {
		s, _ := Find(name)
		for i, line := range csv(t, s, 2000, 1, 0)[1:] {
			x, y := numbers(t, line)
			if want := f(x); math.Abs(want-y) > 2e-5 {
				t.Fatalf("%s: row %d: %g, want %g", name, i, y, want)
			}
		}
	}
}

// The directions of rotated are orthogonal and of length one, and none of them is a column.
func TestDirectionsAreRotated(t *testing.T) {
	for _, k := range []int{3, 5, 7} {
		a := make([]float64, 20)
		for j := range a {
			e := make([]float64, 20)
			e[j] = 1
			if a[j] = direction(e, k); math.Abs(a[j]) > 0.5 {
				t.Errorf("direction %d is nearly column %d", k, j)
			}
		}
		for _, l := range []int{3, 5, 7} {
			want := 0.
			if k == l {
				want = 1
			}
			if got := direction(a, l); math.Abs(got-want) > 1e-12 {
				t.Errorf("directions %d and %d: product %g", k, l, got)
			}
		}
	}
}

// Category values are equally likely, and both classes occur often.
func TestCategoriesHaveTheirLevels(t *testing.T) {
	const n = 20_000
	s, _ := Find("categories")
	counts := map[string]int{}
	for _, line := range csv(t, s, n, 1, s.Noise)[1:] {
		fields := strings.Split(strings.TrimSpace(line), ",")
		for _, level := range append(fields[:5:5], fields[len(fields)-1]) {
			counts[level]++
		}
	}
	if yes := counts["yes"]; yes < n/4 || yes > 3*n/4 || yes+counts["no"] != n {
		t.Errorf("%d of %d rows are of the class yes", yes, n)
	}
	if len(counts) != 3+5+8+12+30+2 {
		t.Errorf("%d levels and classes", len(counts))
	}
	for i, k := range levelCounts {
		p := 1 / float64(k)
		for _, level := range s.levels[i] {
			if got, sd := float64(counts[level]), math.Sqrt(n*p*(1-p)); math.Abs(got-n*p) > 5*sd {
				t.Errorf("level %s has %g rows of %d", level, got, n)
			}
		}
	}
}

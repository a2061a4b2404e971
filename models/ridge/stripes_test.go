package ridge

import (
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/internal/blas"
)

// The parts of all folds are in one stripe each, and a stripe has whole folds as long as there are no
// more stripes than folds.
func TestStripesHaveEveryPartOnce(t *testing.T) {
	for _, shape := range []Shape{{Dim: 20, Outputs: 2}, {Dim: 2 * blas.TileDim, Outputs: 1, Regression: true},
		{Dim: 4000, Outputs: 5000}} {
		parts := shape.NumParts()
		for folds := 1; folds <= 5; folds++ {
			for n := range 14 {
				stripes := CutStripes(shape, folds, n)
				if want := min(max(n, 1), folds*parts); len(stripes) < want || n <= folds && len(stripes) != want {
					t.Fatalf("%d stripes, want %d", len(stripes), n)
				}
				if again := CutStripes(shape, folds, len(stripes)); !slices.Equal(again, stripes) {
					t.Fatalf("%d folds: as many stripes as %d are %d others", folds, n, len(again))
				}
				at := 0
				var bytes int64
				for _, s := range stripes {
					held, own := s.size(shape)
					bytes += own
					if s.First != at || s.End <= s.First || n <= folds && (s.First%parts != 0 || s.End%parts != 0) || held < 1 ||
						n > folds && held != 1 {
						t.Fatalf("%d folds, %d stripes: %v", folds, n, stripes)
					}
					at = s.End
				}
				if at != folds*parts || bytes < int64(folds)*shape.Bytes() || n <= folds && bytes != int64(folds)*shape.Bytes() {
					t.Fatalf("%d folds of %d parts: %v", folds, parts, stripes)
				}
			}
		}
	}
}

// The number of stripes is the smallest with which they fit, and one if they fit with no number.
func TestFewestStripesThatFitAreTaken(t *testing.T) {
	shape := Shape{Dim: 4 * blas.TileDim, Outputs: 2}
	one := shape.Bytes()
	size := func(folds int, bytes int64) int64 { return bytes + int64(folds)*1000 }
	for _, c := range []struct {
		most int64
		want int
	}{{0, 1}, {5*one + 5000, 1}, {5*one + 4999, 2}, {3*one + 3000, 2}, {2*one + 2000, 3}, {2*one + 1999, 5}, {one + 1000,
		5}, {one, 10}, {999, 1}} {
		got, bytes, least := FitStripes(shape, 5, c.most, size)
		if len(got) != c.want || c.want > 1 && bytes > c.most || (least > 0) != (c.most > 0 && bytes > c.most) {
			t.Errorf("%d stripes of %d bytes fit in %d, want %d; the least is %d", len(got), bytes, c.most, c.want, least)
		}
		if least > 0 {
			if got, bytes, again := FitStripes(shape, 5, least, size); bytes != least || len(got) < 2 || again != 0 {
				t.Errorf("%d stripes of %d bytes fit in the least, %d", len(got), bytes, least)
			}
			if _, _, again := FitStripes(shape, 5, least-1, size); again != least {
				t.Errorf("the least is %d, with one byte less %d", least, again)
			}
		}
	}
}

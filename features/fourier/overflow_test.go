package fourier

import (
	"math"
	"testing"

	"github.com/bochner-ml/bochner/features"
)

// Features that are NaN in float32 are counted on both grids, not silently stored as 0.
func TestAnglesBeyondFloat32AreCounted(t *testing.T) {
	const in, out, n = 3, 40, 5
	huge := float32(math.Inf(1))
	for _, form := range []Form{Paired, Offset} {
		r := Gaussian{In: in, Out: out, Width: 1e-6, Form: form, Seed: 1}
		m, err := r.New()
		if err != nil {
			t.Fatal(err)
		}
		for name, odd := range map[string]float32{"none": 1, "large": 1e20, "too large": 3e38, "infinite": huge,
			"NaN": float32(math.NaN())} {
			x := make([]float32, n*in)
			x[2*in+1] = odd
			z := make([]float32, n*out)
			m.Apply(z, x, n)
			want := int64(0)
			for _, v := range z {
				if v != v {
					want++
				}
			}
			for _, most := range []int{127, 27_720} {
				if got := m.(features.Gridded).Quantize(features.NewGrid(out, most), x, n, 1); got != want {
					t.Errorf("form %v, %s, %d steps: %d features counted, %d are NaN", form, name, most, got, want)
				}
			}
			if overflows := want > 0; overflows != (name != "none" && name != "large") {
				t.Errorf("%s: %d NaN: the test shows nothing", name, want)
			}
		}
	}
}

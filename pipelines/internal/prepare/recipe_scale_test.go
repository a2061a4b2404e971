package prepare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	_ "github.com/bochner-ml/bochner/io/formats"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// profileOf returns the profile of n rows of random columns: one far from zero,
// one constant, one mostly zero.
func profileOf(n int) (x []float32, d int, p *profile.Profile) {
	const dim = 4
	rng := rand.New(rand.NewPCG(3, 3))
	b := &rowio.Block{N: n, D: dim}
	for range n {
		sparse := float32(0)
		if rng.IntN(10) == 0 {
			sparse = rng.Float32() * 5
		}
		b.X = append(b.X, float32(rng.NormFloat64()*3), float32(1000+rng.NormFloat64()), 7, sparse)
	}
	s := profile.New(profile.Options{})
	s.AddBlock(b, rowio.HashBlock(nil, 1, b))
	r := s.Result()
	return b.X, dim, &r
}

// A chain passes on the statistics of the rows that it makes.
func TestChainsPassOnStatistics(t *testing.T) {
	for _, chain := range []string{"none", "2", "standard", "minmax", "0.5,standard", "standard,3", "minmax,standard",
		"standard,minmax", "255,minmax,4"} {
		x, d, p := profileOf(700)
		schema := dataset.Schema{Format: "csv", Dim: d}
		sc, err := chooseScale(strings.Split(chain, ","), encoding{}, 1, schema, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := len(x) / d
		if x, err = sc.Apply(x, n); err != nil {
			t.Fatal(err)
		}
		var sum, squares float64
		for j := range d {
			mean, ss, low, high := 0.0, 0.0, math.Inf(1), math.Inf(-1)
			for i := range n {
				v := float64(x[i*d+j])
				mean += v / float64(n)
				low, high = min(low, v), max(high, v)
				sum, squares = sum+v, squares+v*v
			}
			for i := range n {
				ss += (float64(x[i*d+j]) - mean) * (float64(x[i*d+j]) - mean)
			}
			near(t, fmt.Sprintf("%s: mean of column %d", chain, j), sc.mean[j], mean, 1e-4)
			near(t, fmt.Sprintf("%s: variance of column %d", chain, j), sc.variance[j], ss/float64(n), 1e-4)
			near(t, fmt.Sprintf("%s: low of column %d", chain, j), sc.low[j], low, 1e-4)
			near(t, fmt.Sprintf("%s: high of column %d", chain, j), sc.high[j], high, 1e-4)
		}
		all := float64(n * d)
		near(t, chain+": variance of all", sc.varianceAll(), squares/all-sum/all*sum/all, 1e-3)
	}
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if math.Abs(got-want) > tol*max(1, math.Abs(want)) {
		t.Errorf("%s: %.9g, want %.9g", what, got, want)
	}
}

func TestAutoScalesByTheFormat(t *testing.T) {
	_, d, p := profileOf(50)
	for format, want := range map[string]string{
		"csv": "standard", "tsv": "standard", "libsvm": "none", "idx": "255", "cifar10": "255", "cifar100": "255",
	} {
		schema := dataset.Schema{Format: format, Dim: d}
		explicit, err := chooseScale([]string{want}, encoding{}, 1, schema, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, chain := range [][]string{nil, {"auto"}} {
			got, err := chooseScale(chain, encoding{}, 1, schema, p, nil)
			if err != nil || fmt.Sprint(got.Steps) != fmt.Sprint(explicit.Steps) {
				t.Errorf("%s: %v, want %v (%v)", format, got.Steps, explicit.Steps, err)
			}
		}
	}
}

func TestScaleRejectsInvalidFlags(t *testing.T) {
	for _, chain := range []string{"x", "", "0", "-1", "NaN", "Inf", "1e300", "standard,auto", "none,2", "standard,,2",
		"patches:5:3", "patches:5:0:7", "patches", "patch:5:3:7", "unitpixels:2"} {
		jobtest.WantError(t, chain, checkScale(strings.Split(chain, ",")), exit.CodeUsage, "--scale")
	}
	_, d, p := profileOf(50)
	for _, chain := range []string{"unit,standard", "unit,2,minmax"} {
		_, err := chooseScale(strings.Split(chain, ","), encoding{}, 1, dataset.Schema{Format: "csv", Dim: d}, p, nil)
		jobtest.WantError(t, chain, err, exit.CodeUsage, "before unit")
	}
	if sc, err := chooseScale([]string{"standard", "unit"}, encoding{}, 1, dataset.Schema{Format: "csv", Dim: d}, p,
		nil); err != nil || sc.known {
		t.Errorf("standard,unit: %v", err)
	}
}

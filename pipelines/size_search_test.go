package pipelines

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// A size is chosen for all features that a search adds to a kernel. Sizes that leave no features for the kernel
// are not tried.
func TestSizeIsChosenForFoundFeatures(t *testing.T) {
	campaign.Long(t)
	waves := func(x []float64) (y float64) { // of single columns
		for _, v := range x {
			y += math.Abs(math.Mod(4*v, 2) - 1)
		}
		return y
	}
	bumps := func(x []float64) float64 { return 2*math.Sin(15*x[0])*math.Cos(15*x[1]) + x[2]*x[3] + x[4] }
	sizes := map[string]options.Size{"worth": {MinGain: 0.5}, "time": {Time: 24 * time.Hour}}
	for name, c := range map[string]struct {
		columns, first int
		of             func(x []float64) float64
		found          string
		short          string // of the sizes, if not all are tried
	}{
		"hats": {20, 1024, waves, "piecewise-linear columns", "worth"},
		"pair": {5, 512, bumps, "two columns at width", "time"},
	} {
		random := rand.New(rand.NewPCG(7, 7))
		var b strings.Builder
		for j := range c.columns {
			fmt.Fprintf(&b, "x%d,", j)
		}
		b.WriteString("y\n")
		for range 1000 {
			x := make([]float64, c.columns)
			for j := range x {
				x[j] = random.Float64()
				fmt.Fprintf(&b, "%.5f,", x[j])
			}
			fmt.Fprintf(&b, "%.5f\n", c.of(x)+0.1*random.NormFloat64())
		}
		dir := t.TempDir()
		data := dataset.Options{Files: []string{jobtest.Write(t, dir, "data.csv", b.String())}, Label: "y"}
		for size, o := range sizes {
			if size != c.short && !campaign.Whole() {
				continue
			}
			train := options.Train{Model: filepath.Join(dir, size), Search: options.SearchAuto, Size: o}
			train.Data, train.Seed = data, 1
			train.Kernel = &fourier.GaussianOptions{Features: 2048}
			train.Kernels = []kernel.Options{train.Kernel}
			r, err := Train(jobtest.Ctx, train)
			if err != nil {
				t.Errorf("%s, %s: %v", name, size, err)
				continue
			}
			if r.Search == nil || !strings.Contains(r.Search.Chosen.Features, c.found) {
				t.Fatalf("%s, %s: the search found %+v", name, size, r.Search)
			}
			if first := r.Size.Trials[0].Features; first != c.first {
				t.Errorf("%s, %s: sizes begin with %d features, want %d: %+v", name, size, first, c.first, r.Size)
			}
			if _, err := Evaluate(jobtest.Ctx, options.Evaluate{Model: r.Model, Data: data}); err != nil {
				t.Errorf("%s, %s: %v", name, size, err)
			}
		}
	}
}

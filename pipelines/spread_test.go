package pipelines

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/dataset"
)

// One target far from all others does not change what learners in rounds make of the
// others: ε and λ are in units of the spread, which it does not stretch.
func TestOneOutlierDoesNotSetTheUnitsOfARegression(t *testing.T) {
	lines := func(outlier bool) string {
		r := rand.New(rand.NewPCG(5, 6))
		var b strings.Builder
		b.WriteString("a,b,y\n")
		for i := range 600 {
			x, z := r.NormFloat64(), r.NormFloat64()
			y := math.Sin(x) + 0.5*z + 0.1*r.NormFloat64()
			if outlier && i == 17 {
				y = 1000
			}
			fmt.Fprintf(&b, "%g,%g,%g\n", x, z, y)
		}
		return b.String()
	}
	dir := t.TempDir()
	clean := dataset.Options{Data: []string{write(t, dir, "clean.csv", lines(false))}, Label: "y"}
	for _, loss := range []string{"epsilon_insensitive", "huber"} {
		for _, learner := range []string{"svm", "sgd"} {
			o := TrainOptions{MapOptions: MapOptions{Kernel: KernelOptions{Features: 128}, Seed: 1}, Lambda: LambdaOptions{Path: []float64{1e-4}}}
			o.Data = dataset.Options{Data: []string{write(t, dir, "data.csv", lines(true))}, Label: "y"}
			o.Model = filepath.Join(dir, loss+learner)
			o.Learner = LearnerOptions{Name: learner, Loss: loss, Bias: 1, Rounds: RoundOptions{Rounds: 30}}
			if _, err := Train(ctx, o); err != nil {
				t.Fatal(err)
			}
			score, err := Evaluate(ctx, EvaluateOptions{Model: o.Model, Data: clean})
			if err != nil {
				t.Fatal(err)
			}
			if r2 := score.Targets.R2; !(r2 > 0.9) {
				t.Errorf("%s, %s: R² %.3f on the rows without the outlier", learner, loss, r2)
			}
		}
	}
}

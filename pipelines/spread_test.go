package pipelines

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/ridge"
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

func TestTheSpreadIsThatOfTheQuartiles(t *testing.T) {
	span := ridge.TargetGrid{Low: 0, High: 2000}
	scaled := []float32{1}
	for i := range 1000 {
		scaled = append(scaled, float32(i)/1000*0.01-1) // targets 0 to 10, but for one of 2,000
	}
	if g := spreadGrid(scaled, span); math.Abs(g.Mid()-5) > 0.05 || math.Abs(g.Half()-5/normalQuartiles) > 0.05 {
		t.Errorf("middle %g, half %g", g.Mid(), g.Half())
	}
	// More than half of the targets are equal; then all but one in a thousand.
	for i := range 700 {
		scaled[1+i] = -1
	}
	if g := spreadGrid(scaled, span); g.Mid() != 0 || !(g.Half() > 0.5 && g.Half() < 10) {
		t.Errorf("of many equal targets: middle %g, half %g", g.Mid(), g.Half())
	}
	for i := range 1000 {
		scaled[1+i] = -1
	}
	if g := spreadGrid(scaled, span); *g != span {
		t.Errorf("of targets that are all equal but one: %+v", g)
	}
}

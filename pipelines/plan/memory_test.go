package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// The planned size of stored sums is for the number of readers that the plan itself advises.
func TestPlannedSumsAreForThePlannedReaders(t *testing.T) {
	p := aPlan(1e9, 100, 4096, 0.5, 0.3)
	if c := p.cluster(engine.Engine{Runner: engine.Dataflow}); c.Readers*c.AlgebraThreads <= 64 {
		t.Fatalf("%+v", c)
	}
	name := jobtest.Write(t, t.TempDir(), "d.csv", strings.Join(jobtest.Made(t, "moons", 500, 1), ""))
	o := options.Train{}
	o.Data.Files, o.Data.Label = []string{name}, "y"
	o.Job.ShardBytes, o.Job.Engine.Runner, o.Job.Engine.Readers = 1000, engine.Dataflow, 3
	// Few rows are stored instead of sums: each once, for any number of readers.
	if p := plan(t, o); p.CarriedBytes != 500*(2*4096+16) || p.Stored != 3*p.CarriedBytes ||
		!strings.Contains(jobtest.Text(t, p), "rows      12.3 MB at most in files") {
		t.Errorf("%+v\n%s", p, jobtest.Text(t, p))
	}
	o.Kernel = &fourier.GaussianOptions{Features: 256}
	three := plan(t, o)
	o.Job.Engine.Readers = 6
	if six := plan(t, o); three.Cluster.Readers != 3 || six.Cluster.Readers != 6 || six.Stored != 2*three.Stored ||
		three.Stored == 0 {
		t.Errorf("%+v\n%+v", three, six)
	}
	o.Job.Engine.Readers = 0
	if free := plan(t, o); free.Stored != int64(free.Cluster.Readers)*three.Stored/3 {
		t.Errorf("%d readers: %d bytes, of three %d", free.Cluster.Readers, free.Stored, three.Stored)
	}
}

// A search makes no levels of columns whose values hardly repeat, and the plan has no memory for them.
func TestPlansHaveNoLevelsOfMeasurements(t *testing.T) {
	peak := func(unit float64) int64 {
		random := rand.New(rand.NewPCG(1, 2))
		var b strings.Builder
		fmt.Fprintln(&b, "y,"+strings.Join(slices.Repeat([]string{"x"}, 40), ","))
		for range 4000 {
			fmt.Fprint(&b, random.IntN(2))
			for range 40 {
				fmt.Fprintf(&b, ",%.6g", math.Round(random.NormFloat64()/unit)*unit)
			}
			fmt.Fprintln(&b)
		}
		o := options.Train{}
		o.Search, o.Data.Label = options.SearchAuto, "y"
		o.Data.Files = []string{jobtest.Write(t, t.TempDir(), "d.csv", b.String())}
		o.Kernel = &fourier.GaussianOptions{Features: 256}
		return plan(t, o).PeakBytes
	}
	if measured, repeated := peak(1e-6), peak(0.5); measured > repeated-30<<20 {
		t.Errorf("%d bytes with values that repeat, %d without", repeated, measured)
	}
}

// A plan reads columns and classes, and reports if it cannot read all of the data.
func TestPlansReadTheDataWherePossible(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 300 {
		lines.WriteString("c")
		lines.WriteString(strings.Repeat("x", i%150))
		lines.WriteString(" 1:1 4000:2\n")
	}
	o := options.Train{}
	o.Data.Files = []string{jobtest.Write(t, dir, "d.svm", lines.String())}
	p := plan(t, o)
	if p.Columns != 4000 || p.Outputs != 150 || !p.Whole || p.Seen != 300 {
		t.Errorf("%+v", p)
	}
	if got := jobtest.Text(t, p); !strings.Contains(got, "300, of 4000 numbers, 150 classes") ||
		strings.Contains(got, "previewed") || !strings.Contains(got, "at most ") {
		t.Error(got)
	}
	p.Whole = false
	if got := jobtest.Text(t, p); !strings.Contains(got, "of which 300 were previewed") {
		t.Error(got)
	}
}

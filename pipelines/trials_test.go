package pipelines

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/sgd"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// trials returns options of a path of a learner, on moons.
func trials(t *testing.T) options.Train {
	o := fixed(3)
	o.Data = dataset.Options{Files: []string{jobtest.Write(t, t.TempDir(), "data.csv",
		strings.Join(jobtest.Made(t, "moons", 500, 1), ""))}, Label: "y"}
	o.Model = filepath.Join(t.TempDir(), "model")
	return o
}

// With --patience each of several λ has the trial that it would have without the others: the weights of the
// previous λ are no start that ends it at once.
func TestEachLambdaHasItsOwnTrial(t *testing.T) {
	path := []float64{1e-1, 1e-3, 1e-5}
	for _, name := range []string{"sgd", "svm"} {
		o := trials(t)
		o.Learner, o.Lambda.Path = jobtest.Iterative(name, func(s *iterative.Shared) { s.Rounds, s.Patience = 12, 3 }), path
		all, err := trainPlain(jobtest.Ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range path {
			o.Lambda.Path, o.Model = []float64{l}, filepath.Join(t.TempDir(), "alone")
			alone, err := trainPlain(jobtest.Ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			got, want := all.Log.Path[i], alone.Log
			if got.Lambda != l || got.Rounds != want.Rounds || got.HeldOutErrors != want.HeldOutErrors ||
				got.HeldOutLoss != want.HeldOutLoss {
				t.Errorf("%s: of several %+v, alone %d rounds, %d errors, loss %g", name, got, want.Rounds, want.HeldOutErrors,
					want.HeldOutLoss)
			}
			if got.Rounds == 0 {
				t.Errorf("%s, lambda %g: no round was taken", name, l)
			}
			if of := min(got.Rounds+4, 13); got.HeldOutOf != of || want.HeldOutOf != of {
				t.Errorf("%s, lambda %g: the least of %d and %d rounds, want %d", name, l, got.HeldOutOf, want.HeldOutOf, of)
			}
		}
	}
}

// The report states that the error with patience is the smallest of the rounds, which is better on the rows
// that chose it than on others.
func TestPatienceReportsTheSmallestErrorAsSuch(t *testing.T) {
	const caveat = "%d rounds on these rows, so the error on new rows may be larger"
	for perJob := range 3 {
		for patience := range 3 {
			for i, path := range [][]float64{{1e-3}, {1e-1, 1e-3}} {
				if !campaign.Whole() && (perJob+patience)%2 != i { // each pair of the three is there
					continue
				}
				o := trials(t)
				o.Learner, o.Lambda.Path = jobtest.Iterative("sgd",
					func(s *iterative.Shared) { s.Rounds, s.Patience, s.PerJob = 12, 2*patience, 4*perJob }), path
				o.Lambda.Folds = 5
				r, err := trainPlain(jobtest.Ctx, o)
				if err != nil {
					t.Fatal(err)
				}
				of, text := r.Log.HeldOutOf, jobtest.Text(t, r)
				for _, one := range r.Log.Path {
					of = max(of, one.HeldOutOf)
				}
				if said := strings.Contains(text, fmt.Sprintf(caveat, of-1)); said != (patience > 0) || (of > 0) != said {
					t.Errorf("patience %d, %d values of lambda: of %d rounds in\n%s", 2*patience, len(path), of, text)
				}
			}
		}
	}
}

// --max_time limits the total of all λ and the fit to all rows. A λ without time is left out and
// named, and without time for the fit the trial's weights are used.
func TestTimeLimitIsATotal(t *testing.T) {
	o := trials(t)
	o.Learner, o.Lambda.Path = &sgd.LearnerOptions{Shared: iterative.Shared{Stop: iterative.Stop{Rounds: 1000,
		Time: time.Nanosecond}}}, []float64{1e-2, 1e-3, 1e-4}
	r, err := trainPlain(jobtest.Ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Log; len(c.Path) != 1 || c.Path[0].Lambda != 1e-2 || c.Rounds != 1 || c.HeldOutRows == 0 ||
		c.Rows+c.HeldOutRows != 500 {
		t.Errorf("%+v", c)
	}
	notes := strings.Join(r.Notes, "\n")
	for _, want := range []string{"time limit 1ns reached: lambda 0.001, 0.0001 not tried",
		"the weights are from the trial", "not converged"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note says %q:\n%s", want, notes)
		}
	}
}

package pipelines

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/internal/testing/realdata"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// searchOptions are the options of a training that searches; with few features, so that it is quick.
func searchOptions() options.Train {
	return options.Train{Search: "auto", Kernels: []kernel.Options{
		&fourier.GaussianOptions{Features: 512}, &fourier.LaplaceOptions{Features: 512}, &fourier.MaternOptions{Features: 512,
			Nu: 1.5},
	}}
}

// honestTables returns tables by name: a function of a seed, to rows to train on and rows to test on,
// the header first.
func honestTables(t *testing.T) map[string]func(seed uint64) (train, test []string) {
	t.Helper()
	tables := map[string]func(uint64) (train, test []string){}
	for _, name := range []string{"friedman", "tails", "interactions", "categories"} {
		tables[name] = func(seed uint64) (train, test []string) {
			return jobtest.Made(t, name, honestRows, seed), jobtest.Made(t, name, 4000, 1000+seed)
		}
	}
	if os.Getenv(realdata.Variable) == "" {
		return tables
	}
	houses := strings.SplitAfter(strings.ReplaceAll(string(realdata.Read(t, "csv", "houses.tsv.gz")), "target", "y"), "\n")
	tables["houses"] = func(seed uint64) (train, test []string) {
		header, rows := houses[0], append([]string(nil), houses[1:len(houses)-1]...)
		rand.New(rand.NewPCG(seed, 3)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		return append([]string{header}, rows[:honestRows]...), append([]string{header}, rows[honestRows:honestRows+4000]...)
	}
	return tables
}

const honestRows = 500

// honestFigures returns the held-out error that a training publishes and that on the test rows: shares
// of wrong classes, or mean squared errors as shares of the variance of the test rows.
func honestFigures(t *testing.T, train, test []string, o options.Train) (held, pilot, got float64, r *results.Train) {
	t.Helper()
	r, _ = trainedModel(t, train, o)
	score, err := Evaluate(jobtest.Ctx, options.Evaluate{
		Model: r.Model, Data: dataset.Options{Files: []string{jobtest.Write(t, t.TempDir(), "test.csv",
			strings.Join(test, ""))}, Label: "y"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Path {
		if row.Lambda != r.Lambda {
			continue
		}
		if row.HeldOutRows == 0 {
			t.Fatal("no row held out was scored")
		}
		if score.Classes != nil {
			held, got = float64(row.HeldOutErrors)/float64(row.HeldOutRows), score.Classes.Error
			if r.Search != nil {
				pilot = r.Search.Chosen.Error
			}
		} else {
			variance := score.Targets.RMSE * score.Targets.RMSE / (1 - *score.Targets.R2)
			held, got = row.HeldOutMSE/variance, 1-*score.Targets.R2
			if r.Search != nil {
				pilot = r.Search.Chosen.Loss
			}
		}
	}
	return held, pilot, got, r
}

// After a search the held-out error matches the model's error on other rows: over seeds the mean difference is
// less than the standard deviation of one difference. The search does not use the rows of the first fold, and
// only λ is chosen by them.
func TestHeldOutErrorOfASearchMatchesOtherRows(t *testing.T) {
	if os.Getenv("BOCHNER_HONEST") == "" {
		t.Skip("takes minutes: BOCHNER_HONEST=1 (make test-honest)")
	}
	const seeds = 20
	for name, table := range honestTables(t) {
		t.Run(name, func(t *testing.T) {
			var held, pilot gaps
			for seed := range uint64(seeds) {
				train, test := table(seed + 1)
				o := searchOptions()
				o.Seed = seed + 1
				h, p, e, r := honestFigures(t, train, test, o)
				if r.Search == nil || r.Search.Tried < 2 {
					t.Fatal("nothing was searched")
				}
				held.add(h, e)
				if p > 0 {
					pilot.add(p, e)
				}
			}
			t.Logf("test error %.4f; held-out error %s; of the chosen candidate in the pilot %s", held.sum/held.n, &held, &pilot)
			if bias, sd := held.bias(); math.Abs(bias) > sd {
				t.Errorf("the held-out error is off by %.4f in the mean over %d seeds; one differs by %.4f", bias, seeds, sd)
			}
		})
	}
}

// gaps are the differences of an error from the test error of the same model.
type gaps struct{ n, sum, d, squares float64 }

func (d *gaps) add(v, test float64) {
	d.n++
	d.sum += test
	d.d += v - test
	d.squares += (v - test) * (v - test)
}

// bias returns the mean and the standard deviation.
func (d *gaps) bias() (mean, sd float64) {
	mean = d.d / d.n
	return mean, math.Sqrt(max(0, d.squares/d.n-mean*mean) * d.n / (d.n - 1))
}

func (d *gaps) String() string {
	mean, sd := d.bias()
	return fmt.Sprintf("%+.4f ± %.4f (%+.2f standard deviations of one difference)", mean, sd/math.Sqrt(d.n), mean/sd)
}

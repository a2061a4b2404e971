package pipelines

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// stores writes rows of so many stores, from few rows to many, that have a curve in common and one of their own, and
// returns noiseless rows of each to predict.
func stores(t *testing.T, dir string, seed uint64, n, fewest, most int) (fresh []models.Column, truth []float64) {
	r := rand.New(rand.NewPCG(seed, 1))
	text, names, x := "store,x,y\n", []string{}, []float64{}
	for s := range n {
		slope, height, shift := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
		curve := func(x float64) float64 { return 2*math.Sin(2*x) + 0.5*slope*x + 0.5*height*math.Cos(x+shift) }
		rows := int(float64(fewest) * math.Pow(float64(most)/float64(fewest), float64(s)/float64(n-1)))
		for range rows {
			x := 8*r.Float64() - 4
			text += fmt.Sprintf("s%02d,%.5f,%.5f\n", s, x, curve(x)+r.NormFloat64())
		}
		for range 20 {
			v := 8*r.Float64() - 4
			names, x, truth = append(names, fmt.Sprintf("s%02d", s)), append(x, v), append(truth, curve(v))
		}
	}
	jobtest.Write(t, dir, "rows.csv", text)
	return []models.Column{{Name: "store", Texts: names}, {Name: "x", Values: x}}, truth
}

// errorOf returns the mean squared error of a model on rows whose targets are known.
func errorOf(t *testing.T, dir string, rows []models.Column, truth []float64) (mse float64, each []float64) {
	t.Helper()
	m, err := models.LoadURI(jobtest.Ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float64, len(truth))
	if err := m.PredictNamed(got, rows...); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		each = append(each, (v-truth[i])*(v-truth[i]))
		mse += each[i] / float64(len(truth))
	}
	return mse, each
}

// On rows of stores with 30 to 3,000 rows each, shrunk weights have less error on average than the weights of
// all rows, and than each store's own weights with a λ that its own folds chose.
func TestShrunkSegmentWeightsBeatPooledAndSeparate(t *testing.T) {
	campaign.Long(t)
	seeds, n, most := 2, 12, 800
	if os.Getenv("BOCHNER_LONG") != "" {
		seeds, n, most = 20, 50, 3000
	}
	var toAll, toOwn []float64
	for seed := range uint64(seeds) {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		rows, truth := stores(t, dir, seed, n, 30, most)
		data := dataset.Options{Files: []string{at("rows.csv")}, Label: "y"}
		o := options.Train{Model: at("recipe"), Prepare: options.Prepare{Data: data, Seed: 1,
			Kernel: &fourier.GaussianOptions{Features: 96}}}
		o.Encode.Encode = preprocess.TargetEncoding
		_, err := trainPlain(jobtest.Ctx, o)
		if err == nil {
			_, err = Sum(jobtest.Ctx, options.Sum{Recipe: at("recipe"), Data: data, By: []string{"store"}, Out: at("sums")})
		}
		if err == nil {
			_, err = Fit(jobtest.Ctx, options.Fit{SumDirs: options.SumDirs{Sums: []string{at("sums")}}, Model: at("each"), Each: "store"})
		}
		if err != nil {
			t.Fatal(err)
		}
		shrunk, _ := errorOf(t, at("each"), rows, truth)
		all, _ := errorOf(t, at("recipe"), rows, truth)
		own := 0.0
		for s := range n {
			model := at(fmt.Sprintf("own-%d", s))
			if _, err = Fit(jobtest.Ctx, options.Fit{SumDirs: options.SumDirs{Sums: []string{at("sums")},
				Where: fmt.Sprintf("store=s%02d", s)}, Model: model}); err != nil {
				t.Fatal(err)
			}
			_, errors := errorOf(t, model, rows, truth)
			for _, e := range errors[20*s : 20*s+20] {
				own += e / float64(len(truth))
			}
		}
		t.Logf("seed %d: mean squared error %.4f shrunk, %.4f of all rows, %.4f of each store", seed, shrunk, all, own)
		toAll, toOwn = append(toAll, all-shrunk), append(toOwn, own-shrunk)
	}
	for what, v := range map[string][]float64{"all rows": toAll, "each store": toOwn} {
		mean, std := meanAndError(v)
		t.Logf("less than the error of %s by %.4f ± %.4f", what, mean, std)
		if mean <= 0 {
			t.Errorf("more error than of %s", what)
		}
	}
}

// meanAndError returns the mean and its standard error.
func meanAndError(v []float64) (mean, std float64) {
	n := float64(len(v))
	for _, x := range v {
		mean += x / n
	}
	for _, x := range v {
		std += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(std / max(1, n-1) / n)
}

// Sums that are not by the segment column, a column that rows lack, and jobs that would use the weights of all
// rows are rejected.
func TestInvalidSegmentJobsAreRejected(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	stores(t, dir, 1, 3, 40, 60)
	data := dataset.Options{Files: []string{at("rows.csv")}, Label: "y"}
	o := options.Train{Model: at("recipe"), Prepare: options.Prepare{Data: data, Seed: 1,
		Kernel: &fourier.GaussianOptions{Features: 12}}}
	_, err := trainPlain(jobtest.Ctx, o)
	for out, by := range map[string][]string{"by": {"store"}, "plain": nil} {
		if err == nil {
			_, err = Sum(jobtest.Ctx, options.Sum{Recipe: at("recipe"), Data: data, By: by, Out: at(out)})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct {
		sums, each string
		calibrate  options.Calibration
		want       string
	}{
		{"plain", "store", "", "is not by that column"},
		{"by", "shop", "", "no input column of that name"},
		{"by", "x", "", "is not by that column"},
		{"by", "store", "platt", "--each cannot be used with --calibrate"},
	} {
		_, err := Fit(jobtest.Ctx, options.Fit{SumDirs: options.SumDirs{Sums: []string{at(bad.sums)}}, Model: at("m"), Each: bad.each,
			Calibrate: bad.calibrate})
		if err == nil || !strings.Contains(err.Error(), bad.want) || exit.CodeOf(err) == exit.CodeFailed {
			t.Errorf("%+v: %v", bad, err)
		}
		if _, err := os.Stat(at("m")); !errors.Is(err, os.ErrNotExist) {
			t.Fatal("a model was written")
		}
	}
}

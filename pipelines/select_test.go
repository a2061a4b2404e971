package pipelines

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// The λ with the least error, or log loss, on the held-out rows is chosen. The weights and the calibration
// equal those of a training run with only this λ.
func TestSelectChoosesByHeldOutRows(t *testing.T) {
	board, signs := selected(t, "checkerboard"), selected(t, "interactions")
	if board[options.SelectMSE] == board[options.SelectLogLoss] || signs[options.SelectMSE] == signs[options.SelectError] {
		t.Errorf("all choose the same, so nothing was tested: %v, %v", board, signs)
	}
}

// selected tests how λ is chosen for a set, and returns what chooses which.
func selected(t *testing.T, set string) map[options.Select]float64 {
	t.Helper()
	dir := t.TempDir()
	data := dataset.Options{Files: []string{jobtest.Write(t, dir, "data.csv",
		strings.Join(jobtest.Made(t, set, 400, 3), ""))}, Label: "y"}
	path := []float64{1e-6, 1e-4, 1e-2, 1, 10}
	chosen := map[options.Select]float64{}
	for _, by := range []options.Select{options.SelectMSE, options.SelectError, options.SelectLogLoss} {
		o := fixed(1)
		o.Data, o.Model, o.Lambda.Path, o.Lambda.Select, o.Calibrate = data, filepath.Join(dir, string(by)), path, by, score.Platt
		r, err := trainPlain(jobtest.Ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		of := func(row ridge.CVResult) float64 {
			switch by {
			case options.SelectError:
				return float64(row.HeldOutErrors)
			case options.SelectLogLoss:
				return row.HeldOutLogLoss
			}
			return row.MSE
		}
		best := slices.MinFunc(r.Path, func(a, b ridge.CVResult) int {
			return cmp.Or(cmp.Compare(of(a), of(b)), cmp.Compare(a.MSE, b.MSE), cmp.Compare(b.Lambda, a.Lambda))
		})
		if r.Lambda != best.Lambda || len(r.Path) != len(path) || best.HeldOutRows == 0 ||
			best.HeldOutLogLoss == 0 {
			t.Errorf("%s: lambda %g, want %g: %+v", by, r.Lambda, best.Lambda, r.Path)
		}
		if want := map[options.Select]string{options.SelectMSE: "by the held-out MSE of 5 folds",
			options.SelectError:   "by the error of held-out rows, one in 5",
			options.SelectLogLoss: "by the log loss of held-out rows, one in 5"}[by]; !strings.Contains(jobtest.Text(t, r), want) {
			t.Errorf("%s: no %q in\n%s", by, want, jobtest.Text(t, r))
		}
		chosen[by] = r.Lambda

		o.Model, o.Lambda.Path, o.Lambda.Select = o.Model+"-alone", []float64{r.Lambda}, ""
		alone, err := trainPlain(jobtest.Ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		var weights [2][]byte
		for i, model := range []string{r.Model, alone.Model} {
			if weights[i], err = os.ReadFile(filepath.Join(model, "weights.safetensors")); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(weights[0], weights[1]) {
			t.Errorf("%s: the weights are not those of lambda %g", by, r.Lambda)
		}
		if a, b := r.Probabilities.Curves, alone.Probabilities.Curves; a[0].Slope != b[0].Slope ||
			a[0].Offset != b[0].Offset {
			t.Errorf("%s: calibrated by %+v, want %+v", by, a, b)
		}
	}
	return chosen
}

func TestSelectRejectsInvalidCriteria(t *testing.T) {
	dir := t.TempDir()
	data := dataset.Options{Files: []string{jobtest.Write(t, dir, "data.csv",
		strings.Join(jobtest.Made(t, "friedman", 60, 3), ""))}, Label: "y"}
	for _, c := range []struct {
		by     options.Select
		change func(o *options.Train)
		want   string
	}{
		{"eror", func(*options.Train) {}, `did you mean "error"`},
		{"error", func(o *options.Train) { o.Lambda.Path = []float64{1} }, "there is only one"},
		{"error", func(o *options.Train) { o.Lambda.C, o.Lambda.Path = 1, nil }, "there is only one"},
		{"log_loss", func(*options.Train) {}, "is for classification; the labels are numbers"},
		{"log_loss", func(o *options.Train) { o.Learner = jobtest.Iterative("svm", func(*iterative.Shared) {}) },
			"is for ridge; svm chooses by the errors"},
	} {
		o := fixed(1)
		o.Data, o.Model, o.Lambda.Path, o.Lambda.Select = data, filepath.Join(dir, "model"), []float64{1e-4, 1e-2}, c.by
		c.change(&o)
		_, err := trainPlain(jobtest.Ctx, o)
		jobtest.WantError(t, c.want, err, exit.CodeUsage, "--select", c.want)
	}
}

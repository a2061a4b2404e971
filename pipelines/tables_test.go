package pipelines

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// The table of λ is in the units of the targets: RMSE and R², as evaluate prints them. Errors of classes are
// named as such.
func TestLambdaTablesUseTheUnitsOfTargets(t *testing.T) {
	dir := t.TempDir()
	lines := jobtest.Made(t, "friedman", 400, 1)
	o := fixed(3)
	o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "data.csv", strings.Join(lines, ""))}, Label: "y"}
	o.Model, o.Lambda.Path = filepath.Join(dir, "model"), []float64{1e-1, 1e-4}
	o.Scale, o.Kernel = []string{"standard"}, &fourier.GaussianOptions{Width: 4, Features: 64}
	r, err := trainPlain(jobtest.Ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	var n, sum, squares float64
	for _, line := range lines[1:] {
		_, label := parse(t, line)
		y, err := strconv.ParseFloat(label, 64)
		if err != nil {
			t.Fatal(err)
		}
		n, sum, squares = n+1, sum+y, squares+y*y
	}
	variance := squares/n - sum/n*sum/n
	printed := jobtest.Text(t, r)
	for _, row := range r.Path {
		if want := 1 - row.MSE/variance; math.Abs(row.R2-want) > 1e-3*(1-want) {
			t.Errorf("lambda %g: R² %g, want %g", row.Lambda, row.R2, want)
		}
		if want := fmt.Sprintf("%.5g", math.Sqrt(row.MSE)); !strings.Contains(printed, want) ||
			!strings.Contains(printed, fmt.Sprintf("%.4f", row.R2)) {
			t.Errorf("lambda %g: RMSE %s or R² %.4f is not in\n%s", row.Lambda, want, row.R2, printed)
		}
	}
	if best := r.Path[len(r.Path)-1]; best.Lambda == r.Lambda && !(best.R2 > 0.3) ||
		!strings.Contains(printed, "held-out RMSE") || strings.Contains(printed, "mse") {
		t.Errorf("%+v\n%s", r.Path, printed)
	}
	m, err := InspectModel(jobtest.Ctx, options.InspectModel{Model: o.Model})
	if err != nil || !strings.Contains(jobtest.Text(t, m), "held-out RMSE") {
		t.Errorf("%v\n%s", err, jobtest.Text(t, m))
	}

	o = fixed(3)
	o.Data = dataset.Options{Files: []string{jobtest.Write(t, dir, "moons.csv",
		strings.Join(jobtest.Made(t, "moons", 300, 1), ""))}, Label: "y"}
	o.Model, o.Lambda.Path = filepath.Join(dir, "moons"), []float64{1e-1, 1e-4}
	if r, err = trainPlain(jobtest.Ctx, o); err != nil {
		t.Fatal(err)
	}
	if printed := jobtest.Text(t, r); !strings.Contains(printed, "held-out MSE of ±1 codes") ||
		!strings.Contains(printed, "held-out error") || r.Path[0].R2 != 0 {
		t.Errorf("%+v\n%s", r.Path, printed)
	}
	printed = jobtest.Text(t, r)
	for _, row := range r.Path {
		rate := fmt.Sprintf("%.2f", 100*float64(row.HeldOutErrors)/float64(row.HeldOutRows))
		low, high := score.WilsonInterval(row.HeldOutErrors, row.HeldOutRows)
		if !strings.Contains(printed, rate+"  ") || row.HeldOutRows == 0 ||
			!strings.Contains(printed, fmt.Sprintf(" %.2f to %.2f ", 100*low, 100*high)) {
			t.Errorf("lambda %g: %s is not in\n%s", row.Lambda, rate, printed)
		}
	}
	// Tables of models that were made before rows were scored have no such column.
	for i := range r.Path {
		r.Path[i].HeldOutRows, r.Path[i].HeldOutErrors, r.Path[i].HeldOutMSE = 0, 0, 0
	}
	if printed = jobtest.Text(t, r); strings.Contains(printed, "held-out error, %") {
		t.Error(printed)
	}
}

package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// A training run holds as many sums as its plan states, or stores the rows if the plan does.
func TestTrainingsDivideRowsAsTheirPlans(t *testing.T) {
	campaign.Long(t)
	text := "a,b,c,y\n"
	for i := range 300 {
		text += fmt.Sprintf("%d.5,%d.25,%s,%s\n", i*i%97, i*7%31, []string{"red", "green", "blue"}[i*i%3],
			[]string{"in", "out"}[i*i%97/50])
	}
	name := jobtest.Write(t, t.TempDir(), "d.csv", text)
	for _, c := range []struct {
		name     string
		features int
		set      func(*options.Train)
		want     string
	}{
		{"folds", 64, func(*options.Train) {}, "5 sums of "},
		{"one lambda", 64, func(o *options.Train) { o.Lambda.Path = []float64{1e-3} }, "1 sum of "},
		{"probabilities", 64, func(o *options.Train) { o.Lambda.Path, o.Calibrate = []float64{1e-3}, "platt" },
			"2 sums of "},
		{"labels in encodings", 64, func(o *options.Train) { o.Encode.Encode = preprocess.TargetEncoding }, "2 sums of "},
		{"a search", 64, func(o *options.Train) { o.Search, o.Data.Drop = options.SearchAuto, []string{"c"} },
			"2 sums of "},
		{"few rows", 1024, func(*options.Train) {}, " of features, "},
		{"few rows, one lambda", 1024, func(o *options.Train) { o.Lambda.Path = []float64{1e-3} }, "1 sum of "},
		{"few rows, a search", 2048, func(o *options.Train) { o.Search, o.Data.Drop = options.SearchAuto, []string{"c"} },
			" of features, "},
		{"few rows and probabilities", 1024, func(o *options.Train) {
			o.Lambda.Path, o.Calibrate = []float64{1e-3},
				"platt"
		}, "2 sums of "},
	} {
		o := options.Train{Search: options.SearchNone, Prepare: options.Prepare{
			Data: dataset.Options{Files: []string{name}, Label: "y"}, Kernel: &fourier.GaussianOptions{Features: c.features},
		}}
		c.set(&o)
		p := plan(t, o)
		held := report.Counted(p.sumsHeld, "sum") + " of "
		if p.CarriedBytes > 0 {
			held = report.Bytes(p.CarriedBytes) + " of features, "
		}
		var log strings.Builder
		o.Model, o.Job.Log = t.TempDir()+"/model", &log
		if _, err := training.Run(jobtest.Ctx, o); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !strings.Contains(held, c.want) || !strings.Contains(log.String(), held) {
			t.Errorf("%s: the plan has %q, want %q, and the training says\n%s", c.name, held, c.want, log.String())
		}
	}
}

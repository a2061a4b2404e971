package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/options"
)

func TestPlanSaysThatLevelsNeedTooManyFrequencies(t *testing.T) {
	var text strings.Builder
	text.WriteString("a,b,c,y\n")
	for i := range 3000 {
		fmt.Fprintf(&text, "a%d,b%d,c%d,%d\n", i%900, i%800, i%700, i%2)
	}
	name := jobtest.Write(t, t.TempDir(), "d.csv", text.String())
	of := func(draw fourier.Draw, features int) *Plan {
		return plan(t, options.Train{Prepare: options.Prepare{
			Data: dataset.Options{Files: []string{name}, Label: "y"}, Kernel: &fourier.GaussianOptions{Features: features,
				Draw: draw, Form: fourier.Offset},
		}})
	}
	p := of(fourier.Iid, 120_000) // × 2,400 levels × 4 bytes
	for _, word := range []string{"would be refused", "--draw structured", "--max_levels", "--encode count or target",
		"one for each level"} {
		if !strings.Contains(p.Refused, word) || !strings.Contains(jobtest.Text(t, p), p.Refused) {
			t.Errorf("%q is not in %q of\n%s", word, p.Refused, jobtest.Text(t, p))
		}
	}
	for _, p := range []*Plan{of(fourier.Structured, 120_000), of(fourier.Iid, 100_000)} {
		if p.Refused != "" {
			t.Error(p.Refused)
		}
	}
}

package pipelines

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/internal/modelreport"
)

func TestSmallerLambdaIsAdvisedOnlyWhereRoundingAllowsIt(t *testing.T) {
	path := []ridge.CVResult{{Lambda: 1e-9}, {Lambda: 1e-8}, {Lambda: 1e-7}}
	for _, test := range []struct {
		chosen, least float64
		want          string // "" is no note
	}{
		{1e-9, 0, "a smaller one may do better"},
		{1e-9, 1e-11, "a smaller one may do better"},
		{1e-9, 5e-10, "below it, the rounding of features matters"},
		{1e-9, 1e-9, ""},
		{1e-8, 0, ""},
		{1e-7, 0, "a larger one may do better"},
		{1e-7, 5e-10, "a larger one may do better"},
	} {
		got := modelreport.Edge(path, test.chosen, test.least)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("lambda %g, least %g: %q, want %q", test.chosen, test.least, got, test.want)
		}
	}
}

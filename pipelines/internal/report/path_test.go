package report

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/ridge"
)

// If some λ were tried on fewer folds than the chosen one, each row has its error on the first fold, on which
// all were tried.
func TestErrorsOfFewerFoldsCanBeCompared(t *testing.T) {
	print := func(task models.Task, path []ridge.CVResult) []string {
		var b strings.Builder
		WritePath(&b, task, 1, path, 0.1)
		return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	}
	path := []ridge.CVResult{
		{Lambda: 0.01, Failed: "not positive definite (pivot 3 of 4)"},
		{Lambda: 0.1, MSE: 4, StdErr: 0.4, FoldMSE: 1.44, Train: 0.25, R2: 0.5, Folds: 3},
		{Lambda: 1, MSE: 2.25, FoldMSE: 2.25, Train: 1, R2: 0.4, Folds: 1},
	}
	for _, c := range []struct {
		task      models.Task
		scored    int64
		want, end []string // columns of the λ that was chosen, and of the one after it
	}{
		{models.Regression, 0, []string{"0.1", "2", "1.5697", "to", "2.4303", "1.2", "0.5000", "0.5", "3", "<-", "chosen"},
			[]string{"1", "1.5", "-", "1.5", "0.4000", "1", "1"}},
		{models.Classification, 0, []string{"0.1", "4", "2.2789", "to", "5.7211", "1.44", "0.25", "3", "<-", "chosen"},
			[]string{"1", "2.25", "-", "2.25", "1", "1"}},
		{models.Classification, 100, []string{"0.1", "0.00", "0.00", "to", "3.70", "4", "2.2789", "to", "5.7211", "1.44",
			"0.25", "3",
			"<-", "chosen"}, nil},
	} {
		for i := range path[1:] {
			path[i+1].HeldOutRows = c.scored
		}
		lines := print(c.task, path)
		if !strings.Contains(lines[0], "95% interval  error on fold 1  ") {
			t.Errorf("%s: header %q", c.task, lines[0])
		}
		for i, want := range [][]string{c.want, c.end} {
			if got := strings.Join(strings.Fields(lines[2+i]), " "); want != nil && got != strings.Join(want, " ") {
				t.Errorf("%s: %q, want %q", c.task, got, want)
			}
		}
	}
	path[2].Folds = 3
	if lines := print(models.Regression, path); strings.Contains(lines[0], "fold 1") {
		t.Errorf("all on the same folds: header %q", lines[0])
	}
}

// Errors of sums, which round features, are printed only if no pass scored the held-out rows; predictions do
// not round features.
func TestErrorsOfOneFoldAreErrorsOfPredictions(t *testing.T) {
	scored := ridge.CVResult{Lambda: 1, MSE: 4, R2: 0.5, Train: 1, Folds: 1,
		HeldOutResult: ridge.HeldOutResult{HeldOutRows: 100, HeldOutMSE: 9, HeldOutStdErr: 1}}
	folds, sums := scored, scored
	folds.Folds, sums.HeldOutResult = 5, ridge.HeldOutResult{}
	for _, c := range []struct {
		row  ridge.CVResult
		want string
	}{
		{scored, "1 3 2.6733 to 3.3267 -0.1250 1 1 <- chosen"},
		{folds, "1 2 - 0.5000 1 5 <- chosen"},
		{sums, "1 2 - 0.5000 1 1 <- chosen"},
	} {
		var b strings.Builder
		WritePath(&b, models.Regression, 1, []ridge.CVResult{c.row}, 1)
		lines := strings.Split(b.String(), "\n")
		if got := strings.Join(strings.Fields(lines[1]), " "); got != c.want {
			t.Errorf("%+v: %q, want %q", c.row, got, c.want)
		}
	}
}

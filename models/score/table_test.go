package score

import (
	"strings"
	"testing"
)

func TestClassTableText(t *testing.T) {
	c := count(3, []pair{{0, 0}, {1, 0}, {2, 2}, {2, 2}, {2, 1}, {Unseen, 1}})
	r := c.Report([]string{"cat", "", "line\nbreak"})
	const want = `rows 6, errors 3 (1 of classes unknown to the model)
accuracy 50.00%, error 50.00% (95% interval 18.76 to 81.24)
balanced accuracy 55.56% (18.79 to 87.10)

          class  precision  recall     F1  rows
            cat      50.00  100.00  66.67     1
             ""       0.00    0.00   0.00     1
  "line\nbreak"     100.00   66.67  80.00     3
  macro average      50.00   55.56  48.89     5

rows by true class (down) and predicted class (across):
                 cat  ""  "line\nbreak"
            cat    1   .              .
             ""    1   .              .
  "line\nbreak"    .   1              2
`
	if got := r.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTableOfManyClassesShowsTheWorst(t *testing.T) {
	c := NewClasses(200)
	for i := range 200 {
		c.Add(i, i, 1)
		for range i {
			c.Add(i, (i+1)%200, 1)
		}
	}
	s := classReport(c).String()
	if n := strings.Count(s, "\n"); n > 60 {
		t.Errorf("%d lines", n)
	}
	for _, want := range []string{"the 30 classes of 200 with the lowest F1:", "confused most often:",
		"199          0   199"} {
		if !strings.Contains(s, want) {
			t.Errorf("no %q in\n%s", want, s)
		}
	}
	if strings.Contains(s, "across") {
		t.Error("a matrix of 200 classes")
	}
}

func TestTargetTableText(t *testing.T) {
	s := sum([]residual{{1, 2}, {3, 2}, {5, 5}})
	const want = `         rows         3
         MAPE    44.44%
         RMSE  0.816497
          MAE  0.666667
   50% within         1
   90% within         1
   95% within         1
   99% within         1
    max error         1
  target mean         3
   target dev   1.63299
           R²      0.75
`
	if got := s.Report().String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	s.Add(3e38, -3e38, 1)
	s.Add(0, 1, 1)
	if r := s.Report(); r.MAPE != nil || r.NoMAPE != 1 || strings.Contains(r.String(), "MAPE") {
		t.Errorf("a mean of ratios to a target of 0: %+v", r)
	}
	if got := s.Report().String(); !strings.Contains(got, "not finite         1\n") {
		t.Errorf("the skipped row is not reported:\n%s", got)
	}
}

func TestLongClassNamesAreCut(t *testing.T) {
	if got := DisplayName(strings.Repeat("é", 30)); got != strings.Repeat("é", 23)+"…" {
		t.Errorf("%q", got)
	}
}

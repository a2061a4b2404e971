package score

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// String returns the report as text in aligned columns: the totals, the classes (above 30, those with the
// lowest F1), and the confusion matrix or the pairs that are confused most often.
func (r ClassReport) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "rows %d, errors %d", r.Rows, r.Errors)
	if r.Unseen > 0 {
		fmt.Fprintf(&b, " (%d of classes unknown to the model)", r.Unseen)
	}
	fmt.Fprintf(&b, "\naccuracy %s%%, error %s%% (95%% interval %s to %s)\n", percent(r.Accuracy), percent(r.Error),
		percent(r.ErrorLow), percent(r.ErrorHigh))
	fmt.Fprintf(&b, "balanced accuracy %s%% (%s to %s)\n", percent(r.BalancedAccuracy), percent(r.BalancedLow),
		percent(r.BalancedHigh))
	if r.Ranking != nil {
		r.Ranking.write(&b)
	}
	b.WriteByte('\n')

	shown := r.Classes
	if len(shown) > maxShown {
		shown = slices.Clone(shown)
		slices.SortStableFunc(shown, func(a, b ClassScore) int { return cmp.Compare(a.F1, b.F1) })
		shown = shown[:maxShown]
		fmt.Fprintf(&b, "the %d classes of %d with the lowest F1:\n", maxShown, len(r.Classes))
	}
	w := newTable(&b)
	fmt.Fprintln(w, "class\tprecision\trecall\tF1\trows\t")
	for _, c := range shown {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t\n", DisplayName(c.Class), percent(c.Precision), percent(c.Recall),
			percent(c.F1), c.Rows)
	}
	fmt.Fprintf(w, "macro average\t%s\t%s\t%s\t%d\t\n", percent(r.MacroPrecision), percent(r.MacroRecall),
		percent(r.MacroF1), r.Rows-r.Unseen)
	w.Flush()

	if len(r.Confusion) > 0 {
		b.WriteString("\nrows by true class (down) and predicted class (across):\n")
		w := newTable(&b)
		for _, c := range r.Classes {
			fmt.Fprintf(w, "\t%s", DisplayName(c.Class))
		}
		fmt.Fprintln(w, "\t")
		for i, row := range r.Confusion {
			fmt.Fprint(w, DisplayName(r.Classes[i].Class))
			for _, n := range row {
				if n == 0 {
					fmt.Fprint(w, "\t.")
				} else {
					fmt.Fprintf(w, "\t%d", n)
				}
			}
			fmt.Fprintln(w, "\t")
		}
		w.Flush()
	}
	if len(r.Worst) > 0 {
		b.WriteString("\nconfused most often:\n")
		w := newTable(&b)
		fmt.Fprintln(w, "true\tpredicted\trows\t")
		for _, c := range r.Worst {
			fmt.Fprintf(w, "%s\t%s\t%d\t\n", DisplayName(c.Truth), DisplayName(c.Predicted), c.Rows)
		}
		w.Flush()
	}
	return b.String()
}

// String returns the report as text in aligned columns.
func (r TargetReport) String() string {
	var b bytes.Buffer
	w := newTable(&b)
	fmt.Fprintf(w, "rows\t%d\t\n", r.Rows)
	if r.NotFinite > 0 {
		fmt.Fprintf(w, "not finite\t%d\t\n", r.NotFinite)
	}
	if r.MAPE != nil {
		fmt.Fprintf(w, "MAPE\t%s%%\t\n", percent(*r.MAPE))
	}
	for _, l := range []struct {
		name     string
		value    float64
		interval *[2]float64
	}{
		{"RMSE", r.RMSE, r.RMSEInterval}, {"MAE", r.MAE, r.MAEInterval},
		{"50% within", r.P50, nil}, {"90% within", r.P90, nil}, {"95% within", r.P95, nil}, {"99% within", r.P99, nil},
		{"max error", r.MaxError, nil}, {"target mean", r.TargetMean, nil}, {"target dev", r.TargetDev, nil},
	} {
		fmt.Fprintf(w, "%s\t%.6g\t%s\n", l.name, l.value, intervalText(l.interval, 6))
	}
	if r.R2 != nil {
		fmt.Fprintf(w, "R²\t%.6g\t%s\n", *r.R2, intervalText(r.R2Interval, 4))
	} else if r.Rows > 0 {
		fmt.Fprintf(w, "R²\t-\t\n")
	}
	w.Flush()
	if r.OutOfRange != nil {
		fmt.Fprintln(&b, r.OutOfRange.Text(r.Rows))
	}
	return b.String()
}

// write prints the areas, their means and the shares of the first few classes.
func (r *RankingReport) write(w io.Writer) {
	if r.AUC != nil {
		fmt.Fprintf(w, "AUC %s", area(*r.AUC, r.Slack))
		if r.AUCLow != nil {
			fmt.Fprintf(w, " (%.4f to %.4f), average precision %.4f of class %s\n", *r.AUCLow, *r.AUCHigh, *r.AveragePrecision,
				DisplayName(r.Positive))
		} else {
			least := slices.MinFunc(r.Classes, func(a, b RankedClass) int { return cmp.Compare(a.AUC, b.AUC) })
			fmt.Fprintf(w, ", average precision %.4f: means of %d classes, each against the others (least AUC %.4f, class %s)\n",
				*r.AveragePrecision, len(r.Classes), least.AUC, DisplayName(least.Class))
		}
	}
	if r.Threshold != nil {
		fmt.Fprintf(w, "best balanced accuracy on these rows %s%%, with threshold %s of class %s\n",
			percent(*r.BestBalanced), strconv.FormatFloat(*r.Threshold, 'g', -1, 32), DisplayName(r.Positive))
	}
	if len(r.Top) > 0 {
		b := "class among the first "
		for i, t := range r.Top {
			if i > 0 {
				b += ", "
			}
			b += fmt.Sprintf("%d: %s%% (%s to %s)", t.K, percent(t.Accuracy), percent(t.Low), percent(t.High))
		}
		fmt.Fprintln(w, b)
	}
	if r.NotFinite > 0 {
		fmt.Fprintf(w, "%d rows without finite scores are not ranked\n", r.NotFinite)
	}
}

// area formats an area under a curve, with its uncertainty.
func area(v, slack float64) string {
	if slack == 0 {
		return fmt.Sprintf("%.4f", v)
	}
	return fmt.Sprintf("%.4f ± %.1g", v, slack)
}

func newTable(w io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
}

// intervalText formats an interval for the end of a line, to a number of digits; "" for nil.
func intervalText(ends *[2]float64, digits int) string {
	if ends == nil {
		return ""
	}
	return fmt.Sprintf("  (95%% interval %.*g to %.*g)", digits, ends[0], digits, ends[1])
}

func percent(p float64) string { return strconv.FormatFloat(100*p, 'f', 2, 64) }

// DisplayName returns a class, or a value of a column, formatted for a table: on one line, in at most 24 characters,
// never empty.
func DisplayName(class string) string {
	if class == "" || strings.ContainsFunc(class, func(r rune) bool { return !strconv.IsPrint(r) }) {
		class = strconv.Quote(class)
	}
	const most = 24
	if utf8.RuneCountInString(class) > most {
		class = string([]rune(class)[:most-1]) + "…"
	}
	return class
}

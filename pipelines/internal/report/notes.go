package report

import (
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/models/paired"
)

// GroupsText describes intervals that count groups: the number of independent rows that they stand for.
func GroupsText(columns []string, independent float64) string {
	return fmt.Sprintf("groups of column %s: intervals are for %s", strings.Join(columns, ", "),
		Counted64(int64(independent), "independent row"))
}

// TestedGroupsText describes the effect of groups on tests.
func TestedGroupsText(columns []string) string {
	return strings.Join(columns, ", ") + ": tests count groups, whose rows depend on each other"
}

// NotFiniteText counts the rows without a finite prediction of a target.
func NotFiniteText(target string, rows int64) string {
	return fmt.Sprintf("%s rows have no finite prediction of %s, and are left out", Groups(rows), target)
}

// WithoutIntervalText counts the rows without a finite interval.
func WithoutIntervalText(rows int64) string {
	return fmt.Sprintf("left out: %s without a finite interval", Counted64(rows, "row"))
}

// WithoutLossText counts the rows that are left out of a comparison of losses.
func WithoutLossText(rows int64) string {
	return Counted64(rows, "row") + " with infinite or extreme predictions are left out of the losses"
}

// ProbabilityNotes returns how many rows count with the smallest probability, and how many not at all.
func ProbabilityNotes(floored int64, floor float64, notFinite int64) (notes []string) {
	if floored > 0 {
		notes = append(notes, fmt.Sprintf("the classes of %s have a probability below %g, which counts as %[2]g in the log loss",
			Counted64(floored, "row"), floor))
	}
	if notFinite > 0 {
		notes = append(notes, Groups(notFinite)+" rows without finite scores are excluded")
	}
	return notes
}

// RoughComparisons names the comparisons that have no test, or a rough one.
func RoughComparisons(all []paired.Comparison) (notes []string) {
	for i, c := range all {
		if c.TooFew != "" && (i == 0 || all[i-1].TooFew != c.TooFew) {
			notes = append(notes, "no interval and no p: "+c.TooFew)
		}
		if c.Rough != "" {
			notes = append(notes, fmt.Sprintf("p and interval of %s are rough: %s", MetricNames[c.Metric], c.Rough))
		}
	}
	return notes
}

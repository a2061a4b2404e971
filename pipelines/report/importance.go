package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/effects"
	"github.com/bochner-ml/bochner/pipelines/picture"
)

// most is how many columns are printed, and mostBars how many are drawn.
const (
	most     = 10
	mostBars = 30
)

// WriteImportance prints what a learned metric attends to: the first columns and directions. It prints
// nothing for nil.
func WriteImportance(w io.Writer, i *models.Importance) {
	if i == nil {
		return
	}
	var list []string
	for _, c := range i.Columns[:min(len(i.Columns), most)] {
		list = append(list, fmt.Sprintf("%s %s", Word(c.Name, 40), percent(c.Share)))
	}
	if more := len(i.Columns) - most; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	fmt.Fprintf(w, "columns   by the metric: %s\n", strings.Join(list, ", "))
	for _, d := range i.Directions {
		var terms []string
		for _, p := range d.Parts {
			sign := " + "
			if p.Weight < 0 {
				sign = " − "
			}
			if len(terms) == 0 {
				sign = strings.TrimPrefix(strings.TrimSpace(sign), "+")
			}
			terms = append(terms, fmt.Sprintf("%s%.2f %s", sign, math.Abs(p.Weight), Word(p.Name, 40)))
		}
		fmt.Fprintf(w, "          direction with %s: %s\n", percent(d.Share), strings.Join(terms, ""))
	}
}

func percent(share float64) string {
	if share < 0.001 {
		return "< 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}

// WriteEffects prints the effects of the first columns on predictions. It prints nothing for nil.
func WriteEffects(w io.Writer, r *effects.Report) {
	if r == nil {
		return
	}
	var list []string
	for _, e := range r.Columns[:min(len(r.Columns), most)] {
		list = append(list, fmt.Sprintf("%s %s ± %.1f", Word(e.Column, 40), percent(e.Share), 100*e.StdErr))
	}
	if more := len(r.Columns) - most; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	fmt.Fprintf(w, "effects   on predictions for %s: %s\n", Counted64(int64(r.Rows), "row"), strings.Join(list, ", "))
	fmt.Fprintf(w, "          (share of their variance that changes with a column alone, if it gets the values of other rows)\n")
}

// EffectsPicture is the chart of the columns with the largest effects.
func EffectsPicture(r *effects.Report) picture.Bars {
	bars := picture.Bars{Title: "Effects of columns on predictions", X: "share of the variance of predictions, %"}
	for _, e := range r.Columns[:min(len(r.Columns), mostBars)] {
		bars.Names, bars.Values = append(bars.Names, Word(e.Column, 40)), append(bars.Values, 100*e.Share)
	}
	return bars
}

// ImportancePicture is the chart of the most important columns.
func ImportancePicture(i *models.Importance) picture.Bars {
	bars := picture.Bars{Title: "Columns by the learned metric", X: "share of squared distances, %"}
	for _, c := range i.Columns[:min(len(i.Columns), mostBars)] {
		bars.Names, bars.Values = append(bars.Names, Word(c.Name, 40)), append(bars.Values, 100*c.Share)
	}
	return bars
}

package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models"
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
	fmt.Fprintf(w, "columns   by the metric: %s\n", first(len(i.Columns), func(k int) string {
		return Word(i.Columns[k].Name, 40) + " " + percent(i.Columns[k].Share)
	}))
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

// first lists the first of n columns.
func first(n int, text func(k int) string) string {
	var list []string
	for k := range min(n, most) {
		list = append(list, text(k))
	}
	if n > most {
		list = append(list, fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(list, ", ")
}

func percent(share float64) string {
	if share < 0.001 {
		return "< 0.1%"
	}
	return fmt.Sprintf("%.1f%%", 100*share)
}

// WriteEffects prints the effects of the first columns on predictions. It prints nothing for nil.
func WriteEffects(w io.Writer, r *EffectsReport) {
	if r == nil {
		return
	}
	fmt.Fprintf(w, "effects   on predictions for %s: %s\n", Counted64(int64(r.Rows), "row"),
		first(len(r.Columns), func(k int) string {
			e := r.Columns[k]
			return fmt.Sprintf("%s %s ± %.1f", Word(e.Column, 40), percent(e.Share), 100*e.StdErr)
		}))
	fmt.Fprintf(w,
		"          (share of their variance that changes with a column alone, if it gets the values of other rows)\n")
}

// EffectsPicture is the chart of the columns with the largest effects.
func EffectsPicture(r *EffectsReport) picture.Bars {
	shares := make([]models.Share, len(r.Columns))
	for k, e := range r.Columns {
		shares[k] = models.Share{Name: e.Column, Share: e.Share}
	}
	b := bars("Effects of columns on predictions", "share of the variance of predictions, %, with 95% intervals", shares)
	for k := range b.Names {
		half := 100 * 1.96 * r.Columns[k].StdErr
		b.Low, b.High = append(b.Low, max(0, b.Values[k]-half)), append(b.High, b.Values[k]+half)
	}
	return b
}

// ImportancePicture is the chart of the most important columns.
func ImportancePicture(i *models.Importance) picture.Bars {
	return bars("Columns by the learned metric", "share of squared distances, %", i.Columns)
}

// bars draws the first of the shares.
func bars(title, x string, shares []models.Share) picture.Bars {
	b := picture.Bars{Title: title, X: x}
	for _, s := range shares[:min(len(shares), mostBars)] {
		b.Names, b.Values = append(b.Names, Word(s.Name, 40)), append(b.Values, 100*s.Share)
	}
	return b
}

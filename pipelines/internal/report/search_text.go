package report

import (
	"fmt"
	"io"
	"math"

	"github.com/bochner-ml/bochner/internal/picture"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// WriteSearch prints a summary of a search for the user.
func WriteSearch(w io.Writer, s *models.Search) {
	share := func(t models.SearchTrial) string {
		if s.Classes {
			return fmt.Sprintf("%.2f%%", 100*t.Error)
		}
		return fmt.Sprintf("%.4f", 1-t.Loss)
	}
	what := "R²"
	if s.Classes {
		what = "error"
	}
	fmt.Fprintf(w, "search    %s on %s rows; %s on %s of them is %s by default (%s),\n",
		Counted(s.Tried, "candidate"), Groups(int64(s.Rows)),
		what, Groups(int64(s.Judged)), share(s.Default), s.Default.Features)
	if s.Chosen == s.Default {
		fmt.Fprintf(w, "          which was chosen\n")
		return
	}
	fmt.Fprintf(w, "          %s chosen: %s\n", share(s.Chosen), s.Chosen.Features)
	fmt.Fprintf(w, "          (best of %d, hence optimistic; see the held-out error below)\n", s.Tried)
}

// SizeTable returns a table of errors by the number of features. If root is true it shows the
// square roots of the losses.
func SizeTable(all []registry.Size, root bool) Table {
	t := Table{Head: []string{"features", "lambda", "held-out MSE", "improvement of MSE, %", "± standard error"}}
	if root {
		t.Head[2] = "held-out RMSE"
	}
	for i, s := range all {
		loss, better, se := "-", "-", "-"
		if v := s.Loss; v > 0 {
			if root {
				v = math.Sqrt(v)
			}
			loss = picture.Number(v, 5)
			if i > 0 {
				better, se = fmt.Sprintf("%.2f", 100*s.Gain), fmt.Sprintf("%.2f", 100*s.StdErr)
			}
		}
		t.Add(fmt.Sprint(s.Features), fmt.Sprintf("%g", s.Lambda), loss, better, se)
		t.Mark(s.Chosen)
	}
	return t
}

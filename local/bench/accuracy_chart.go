//go:build unix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/bochner-ml/bochner/internal/picture"
)

// chart draws the errors of three methods on each table, as shares of LightGBM's errors, into a
// file. The tables on which the defaults do best are on top.
func (a *accuracyTable) chart(file string) error {
	type row struct {
		table string
		share map[string]float64
	}
	names := []string{"defaults", "hist", "tuned"}
	var rows []row
	for _, t := range a.tables {
		r := row{t.Name, map[string]float64{}}
		reference, ok := a.find(t.Name, "lightgbm")
		for _, name := range names {
			if f, found := a.find(t.Name, name); ok && found {
				r.share[name] = f.Error / reference.Error
			}
		}
		if r.share["defaults"] > 0 {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return errors.New("bench: the chart needs figures of the defaults and of LightGBM")
	}
	slices.SortFunc(rows, func(x, y row) int { // the axis begins at the bottom
		if x.share["defaults"] > y.share["defaults"] {
			return -1
		}
		return 1
	})
	s := picture.Lines{Title: "Test errors", X: "error, as a share of LightGBM's with its defaults (left is better)",
		Y: "table", Scatter: true}
	for i, name := range []string{"bochner, no flags", "HistGradientBoosting", "LightGBM, best of 8 settings"} {
		c := picture.Series{Name: name}
		for at, r := range rows {
			if v := r.share[names[i]]; v > 0 {
				c.Add(v, float64(at))
			}
		}
		s.Series = append(s.Series, c)
	}
	p, err := s.Plot()
	if err != nil {
		return err
	}
	tables := make([]string, len(rows))
	for i, r := range rows {
		tables[i] = r.table
	}
	p.NominalY(tables...)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, max(p.X.Max, 1.1), -0.5, float64(len(rows))-0.5
	line, err := plotter.NewLine(plotter.XYs{{X: 1, Y: -0.5}, {X: 1, Y: float64(len(rows)) - 0.5}})
	if err != nil {
		return err
	}
	line.Width = vg.Points(1)
	p.Add(line)
	data, err := picture.Encode(p, 17, 4+float64(len(rows))/2, strings.TrimPrefix(filepath.Ext(file), "."))
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o666)
}

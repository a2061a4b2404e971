//go:build unix

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// accuracyTable is all figures, and a summary of each method.
type accuracyTable struct {
	Figures []figure  `json:"figures"`
	Methods []summary `json:"methods"`

	tables  []dataset
	methods []method
}

// summary compares a method with the last one over the tables. Of each table the ratio of their
// errors is taken.
type summary struct {
	Method  string  `json:"method"`
	Against string  `json:"against"`
	Mean    float64 `json:"geometric_mean"`
	Median  float64 `json:"median"`
	Wins    int     `json:"wins"` // tables where its error is smaller
	Tables  int     `json:"tables"`
	CPU     float64 `json:"cpu_seconds"` // of all tables
}

func (a *accuracyTable) find(table, method string) (figure, bool) {
	i := slices.IndexFunc(a.Figures, func(f figure) bool { return f.Table == table && f.Method == method })
	if i < 0 {
		return figure{}, false
	}
	return a.Figures[i], true
}

func (a *accuracyTable) summarize() {
	if len(a.methods) == 0 {
		return
	}
	reference := a.methods[len(a.methods)-1].name
	for _, m := range a.methods {
		s := summary{Method: m.name, Against: reference}
		var ratios []float64
		for _, t := range a.tables {
			f, ok := a.find(t.Name, m.name)
			r, had := a.find(t.Name, reference)
			if !ok || !had || a.faultless(t.Name) {
				continue
			}
			s.CPU += f.CPU
			ratios = append(ratios, f.Error/r.Error)
			s.Mean += math.Log(f.Error / r.Error)
			if f.Error < r.Error {
				s.Wins++
			}
		}
		if s.Tables = len(ratios); s.Tables > 0 {
			s.Mean, s.Median = math.Exp(s.Mean/float64(s.Tables)), median(ratios)
			a.Methods = append(a.Methods, s)
		}
	}
}

// faultless reports whether a method has no errors on a table, so that ratios of errors are not defined.
func (a *accuracyTable) faultless(table string) bool {
	return slices.ContainsFunc(a.Figures, func(f figure) bool { return f.Table == table && f.Error == 0 })
}

func (f figure) String() string {
	s := fmt.Sprintf("%-14s %-10s error %.4f", f.Table, f.Method, f.Error)
	if f.HeldOut != nil {
		s += fmt.Sprintf(", held-out %.4f", *f.HeldOut)
	}
	return s + fmt.Sprintf(", %.1f CPU seconds, %.0f MB", f.CPU, f.PeakMB)
}

// String is Markdown: a row for each table, then what each figure cost, then the summary.
func (a accuracyTable) String() string {
	var b strings.Builder
	line := func(cells ...string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	each := func(first string, cell func(m method) string) {
		cells := []string{first}
		for _, m := range a.methods {
			cells = append(cells, cell(m))
		}
		line(cells...)
	}
	figures := func(head func(t dataset) string, cell func(t dataset, f figure) string) {
		each("", func(m method) string { return m.about })
		b.WriteString(strings.Repeat("|---", len(a.methods)+1) + "|\n")
		for _, t := range a.tables {
			each(head(t), func(m method) string {
				f, ok := a.find(t.Name, m.name)
				if !ok {
					return ""
				}
				return cell(t, f)
			})
		}
	}

	b.WriteString("\n")
	figures(func(t dataset) string {
		if t.Task == "regression" {
			return t.Name + ", R²"
		}
		return t.Name + ", error, %"
	}, func(t dataset, f figure) string { return t.share(f.Error) })
	of := func(cell func(s summary) string) func(method) string {
		return func(m method) string {
			i := slices.IndexFunc(a.Methods, func(s summary) bool { return s.Method == m.name })
			if i < 0 {
				return ""
			}
			return cell(a.Methods[i])
		}
	}
	each("geometric mean of errors", of(func(s summary) string { return fmt.Sprintf("%.2f", s.Mean) }))
	each("median", of(func(s summary) string { return fmt.Sprintf("%.2f", s.Median) }))
	each("smaller error", of(func(s summary) string { return fmt.Sprintf("%d of %d", s.Wins, s.Tables) }))
	each("CPU seconds", of(func(s summary) string { return fmt.Sprintf("%.0f", s.CPU) }))

	b.WriteString("\nHeld-out error, CPU seconds and peak MB of training:\n\n")
	figures(func(t dataset) string { return t.Name }, func(t dataset, f figure) string {
		held := ""
		if f.HeldOut != nil {
			held = t.share(*f.HeldOut) + "; "
		}
		return held + fmt.Sprintf("%.1f s; %.0f MB", f.CPU, f.PeakMB)
	})
	a.writeSteps(&b, line)
	return b.String()
}

// share writes an error: R² of a regression, percent of a classification.
func (t dataset) share(e float64) string {
	if t.Task == "regression" {
		return fmt.Sprintf("%.3f", 1-e)
	}
	return fmt.Sprintf("%.2f", 100*e)
}

// writeSteps writes what each step of the search gains.
func (a accuracyTable) writeSteps(b *strings.Builder, line func(cells ...string)) {
	product, count := map[string]float64{}, map[string]int{}
	begun := false
	for _, f := range a.Figures {
		if f.Steps == nil {
			continue
		}
		if !begun {
			begun = true
			b.WriteString("\nHeld-out losses of the search's best trials of each kind, as ratios to the default's:\n\n")
			line(append([]string{"", "chosen"}, steps...)...)
			b.WriteString(strings.Repeat("|---", len(steps)+2) + "|\n")
		}
		cells := []string{f.Table, f.Chosen}
		for _, s := range steps {
			if v, ok := f.Steps[s]; ok {
				cells = append(cells, fmt.Sprintf("%.2f", v))
				product[s] += math.Log(v)
				count[s]++
			} else {
				cells = append(cells, "")
			}
		}
		line(cells...)
	}
	if begun {
		cells := []string{"geometric mean", ""}
		for _, s := range steps {
			cells = append(cells, fmt.Sprintf("%.2f", math.Exp(product[s]/float64(max(1, count[s])))))
		}
		line(cells...)
	}
}

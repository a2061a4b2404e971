//go:build unix

package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// method is a column of the table of accuracies.
type method struct {
	name    string
	about   string
	flags   []string // of train
	boosted string   // method of boosted.py, instead
	step    bool     // only a step of the search
}

// methods holds the columns in order. The last one is the method that others are compared with.
var methods = []method{
	{name: "none", about: "without a search", flags: []string{"--search", "none"}},
	{name: "laplace", about: "Laplace kernel", flags: []string{"--search", "none", "--kernel", "laplace"}, step: true},
	{name: "defaults", about: "defaults"},
	{name: "hist", about: "HistGradientBoosting", boosted: "hist"},
	{name: "lightgbm", about: "LightGBM", boosted: "lightgbm"},
	{name: "tuned", about: "LightGBM, best of 8", boosted: "tuned"},
}

// figure is a cell: the result of a method on a table.
type figure struct {
	Table   string   `json:"table"`
	Method  string   `json:"method"`
	Error   float64  `json:"error"`              // on the test rows: share of errors, or 1 − R²
	HeldOut *float64 `json:"held_out,omitempty"` // the same by held-out training rows, as the method says
	cost

	Chosen string             `json:"chosen,omitempty"` // features, by its search
	Steps  map[string]float64 `json:"steps,omitempty"`  // of its search: see stepsOf
}

// accuracies measures the methods on the tables. It stores every figure in work, and measures it again only
// when the program, its flags, the scripts or the rows have changed.
func (o settings) accuracies(show func(string, ...any)) (all accuracyTable, err error) {
	if err := os.MkdirAll(filepath.Join(o.work, "figures"), 0o777); err != nil {
		return all, err
	}
	if all.tables, err = datasets(show, o.data, o.work, nameFilter(o.sets)); err != nil {
		return all, err
	}
	_, help, err := timed(o.program, "train", "--help_all")
	if err != nil {
		return all, err
	}
	for _, m := range methods {
		if !nameFilter(o.only)(m.name) || m.step && !o.steps && o.only == "" {
			continue
		}
		if m.boosted != "" && !executable(o.python) {
			show("without %s: %s is missing (make bench-accuracy makes it where PyPI can be reached)\n", m.about, o.python)
			continue
		}
		unknown := func(f string) bool { return strings.HasPrefix(f, "--") && !strings.Contains(help, f+" ") }
		if i := slices.IndexFunc(m.flags, unknown); i >= 0 {
			show("without %s: the program has no %s\n", m.about, m.flags[i])
			continue
		}
		all.methods = append(all.methods, m)
	}
	for _, t := range all.tables {
		for _, m := range all.methods {
			if m.boosted == "tuned" && t.images || m.boosted != "" && t.ours {
				continue // the one would take an hour, the other is there already
			}
			f, again, err := o.accuracy(t, m, o.work)
			if err != nil {
				return all, err
			}
			all.Figures = append(all.Figures, f)
			show("%s%s\n", f, map[bool]string{true: "   (kept)"}[again])
		}
	}
	all.summarize()
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return all, err
	}
	return all, os.WriteFile(filepath.Join(o.work, "accuracy.json"), append(text, '\n'), 0o666)
}

// nameFilter returns a function that reports whether a name is in a list separated by commas. The empty list
// has all names.
func nameFilter(list string) func(string) bool {
	return func(name string) bool { return list == "" || slices.Contains(strings.Split(list, ","), name) }
}

func executable(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode()&0o111 != 0
}

// accuracy returns a figure, and whether it was stored by an earlier run.
func (o options) accuracy(t dataset, m method, work string) (f figure, again bool, err error) {
	key, err := o.key(t, m)
	if err != nil {
		return f, false, err
	}
	kept := filepath.Join(work, "figures", fmt.Sprintf("%s-%s-%.12x.json", t.Name, m.name, key))
	if text, err := os.ReadFile(kept); err == nil {
		return f, true, json.Unmarshal(text, &f)
	}
	if m.boosted != "" {
		f, err = o.theirFigure(t, m)
	} else {
		f, err = o.ourFigure(t, m, work)
	}
	if err != nil {
		return f, false, err
	}
	f.Table, f.Method = t.Name, m.name
	text, err := json.Marshal(f)
	if err != nil {
		return f, false, err
	}
	return f, false, os.WriteFile(kept, text, 0o666)
}

// key returns a digest of everything that a figure depends on.
func (o options) key(t dataset, m method) ([]byte, error) {
	h := sha256.New()
	files := append([]string{o.program}, t.Train...)
	if m.boosted != "" {
		files = append([]string{filepath.Join(o.script, "boosted.py"), filepath.Join(o.script, "boosted.txt")}, t.Train...)
	}
	for _, name := range append(files, t.Test...) {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(h, "%x\n", sha256.Sum256(text))
	}
	fmt.Fprintln(h, t.Format, t.Task, t.Label, t.Header, m.boosted)
	if m.boosted == "" {
		fmt.Fprintln(h, t.flags, m.flags)
	}
	return h.Sum(nil), nil
}

func (o options) theirFigure(t dataset, m method) (f figure, err error) {
	spec, err := json.Marshal(struct {
		dataset
		Method string `json:"method"`
	}{t, m.boosted})
	if err != nil {
		return f, err
	}
	spent, out, err := timed(o.python, filepath.Join(o.script, "boosted.py"), string(spec))
	if err != nil {
		return f, err
	}
	var got struct {
		Error  float64  `json:"error"`
		Held   *float64 `json:"held_out"`
		CPU    float64  `json:"cpu"`
		PeakMB float64  `json:"peak_mb"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		return f, fmt.Errorf("bench: boosted.py: %q: %w", out, err)
	}
	return figure{Error: got.Error, HeldOut: got.Held, cost: cost{spent.Seconds, got.CPU, got.PeakMB}}, nil
}

func (o options) ourFigure(t dataset, m method, work string) (f figure, err error) {
	model := filepath.Join(work, "model")
	if err := os.RemoveAll(model); err != nil {
		return f, err
	}
	defer os.RemoveAll(model)
	args := append([]string{"train", "--model", model, "--json", "--quiet"}, t.files(t.Train)...)
	if t.Label != "" {
		args = append(args, "--label", t.Label)
	}
	spent, out, err := timed(o.program, append(append(args, t.flags...), m.flags...)...)
	if err != nil {
		return f, err
	}
	f.cost = spent
	var r trained
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		return f, err
	}
	f.HeldOut, f.Chosen = r.heldOut(t.Task), r.Search.Chosen.Features
	if f.Steps, err = stepsOf(model); err != nil {
		return f, err
	}
	_, out, err = timed(o.program, append([]string{"evaluate", "--model", model, "--json", "--quiet"},
		t.files(t.Test)...)...)
	if err != nil {
		return f, err
	}
	var s struct {
		Classes *struct{ Error float64 }
		Targets *struct{ R2 float64 }
	}
	err = json.Unmarshal([]byte(out), &s)
	switch {
	case err != nil:
		return f, err
	case t.Task == "regression" && s.Targets != nil:
		f.Error = 1 - s.Targets.R2
	case t.Task == "classification" && s.Classes != nil:
		f.Error = s.Classes.Error
	default:
		return f, fmt.Errorf("bench: %s: evaluate printed no figure of %s: %s", t.Name, t.Task, out)
	}
	return f, nil
}

// trained holds the part of the output of train --json that is used.
type trained struct {
	Lambda float64
	Path   []struct {
		Lambda float64
		R2     float64
		Rows   int64 `json:"held_rows"`
		Errors int64 `json:"held_errors"`
	}
	Search struct {
		Chosen struct{ Features string }
	}
}

// heldOut returns the held-out error of the chosen λ, nil if none was printed.
func (r trained) heldOut(task string) *float64 {
	for _, row := range r.Path {
		if row.Lambda != r.Lambda || task == "classification" && row.Rows == 0 {
			continue
		}
		e := 1 - row.R2
		if task == "classification" {
			e = float64(row.Errors) / float64(row.Rows)
		}
		return &e
	}
	return nil
}

package search

import (
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/models/search/columns"
)

const (
	// standardView is the name of the view of standardised columns.
	standardView = "standard"
	// maxOutputs is the largest number of classes for which levels are tried.
	maxOutputs = 100
	// levelsView is the name of the view in which some columns are levels.
	levelsView = "levels"
	// In wholeView, bothView and differencesView all columns of small whole numbers are levels. bothView keeps the
	// numbers next to the levels, and differencesView adds distances of two columns. These views need wholeRows rows,
	// because with few rows more candidates make the choice worse.
	wholeView       = "whole numbers as levels"
	bothView        = "whole numbers and levels"
	differencesView = "whole numbers, levels and differences"
	wholeRows       = 800
)

// addLevels adds views in which columns are levels, if there are any: one with the columns that seem to name
// things, and others with all columns of small whole numbers, without or with the numbers and their differences.
func (r *runner) addLevels() error {
	standard := r.options.Views[0]
	if r.options.Levels == nil || standard.Name != standardView || r.pilot.N < fewRows || r.outputs > maxOutputs {
		return nil
	}
	pilot := r.levels(r.views[standardView])
	add := func(name string, steps ...features.Recipe) error {
		return r.addView(View{name, append(slices.Clip(standard.Steps), steps...)})
	}
	if named := pilot.Named(); named.Columns != nil {
		if err := add(levelsView, named); err != nil {
			return err
		}
	}
	if r.pilot.N < wholeRows {
		return nil
	}
	whole := pilot.Whole()
	if whole.Columns == nil {
		return nil
	}
	if err := add(wholeView, whole); err != nil {
		return err
	}
	whole.Keep = true
	recipe := pilot.Differences(whole.Columns)
	if recipe.Pairs == nil {
		return add(bothView, whole)
	}
	_, whole.In = recipe.Dims()
	return add(differencesView, recipe, whole)
}

// levels returns the pilot with its standardised rows.
func (r *runner) levels(standard *viewData) *columns.Pilot {
	return &columns.Pilot{X: r.pilot.X, D: r.pilot.D, Scaled: standard.x, In: standard.d, Allowed: r.options.Levels,
		Code: r.code, Outputs: r.outputs, Threads: r.options.Threads}
}

// levelsFor returns the view with levels in which metrics are learned, in addition to the view of the best
// candidate: levelsView, or else the best of the other views with levels, or else "".
func (r *runner) levelsFor(candidates []*trialled) string {
	if r.views[levelsView] != nil {
		return levelsView
	}
	for _, e := range candidates {
		if slices.Contains([]string{wholeView, bothView, differencesView}, e.View) {
			return e.View
		}
	}
	return ""
}

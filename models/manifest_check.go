package models

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/models/ridge"
)

// check returns the recipe, or the reason why the manifest is invalid.
func (m *Manifest) check() (features.Recipe, error) {
	if err := m.Learner.Split.Validate(); err != nil {
		return nil, err
	}
	if m.Format < 1 {
		return nil, fmt.Errorf("format version %d, want %d", m.Format, manifestFormat)
	}
	if m.Features < 1 || m.Features > loss.MaxDim {
		return nil, fmt.Errorf("%d features, want 1 to %d", m.Features, loss.MaxDim)
	}
	if m.Outputs < 1 || m.Outputs > ridge.MaxOutputs {
		return nil, fmt.Errorf("%d outputs, want 1 to %d", m.Outputs, ridge.MaxOutputs)
	}
	if err := m.checkTask(); err != nil {
		return nil, err
	}
	if err := m.checkProbabilities(); err != nil {
		return nil, err
	}
	if m.Threshold != nil {
		if err := m.Threshold.validate(m); err != nil {
			return nil, err
		}
	}
	if m.Input.Dim < 1 || m.Input.Dim > rows.MaxDim {
		return nil, fmt.Errorf("rows of %d numbers, want 1 to %d", m.Input.Dim, rows.MaxDim)
	}
	if err := m.Segments.check(m); err != nil {
		return nil, err
	}
	if err := errors.Join(m.Sketch.check(), m.Intervals.check(m)); err != nil {
		return nil, err
	}
	if n := len(m.Input.Columns); n != 0 && n != m.Input.Dim {
		return nil, fmt.Errorf("%d names of columns for rows of %d numbers", n, m.Input.Dim)
	}
	if n := len(m.Input.Labels); n != 0 && (n != m.Outputs || n < 2 || m.Task != Regression || m.Input.Label != "") {
		return nil, fmt.Errorf("names of %d label columns for %d outputs of %s; want as many, several, of a regression", n,
			m.Outputs, m.Task)
	}
	for _, name := range slices.Concat([]string{m.Input.Label}, m.Input.Labels, m.Input.Columns) {
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("the name of column %.80q is not UTF-8; convert the data, for instance with iconv", name)
		}
	}
	if r := m.Rows; r.Used < 0 || r.SetAside < 0 || r.Read-r.Used != r.SetAside {
		return nil, fmt.Errorf("%d rows read, %d used, %d set aside: the numbers do not add up", r.Read, r.Used, r.SetAside)
	}
	if err := m.checkRanges(); err != nil {
		return nil, err
	}
	recipe, err := m.Recipe.Open()
	if err != nil {
		return nil, err
	}
	in, out, err := features.Dims(recipe)
	if err != nil {
		return nil, err
	}
	if in != m.Input.Dim || out != m.Features {
		return nil, fmt.Errorf("the recipe makes %d features of %d numbers, the model has %d of %d", out, in, m.Features,
			m.Input.Dim)
	}
	return recipe, m.checkFiles()
}

// checkTask returns an error if the task is unknown or does not fit the outputs.
func (m *Manifest) checkTask() error {
	switch m.Task {
	case Classification:
		v := m.Vocabulary
		switch {
		case v == nil:
			return errors.New("classification without a vocabulary")
		case len(v.Classes) < 2 || len(v.Classes) != m.Outputs:
			return fmt.Errorf("%d classes for %d outputs; want as many, and at least 2", len(v.Classes), m.Outputs)
		case m.TargetGrid != nil:
			return errors.New("classification with a target grid")
		}
		if m.Positive != "" && (len(v.Classes) != 2 || !slices.Contains(v.Classes, m.Positive)) {
			return fmt.Errorf("the positive class %.80q; want one of two classes", m.Positive)
		}
		if n := len(m.Profile.ClassCounts); n != 0 && n != m.Outputs {
			return fmt.Errorf("counts for %d classes, want %d", n, m.Outputs)
		}
	case Regression:
		switch {
		case m.TargetGrid == nil:
			return errors.New("regression without a target grid")
		case m.Vocabulary != nil:
			return errors.New("regression with a vocabulary")
		}
		if n := len(m.TargetGrid); n != m.Outputs {
			return fmt.Errorf("%d target grids for %d outputs; want as many", n, m.Outputs)
		}
		return m.TargetGrid.Validate()
	case Embedding:
		if m.Vocabulary != nil || m.TargetGrid != nil || len(m.Learner.Components) != m.Outputs {
			return errors.New("embedding with classes or targets, or without a variance for each output")
		}
	default:
		return fmt.Errorf("unknown task %q; have %s, %s, %s", m.Task, Classification, Regression, Embedding)
	}
	return nil
}

// maxHeader is the most bytes of a weights file other than its numbers.
const maxHeader = 1 << 16

func (m *Manifest) checkFiles() error {
	names := map[string]bool{}
	for _, f := range m.Files {
		if err := f.check(); err != nil {
			return err
		}
		if names[f.Name] {
			return fmt.Errorf("two entries for %s", f.Name)
		}
		names[f.Name] = true
	}
	f, ok := m.File(WeightsFile)
	if !ok {
		return fmt.Errorf("no entry for %s", WeightsFile)
	}
	numbers := 4 * (int64(m.Outputs)*int64(m.Features) + int64(m.Outputs))
	if f.Size < numbers || f.Size > numbers+maxHeader {
		return fmt.Errorf("%s of %d bytes cannot hold %d outputs of %d features", WeightsFile, f.Size, m.Outputs, m.Features)
	}
	return nil
}

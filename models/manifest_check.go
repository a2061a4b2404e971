package models

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/models/ridge"
)

// check returns the reason why the manifest is invalid; nil if it is valid.
func (m *Manifest) check() error {
	if err := m.Learner.Split.Validate(); err != nil {
		return err
	}
	if m.Format < 1 {
		return fmt.Errorf("format version %d, want %d", m.Format, manifestFormat)
	}
	if m.Features < 1 || m.Features > loss.MaxDim {
		return fmt.Errorf("the number of features must be 1 to %d (have %d)", loss.MaxDim, m.Features)
	}
	if m.Outputs < 1 || m.Outputs > ridge.MaxOutputs {
		return fmt.Errorf("the number of outputs must be 1 to %d (have %d)", ridge.MaxOutputs, m.Outputs)
	}
	if err := m.checkTask(); err != nil {
		return err
	}
	if err := m.checkProbabilities(); err != nil {
		return err
	}
	if m.Threshold != nil {
		if err := m.Threshold.validate(m); err != nil {
			return err
		}
	}
	if err := m.checkInput(); err != nil {
		return err
	}
	if err := m.Segments.check(m); err != nil {
		return err
	}
	if err := errors.Join(m.Sketch.check(), m.Intervals.check(m)); err != nil {
		return err
	}
	if r := m.Rows; r.Used < 0 || r.SetAside < 0 || r.Read-r.Used != r.SetAside {
		return fmt.Errorf("%d rows read, %d used, %d set aside: the numbers do not add up", r.Read, r.Used, r.SetAside)
	}
	if err := m.checkRanges(); err != nil {
		return err
	}
	recipe, err := m.Recipe.Open()
	if err != nil {
		return err
	}
	in, out, err := features.Dims(recipe)
	if err != nil {
		return err
	}
	if in != m.Input.Dim || out != m.Features {
		return fmt.Errorf("the recipe makes %d features of %d numbers, the model has %d of %d", out, in, m.Features,
			m.Input.Dim)
	}
	return m.checkFiles()
}

// checkInput returns an error if rows have an impossible length, or names that do not fit.
func (m *Manifest) checkInput() error {
	if m.Input.Dim < 1 || m.Input.Dim > rowio.MaxDim {
		return fmt.Errorf("the row length must be 1 to %d (have %d)", rowio.MaxDim, m.Input.Dim)
	}
	if n := len(m.Input.Columns); n != 0 && n != m.Input.Dim {
		return fmt.Errorf("%d names of columns for rows of %d numbers", n, m.Input.Dim)
	}
	if n := len(m.Input.Labels); n != 0 && (n != m.Outputs || n < 2 || m.Task != Regression || m.Input.Label != "") {
		return fmt.Errorf("names of %d label columns for %d outputs of %s; want as many, several, of a regression", n,
			m.Outputs, m.Task)
	}
	for _, name := range slices.Concat([]string{m.Input.Label}, m.Input.Labels, m.Input.Columns) {
		if !utf8.ValidString(name) {
			return fmt.Errorf("the name of column %.80q is not UTF-8; convert the data, for instance with iconv", name)
		}
	}
	return nil
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

// checkRanges returns an error for the first number in the manifest that no training writes, so that later
// code may rely on the ranges. A manifest may have been edited and given a new checksum; such a number must
// not reach a loop or an allocation.
func (m *Manifest) checkRanges() error {
	if err := m.Learner.check(m.Rows.Used); err != nil {
		return fmt.Errorf("learner: %w", err)
	}
	if c := m.Learner.Log; c != nil {
		if err := c.check(m.Rows.Used); err != nil {
			return fmt.Errorf("learner: course: %w", err)
		}
		if err := m.checkProblem(); err != nil {
			return fmt.Errorf("learner: course: options: %w", err)
		}
	}
	if p := m.Probabilities; p != nil && (p.Rows < 0 || p.Rows > m.Rows.Used || p.Folds < 0) {
		return fmt.Errorf("probabilities fitted to %d of %d rows, one fold of %d", p.Rows, m.Rows.Used, p.Folds)
	}
	if w := m.Weights; w != nil {
		if err := w.Weights.Validate(m.Rows.Used); err != nil {
			return err
		}
		if err := w.Grid.Validate(); err != nil {
			return err
		}
	}
	return m.Profile.check(m.Rows.Used)
}

func (l *Learner) check(used int64) error {
	switch {
	case l.Kind == "":
		return errors.New("no kind")
	case !(l.Lambda >= 0):
		return fmt.Errorf("lambda is %g, want 0 or more", l.Lambda)
	case l.Folds < 0:
		return fmt.Errorf("%d folds", l.Folds)
	}
	for i, w := range l.ClassWeights {
		if !(w > 0) || math.IsInf(w, 0) {
			return fmt.Errorf("class %d has weight %g, want a number above 0", i, w)
		}
	}
	for _, lambda := range l.RuledOut {
		if !(lambda >= 0) || math.IsInf(lambda, 0) {
			return fmt.Errorf("lambda %g was ruled out, want numbers of 0 or more", lambda)
		}
	}
	for _, row := range l.Table {
		if err := checkRow(row, used); err != nil {
			return err
		}
	}
	for i, c := range l.Components {
		if !(c.Variance >= 0) || !(c.Share >= 0) {
			return fmt.Errorf("component %d: variance %g, share %g; want 0 or more", i+1, c.Variance, c.Share)
		}
	}
	return nil
}

func checkRow(r ridge.CVResult, used int64) error {
	if !(r.Lambda >= 0) || !(r.MSE >= 0) || !(r.StdErr >= 0) || !(r.Train >= 0) || r.Folds < 0 {
		return fmt.Errorf("lambda %g: errors %g ± %g and %g of %d folds; want 0 or more", r.Lambda, r.MSE, r.StdErr,
			r.Train, r.Folds)
	}
	if r.HeldOutRows < 0 || r.HeldOutRows > used || r.HeldOutErrors < 0 || r.HeldOutErrors > r.HeldOutRows ||
		!(r.HeldOutError >= 0 && r.HeldOutError <= 1) || !(r.Rounding >= 0) || !(r.HeldOutMSE >= 0) ||
		!(r.HeldOutLogLoss >= 0) || !(r.FoldMSE >= 0) {
		return fmt.Errorf("lambda %g: %d errors of %d held-out rows of %d, squares %g and %g", r.Lambda, r.HeldOutErrors,
			r.HeldOutRows, used, r.HeldOutMSE, r.FoldMSE)
	}
	return nil
}

func (c *TrainingLog) check(used int64) error {
	switch {
	case c.Partitions < 1 || c.Partitions > iterative.MaxPartitions:
		return fmt.Errorf("the number of partitions must be 1 to %d (have %d)", iterative.MaxPartitions, c.Partitions)
	case c.Rounds < 0:
		return fmt.Errorf("%d rounds", c.Rounds)
	case c.Rows < 1 || c.HeldOutRows < 0 || c.Rows > used || c.HeldOutRows > used-c.Rows:
		return fmt.Errorf("%d training rows and %d held-out rows, of %d", c.Rows, c.HeldOutRows, used)
	case c.HeldOutErrors < 0 || c.HeldOutErrors > c.HeldOutRows:
		return fmt.Errorf("%d errors of %d rows", c.HeldOutErrors, c.HeldOutRows)
	case !(c.HeldOutError >= 0 && c.HeldOutError <= 1):
		return fmt.Errorf("a held-out error of %g by weight, want 0 to 1", c.HeldOutError)
	case (c.Dual == nil) != (c.Gap == nil):
		return errors.New("a gap without a dual, or a dual without a gap")
	case c.Above != nil && !(*c.Above >= 0):
		return fmt.Errorf("the objective is %g above the least, want 0 or more", *c.Above)
	case c.Gap != nil && !(*c.Gap >= 0):
		return fmt.Errorf("the gap is %g, want 0 or more", *c.Gap)
	}
	for _, t := range c.Path {
		if !(t.Lambda >= 0) || t.Rounds < 0 || t.HeldOutRows < 0 || t.HeldOutRows > used || t.HeldOutErrors < 0 ||
			t.HeldOutErrors > t.HeldOutRows || !(t.HeldOutError >= 0 && t.HeldOutError <= 1) {
			return fmt.Errorf("lambda %g: %d rounds, %d errors of %d held-out rows of %d", t.Lambda, t.Rounds, t.HeldOutErrors,
				t.HeldOutRows, used)
		}
	}
	return nil
}

// checkProblem returns an error unless the problem in the options of the learner, which is what was solved,
// matches the rest of the manifest.
func (m *Manifest) checkProblem() error {
	var o struct {
		loss.Problem
		Partitions *int `json:"partitions"` // nil if the learner does not depend on it
	}
	c := m.Learner.Log
	if err := json.Unmarshal(c.Options, &o); err != nil {
		return err
	}
	if o.Partitions == nil {
		o.Partitions = &c.Partitions
	}
	for _, v := range []struct {
		name              string
		options, manifest any
	}{
		{"loss", o.Loss, c.Loss},
		{"lambda", o.Lambda, m.Learner.Lambda},
		{"rows", o.Rows, c.Rows},
		{"features", o.Dim, m.Features},
		{"outputs", o.Outputs, m.Outputs},
		{"regression", o.Regression, m.Task == Regression},
		{"partitions", *o.Partitions, c.Partitions},
	} {
		if v.options != v.manifest {
			return fmt.Errorf("%s is %v, elsewhere in the manifest it is %v; the manifest was edited, copy the model again",
				v.name, v.options, v.manifest)
		}
	}
	return nil
}

func (p *Profile) check(used int64) error {
	var sum int64
	for c, n := range p.ClassCounts {
		if n < 0 || n > used-sum {
			return fmt.Errorf("profile: %d rows of class %d, of %d rows", n, c, used)
		}
		sum += n
	}
	if len(p.ClassCounts) > 0 && sum != used {
		return fmt.Errorf("profile: classes have %d rows, want %d", sum, used)
	}
	if !(p.Width >= 0) {
		return fmt.Errorf("profile: width %g; want 0 or more", p.Width)
	}
	return nil
}

// check returns an error unless the entry can describe a file of the model directory.
func (f FileEntry) check() error {
	switch {
	case f.Name == "" || f.Name == "." || f.Name == ".." || f.Name == ManifestFile ||
		strings.ContainsAny(f.Name, "/\\\x00"):
		return fmt.Errorf("an entry for %.80q, which is not a file name in the directory of %s", f.Name, ManifestFile)
	case f.Size < 0:
		return fmt.Errorf("%s of %d bytes", f.Name, f.Size)
	}
	if sum, err := hex.DecodeString(f.SHA256); err != nil || len(sum) != sha256.Size {
		return fmt.Errorf("%s with the checksum %.80q, which is not a SHA-256", f.Name, f.SHA256)
	}
	return nil
}

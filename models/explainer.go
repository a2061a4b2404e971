package models

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/models/shapley"
)

// Explainer explains the predictions of a model. It is safe for concurrent use.
type Explainer struct {
	model   *Model
	names   []string
	shapley shapley.Explainer
}

// explain creates the explainer of a model once.
type explain struct {
	sync.Mutex
	explainer *Explainer
	dir       directory // the model's directory; nil if it was not loaded
}

// Columns returns the columns of the data, each with its range of the numbers of a row.
func (m *Model) Columns() []shapley.Column {
	if m.columns == nil { // the model was not loaded
		described := &Model{Manifest: m.Manifest}
		if described.readInput() == nil {
			m = described
		}
	}
	return shapley.ColumnsOf(m.Manifest.Input.Columns, m.table, m.Manifest.Input.Dim)
}

// Explainer returns the explainer of the model's predictions. The first call reads a file from the model's
// directory.
func (m *Model) Explainer() (*Explainer, error) {
	m.explain.Lock()
	defer m.explain.Unlock()
	if m.explain.explainer != nil {
		return m.explain.explainer, nil
	}
	e, err := m.newExplainer()
	if err != nil {
		return nil, fmt.Errorf("models: explain: %w", err)
	}
	m.explain.explainer = e
	return e, nil
}

// newExplainer returns an Explainer with exact Shapley values where the features allow it, and otherwise, or with
// segments, with estimates from a sample of orders.
func (m *Model) newExplainer() (*Explainer, error) {
	columns := m.Columns()
	data, err := m.profile()
	if err != nil {
		return nil, err
	}
	background, err := shapley.ReadBackground(data, columns)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ProfileFile, err)
	}
	r, err := m.Manifest.Recipe.Open()
	if err != nil {
		return nil, err
	}
	e := &Explainer{model: m}
	for _, c := range columns {
		e.names = append(e.names, c.Name)
	}
	if m.Manifest.Segments == nil {
		if e.shapley, err = shapley.NewExact(r, m.Linear, columns, background); !errors.Is(err, shapley.ErrMixed) {
			return e, err
		}
	}
	e.shapley, err = shapley.NewSampled(columns, background, m.Manifest.Input.Dim, m.Linear.K, m.Manifest.Seed,
		func() shapley.Scorer { return (&Applier{Model: m}).Scores })
	return e, err
}

// profile reads the statistics of the training rows.
func (m *Model) profile() ([]byte, error) {
	for _, f := range m.ExtraFiles {
		if f.Name == ProfileFile {
			return f.Data, nil
		}
	}
	if _, has := m.Manifest.File(ProfileFile); !has || m.explain.dir == nil {
		return nil, fmt.Errorf("the model has no %s with the values of its training rows, with which predictions are "+
			"compared; train it again", ProfileFile)
	}
	return readListed(context.Background(), m.explain.dir, m.Manifest, ProfileFile)
}

// Names returns the names of the columns. The caller must not change them.
func (e *Explainer) Names() []string { return e.names }

// Outputs returns how many scores of a row are explained: 1 for a classifier, otherwise all.
func (e *Explainer) Outputs() int { return e.model.Width() }

// Explanations has the explanations of n rows. Row by row, for each explained score, it has the base, the
// effects of all columns, and the largest standard error of sampled effects (0 if effects are exact).
type Explanations struct {
	Base, Effects, StdErr []float64
}

// Rows explains the predictions for n rows of x, in the form of Applier.Scores. output is the model's output for
// them. Rows without finite scores have no explanation. The memory of dst is reused.
func (e *Explainer) Rows(dst Explanations, output Applied, x []float32, n, threads int) Explanations {
	outputs, columns, k := e.Outputs(), len(e.names), e.model.Linear.K
	d, _ := e.model.Map.Dims()
	blas.Grow(&dst.Base, n*outputs)
	blas.Grow(&dst.Effects, n*outputs*columns)
	blas.Grow(&dst.StdErr, n*outputs)
	parallel.Ranges(n, 1, max(1, threads), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			rowScores := output.Scores[i*k : (i+1)*k]
			if !exact.AllFinite(rowScores) {
				continue
			}
			scores, effects := e.scores(output, i), dst.Effects[i*outputs*columns:(i+1)*outputs*columns]
			stdErr := e.shapley.Effects(effects, x[i*d:(i+1)*d], rowScores, scores)
			for o, s := range scores {
				base := e.base(s, o)
				dst.Base[i*outputs+o], dst.StdErr[i*outputs+o] = base, stdErr
				shapley.AdjustSum(effects[o*columns:(o+1)*columns], e.score(s, output, i, o)-base)
			}
		}
	})
	return dst
}

// scores returns the scores of row i to explain.
func (e *Explainer) scores(output Applied, i int) []shapley.Score {
	m := e.model.Manifest
	switch {
	case m.Task == Classification && m.Outputs == 2:
		positive := m.PositiveClass()
		return []shapley.Score{{{Output: positive, Factor: 0.5}, {Output: 1 - positive, Factor: -0.5}}}
	case m.Task == Classification:
		return []shapley.Score{{{Output: int(output.Classes[i]), Factor: 1}}}
	}
	scores := make([]shapley.Score, m.Outputs)
	for o := range scores {
		scores[o] = shapley.Score{{Output: o, Factor: 1}}
		if m.Task == Regression {
			scores[o][0].Factor = m.TargetGrid[o].Half()
		}
	}
	return scores
}

// base returns the base of score o of a row.
func (e *Explainer) base(s shapley.Score, o int) float64 {
	if m := e.model.Manifest; m.Task == Regression {
		return e.shapley.Base(s) + m.TargetGrid[o].Mid()
	}
	return e.shapley.Base(s)
}

// score returns the value of score o of row i, among those that are explained.
func (e *Explainer) score(s shapley.Score, output Applied, i, o int) (score float64) {
	k := e.model.Linear.K
	if output.Targets != nil {
		return output.Targets[i*k+o]
	}
	for _, t := range s {
		score += float64(t.Factor * float64(output.Scores[i*k+t.Output]))
	}
	return score
}

// texts returns the values of a row by column, as a file would have them.
func (m *Model) texts(x []float32) (texts []string) {
	for g, c := range m.Columns() {
		v := float64(x[c.From])
		text := strconv.FormatFloat(v, 'g', -1, 32)
		if m.centre != nil && m.centre[c.From] != 0 {
			v += m.centre[c.From]
			text = strconv.FormatFloat(v, 'g', 12, 64)
		}
		switch {
		case math.IsNaN(v):
			text = ""
		case m.table != nil:
			text = m.table.Columns[g].Text(v, text)
		}
		texts = append(texts, text)
	}
	return texts
}

// Explanation divides the prediction for a row among its columns.
type Explanation struct {
	Columns []string `json:"columns"` // as in the data; the caller must not change them
	// Values are the values of the columns as a file would have them; "" for a missing value.
	Values []string `json:"values"`
	// Class is the predicted class; "" unless the model is a classifier.
	Class string `json:"class,omitempty"`
	// Outputs has one entry for a classifier, otherwise one for each target or component.
	Outputs []Contributions `json:"outputs"`
}

// Contributions divide a score among columns: Score = Base + Σ Effects.
type Contributions struct {
	// Output is the target or the class. Of two classes it is the positive one, and the score is half the
	// difference of the two scores; of more it is the predicted class. Scores are those before
	// probabilities.
	Output string  `json:"output"`
	Score  float64 `json:"score"` // for a regression the prediction, in the units of the training data
	// Base is the mean score if each column takes the values of training rows, independently of other
	// columns.
	Base    float64   `json:"base"`
	Effects []float64 `json:"effects"`           // of each of Columns
	StdErr  float64   `json:"std_err,omitempty"` // the largest standard error of Effects; 0 if they are exact
}

// Explain divides the prediction for a row among its columns by Shapley values; see package shapley. The
// row is as for Predict; AppendRows makes one from named columns. The first call reads values of training
// rows, which serve as the background, from the model's directory.
//
// Effects are exact for Fourier features and for sums of functions of single columns. They are sampled for
// features that mix columns in other ways, such as maxout, and for models with Segments.
func (m *Model) Explain(row []float64) (*Explanation, error) {
	e, err := m.Explainer()
	if err != nil {
		return nil, err
	}
	if n := m.Manifest.Input.Dim; len(row) != n {
		return nil, fmt.Errorf("models: explain: %d numbers are not a row of %d", len(row), n)
	}
	x := make([]float32, len(row))
	if i := narrow(x, row, m.centre, m.table != nil); i >= 0 {
		return nil, m.rowError(0, i, row[i])
	}
	return e.Row(x)
}

// Row is Model.Explain for a row in the form of Applier.Scores.
func (e *Explainer) Row(x []float32) (*Explanation, error) {
	s := e.model.borrow()
	defer e.model.scratch.Put(s)
	output := s.applier.Apply(x, 1)
	if !exact.AllFinite(output.Scores) {
		return nil, &RowError{Column: -1}
	}
	result := &Explanation{Columns: e.names, Values: e.model.texts(x)}
	if output.Classes != nil {
		result.Class = e.model.Class(float64(output.Classes[0]))
	}
	explained, names := e.Rows(Explanations{}, output, x, 1, 1), e.model.Outputs()
	for o, s := range e.scores(output, 0) {
		result.Outputs = append(result.Outputs, Contributions{Output: names[s[0].Output], Score: e.score(s, output, 0, o),
			Base: explained.Base[o], Effects: explained.Effects[o*len(e.names) : (o+1)*len(e.names)],
			StdErr: explained.StdErr[o]})
	}
	return result, nil
}

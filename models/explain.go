package models

import "fmt"

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
	if !Finite(output.Scores) {
		return nil, &RowError{Column: -1}
	}
	result := &Explanation{Columns: e.names, Values: e.model.texts(x)}
	if output.Classes != nil {
		result.Class = e.model.Class(float64(output.Classes[0]))
	}
	found, names := e.Rows(Explained{}, output, x, 1, 1), e.model.Outputs()
	for o, s := range e.scores(output, 0) {
		result.Outputs = append(result.Outputs, Contributions{Output: names[s[0].Output], Score: e.score(s, output, 0, o),
			Base: found.Base[o], Effects: found.Effects[o*len(e.names) : (o+1)*len(e.names)], StdErr: found.StdErr[o]})
	}
	return result, nil
}

package rows

import (
	"fmt"
	"math"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/wire"
)

func init() {
	beam.RegisterType(reflect.TypeFor[Score]())
	beam.RegisterType(reflect.TypeFor[losses]())
	beam.RegisterType(reflect.TypeFor[tally]())
	beam.RegisterType(reflect.TypeFor[tallyFn]())
	beam.RegisterCoder(reflect.TypeFor[tally](), encodeTally, decodeTally)
	beam.RegisterFunction(splitLosses)
	beam.RegisterFunction(scoreOf)
}

// Score says how well a model predicts the rows of a window. Every row counts once.
type Score struct {
	Model string // digest of the model: models.Manifest.SHA256
	Rows  int64
	// Error is the share of rows whose class is wrong, 0 to 1. Classes that the model does not know are
	// wrong. It is nil for a regression.
	Error *float64
	// LogLoss is the mean of −ln p, where p is the probability of the row's class, at least 10⁻⁷. It is
	// nil for a regression, and for a model without probabilities.
	LogLoss *float64
	// RMSE has the root of the mean squared error of each target, in its units; nil for a classifier.
	RMSE []float64
}

// Evaluate compares the predictions of a model with the labels of rows. It returns a
// PCollection<Score> with an element for each window (and pane), of each model that was in use
// (Model.Every), and a PCollection<Rejected> of the rows without a label or a prediction. Scores
// are the same as from bochner evaluate, in any order of the rows. An embedding has none: the
// pipeline fails. Evaluate panics as Predict does.
func Evaluate(s beam.Scope, m Model, rows beam.PCollection) (scores, rejected beam.PCollection) {
	s = s.Scope("rows.Evaluate")
	losses, rejected := beam.ParDo2(s, splitLosses, m.apply(s, applyFn{Score: true}, rows))
	return beam.ParDo(s, scoreOf, beam.CombinePerKey(s, tallyFn{}, losses)), rejected
}

// losses are the losses of one row. A classifier has an error of 0 or 1 and a log loss, a regression the
// residual of each target.
type losses struct {
	Classifies bool
	Values     []float64
}

func splitLosses(r result, use func(string, losses), reject func(Rejected)) {
	if r.Reason != "" {
		reject(Rejected{r.Key, r.Reason})
		return
	}
	use(r.Model, losses{len(r.Values) == 0, r.Losses})
}

// tally sums losses exactly: the log losses of a classifier, or squared errors.
type tally struct {
	Rows       int64
	Classifies bool
	Sums       []exact.Sum
}

// Code implements wire.Coded.
func (t *tally) Code(c *wire.Coder) {
	c.Counts(&t.Rows)
	c.Bool(&t.Classifies)
	wire.Each(c, &t.Sums, math.MaxInt32, func(s *exact.Sum) { c.Part(s) })
}

func encodeTally(t tally) []byte { return wire.Marshal(&t) }

func decodeTally(b []byte) (t tally, err error) { return t, wire.Unmarshal(&t, b) }

// tallyFn adds losses.
type tallyFn struct{}

func (tallyFn) CreateAccumulator() tally { return tally{} }

func (tallyFn) AddInput(t tally, l losses) tally {
	if t.Rows == 0 {
		t.Classifies, t.Sums = l.Classifies, make([]exact.Sum, len(l.Values))
	}
	t.Rows++
	for i, v := range l.Values {
		if l.Classifies {
			t.Sums[i].Add64(v)
		} else {
			t.Sums[i].AddSquare64(v)
		}
	}
	return t
}

func (tallyFn) MergeAccumulators(a, b tally) (tally, error) {
	switch {
	case a.Rows == 0:
		return b, nil
	case b.Rows > 0 && len(a.Sums) != len(b.Sums):
		return a, fmt.Errorf("rows: one model has %d and %d losses", len(a.Sums), len(b.Sums))
	}
	a.Rows += b.Rows
	for i := range b.Sums {
		a.Sums[i].Merge(&b.Sums[i])
	}
	return a, nil
}

// scoreOf returns the scores of a tally: the RMSE of each target, or the error rate and the log loss.
func scoreOf(model string, t tally) Score {
	score := Score{Model: model, Rows: t.Rows}
	for i := range t.Sums {
		mean := exact.Mean(t.Rows, &t.Sums[i])
		switch {
		case !t.Classifies:
			score.RMSE = append(score.RMSE, math.Sqrt(mean))
		case i == 0:
			score.Error = &mean
		default:
			score.LogLoss = &mean
		}
	}
	return score
}

package models

import (
	"errors"
	"fmt"
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/score"
)

// ErrNoIntervals is returned by models without held-out rows, such as models of sums, or without probabilities.
var ErrNoIntervals = errors.New("models: the model has no intervals or sets; train on rows, with --folds or several " +
	"--lambda and without --intervals none; sets of classes also need probabilities, as from --calibrate platt")

// DefaultLevel is the level of intervals in summaries and evaluations.
const DefaultLevel = 0.9

// LevelError reports a level that is not between 0 and 1, or needs more held-out rows than the model has.
type LevelError struct {
	Level float64
	Rows  int64  // independent held-out rows of the model, or groups of them
	Need  int64  // least number for the level; 0 if no number is enough
	Of    string // "rows" or "groups of rows"
}

func (e *LevelError) Error() string {
	if e.Need == 0 {
		return fmt.Sprintf("models: level %g: want a number above 0 and below 1, such as 0.9", e.Level)
	}
	return fmt.Sprintf("models: level %g needs %d held-out %s; the model has %d, which allow levels up to %.4g", e.Level,
		e.Need, e.Of, e.Rows, float64(e.Rows)/float64(e.Rows+1))
}

// Intervals has the conformity scores of held-out rows, scored by a model that was fitted without them. For a regression
// a score is |y − prediction|/s in half ranges of the target grid, where s is √(1 + leverage) if Scaled, otherwise 1.
// For classes it is −p, with the probability p of the row's class.
type Intervals struct {
	Rows   int64 `json:"rows"`             // number of rows of the first fold, which have the scores
	Groups int64 `json:"groups,omitempty"` // number of groups of those rows; 0 if rows are independent
	Folds  int   `json:"folds"`
	Scaled bool  `json:"scaled,omitempty"`
	// Scores are the scores at the ranks 1, score.NextRank(1), … from the largest down: a list for each
	// target, or one list for classes.
	Scores [][]float32 `json:"scores"`
}

func (v *Intervals) check(m *Manifest) error {
	lists := m.Outputs
	switch {
	case v == nil:
		return nil
	case m.Task == Classification && m.Probabilities != nil:
		lists = 1
	case m.Task != Regression:
		return fmt.Errorf("intervals of %s without probabilities", m.Task)
	}
	if v.Rows < 1 || v.Rows > 1<<48 || v.Groups < 0 || v.Groups > v.Rows || v.Folds < 2 || len(v.Scores) != lists {
		return fmt.Errorf("intervals by %d rows, %d groups, of a fold of %d, for %d outputs; want %d", v.Rows, v.Groups,
			v.Folds, len(v.Scores), lists)
	}
	if v.Scaled && (m.Sketch == nil || m.Task != Regression) {
		return errors.New("intervals are scaled by novelty, but the model has no sketch")
	}
	for _, scores := range v.Scores {
		place := int64(0)
		for i, s := range scores {
			place = score.NextRank(place)
			if !exact.Finite(s) || i > 0 && s > scores[i-1] || m.Task == Regression && s < 0 {
				return fmt.Errorf("intervals: score %d is %g; want finite numbers in descending order", i, s)
			}
		}
		if place > v.Rows || score.NextRank(place) <= v.Rows {
			return fmt.Errorf("intervals: %d scores of %d rows", len(scores), v.Rows)
		}
	}
	return nil
}

// Units returns the number of independent rows, or of groups if rows have groups.
func (v *Intervals) Units() int64 {
	if v.Groups > 0 {
		return v.Groups
	}
	return v.Rows
}

// Highest returns the highest level that the number of rows or groups allows.
func (v *Intervals) Highest() float64 { return float64(v.Units()) / float64(v.Units()+1) }

// at returns the index in Scores of the score for a level: among n scores and the score of a new row, the
// smallest that is at least as large as the share level of the n + 1.
func (v *Intervals) at(level float64) (int, error) {
	if !(level > 0 && level < 1) {
		return 0, &LevelError{Level: level}
	}
	units, noun := v.Units(), "rows"
	if v.Groups > 0 {
		noun = "groups of rows"
	}
	// A new row counts as one, or as a group of mean size.
	rank := level * (float64(v.Rows) + float64(v.Rows)/float64(units))
	if whole := math.Round(rank); math.Abs(rank-whole) < 1e-9*max(1, rank) {
		rank = whole
	}
	above := v.Rows + 1 - int64(math.Ceil(max(rank, 1))) // rounding may have made it 0
	if above < 1 {
		need := level / (1 - level)
		return 0, &LevelError{level, units, max(units+1, int64(math.Ceil(need-float64(1e-9*need)))), noun}
	}
	at := 0
	for place := int64(1); ; at++ {
		place = score.NextRank(place)
		if place > above {
			return at, nil
		}
	}
}

// Score returns the half width of a target's intervals at a level, in half ranges of its grid, before scaling.
func (v *Intervals) Score(target int, level float64) (float64, error) {
	at, err := v.at(level)
	if err != nil {
		return 0, err
	}
	return float64(v.Scores[target][at]), nil
}

// Level gives intervals or sets of one level.
type Level struct {
	model *Model
	at    int
}

// Level returns the intervals or sets of a level: the share of new rows, if they are like the training
// rows, whose target or class is inside. The error is ErrNoIntervals or a *LevelError.
func (m *Model) Level(level float64) (Level, error) {
	v := m.Manifest.Intervals
	if v == nil {
		return Level{}, ErrNoIntervals
	}
	at, err := v.at(level)
	return Level{m, at}, err
}

// levelOf is Level for a method that needs a task.
func (m *Model) levelOf(task Task, level float64) (Level, error) {
	if has := m.Manifest.Task; has != task {
		text := map[Task]string{Regression: "a regression, which has intervals: call Intervals", Embedding: "an embedding, " +
			"which has no intervals or sets", Classification: "a classifier, which has sets of classes: call Sets"}[has]
		return Level{}, &storage.ReasonError{Text: "models: the model is " + text, Kind: ErrNoIntervals}
	}
	return m.Level(level)
}

// Ends stores in dst the ends of the intervals of a regression, low and high for each target of each row,
// given the output of the model for the rows. Intervals that are Scaled need its Novelty.
func (l Level) Ends(dst []float64, output Applied) {
	v, k, grids := l.model.Manifest.Intervals, l.model.Linear.K, l.model.Manifest.TargetGrid
	for i := range len(output.Scores) / k {
		s := 1.0
		if v.Scaled {
			s = math.Sqrt(1 + float64(l.model.Manifest.Sketch.Leverage*float64(output.Novelty[i])))
		}
		for c, y := range output.Scores[i*k : (i+1)*k] {
			half := float64(float64(v.Scores[c][l.at]) * s)
			at := 2 * (i*k + c)
			dst[at] = grids[c].Mid() + float64(grids[c].Half()*(float64(y)-half))
			dst[at+1] = grids[c].Mid() + float64(grids[c].Half()*(float64(y)+half))
		}
	}
}

// Has reports whether the class at index i of output.Scores is in the set of its row. The predicted class always is.
func (l Level) Has(output Applied, i int) bool {
	k := l.model.Linear.K
	return output.Probabilities[i] >= -l.model.Manifest.Intervals.Scores[0][l.at] || int(output.Classes[i/k]) == i%k
}

// Intervals stores in dst the low and high end of an interval for each output of each row. If rows are like the training
// rows, each target is inside its interval with a probability of at least level. Rows are as for Predict. Nothing is
// allocated in the steady state. The error is a *LevelError or ErrNoIntervals.
func (m *Model) Intervals(dst, rows []float64, level float64) error {
	l, err := m.levelOf(Regression, level)
	if err != nil {
		return err
	}
	return run(m, dst, rows, result{width: 2 * m.Linear.K, novelty: m.Manifest.Intervals.Scaled, store: l.Ends})
}

// Sets stores in dst, for each row and each of Outputs, 1 if the class is in the set of the row, otherwise
// 0. The set contains the true class with a probability of at least level. It always contains the predicted
// class, so coverage is higher if the model is right more often than level. Errors are as for Intervals.
func (m *Model) Sets(dst, rows []float64, level float64) error {
	l, err := m.levelOf(Classification, level)
	if err != nil {
		return err
	}
	return run(m, dst, rows, result{width: m.Linear.K, store: l.indicate})
}

func (l Level) indicate(dst []float64, output Applied) {
	for i := range dst {
		dst[i] = 0
		if l.Has(output, i) {
			dst[i] = 1
		}
	}
}

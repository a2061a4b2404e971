package models

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/stattest"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/score"
)

// certain is a model with a spread and intervals by n rows, whose scores are from 1/n to 1.
func certain(t testing.TB, m *Model, n int64) *Model {
	t.Helper()
	l := &linear.Model{K: 2, D: m.Linear.D, W: make([]float32, 2*m.Linear.D), B: []float32{0.5, -1}}
	for i := range l.W {
		l.W[i] = float32(math.Cos(float64(i)))
	}
	m.Manifest.Sketch = NewSketch(l, 0.25)
	v := &Intervals{Rows: n, Folds: 5, Scaled: !m.Classifies(), Scores: [][]float32{nil}}
	for rank := int64(1); rank <= n; rank = score.NextRank(rank) {
		s := float32(n+1-rank) / float32(n)
		if m.Classifies() {
			s = -float32(rank) / float32(n+1) // the least probability first
		}
		v.Scores[0] = append(v.Scores[0], s)
	}
	m.Manifest.Intervals = v
	return loaded(t, m)
}

// The score for a level is the one at rank n + 1 − ⌈level·(n + 1)⌉ from the top, or the next larger one that
// is kept. It is never too far down, also where level·(n + 1) is a whole number.
func TestLevelsAreExact(t *testing.T) {
	for _, n := range []int64{1, 9, 10, 99, 100, 763, 5000} {
		v := Intervals{Rows: n, Folds: 5}
		var kept []int64
		for rank := int64(1); rank <= n; rank = score.NextRank(rank) {
			kept = append(kept, rank)
		}
		for thousandths := int64(1); thousandths < 1000; thousandths++ {
			rank := (thousandths*(n+1) + 999) / 1000
			at, err := v.at(float64(thousandths) / 1000)
			var level *LevelError
			if rank > n {
				if !errors.As(err, &level) || level.Need <= n || (thousandths*(level.Need+1)+999)/1000 > level.Need ||
					(thousandths*level.Need+999)/1000 <= level.Need-1 {
					t.Errorf("%d rows: level %g‰ needs %v", n, float64(thousandths), err)
				}
				continue
			}
			want, exact := slices.BinarySearch(kept, n+1-rank)
			if !exact {
				want--
			}
			if err != nil || at != want {
				t.Errorf("%d rows: level %d‰ is at %d, want %d (%v)", n, thousandths, at, want, err)
			}
		}
		for _, level := range []float64{1e-12, math.SmallestNonzeroFloat64} {
			if at, err := v.at(level); err != nil || at != len(kept)-1 {
				t.Errorf("%d rows: level %g is at %d of %d scores (%v)", n, level, at, len(kept), err)
			}
		}
	}
	// A new row counts as the rows of a group: of 10 groups in 100 rows, the level 0.9 needs 99 of 100 scores.
	v := Intervals{Rows: 100, Groups: 10, Folds: 5}
	if at, err := v.at(0.9); err != nil || at != 1 {
		t.Error(at, err)
	}
	for _, level := range []float64{0, 1, -1, math.NaN(), 0.95} {
		if _, err := v.at(level); err == nil {
			t.Errorf("level %g of 10 groups", level)
		}
	}
}

func TestIntervalsMatchTheirDefinition(t *testing.T) {
	m := certain(t, regressor(t), 9)
	x := []float64{1, 2, -3, 4, 0.5, 0}
	y, novelty, ends := make([]float64, 3), make([]float64, 3), make([]float64, 6)
	if err := errors.Join(m.Predict(y, x), m.Novelty(novelty, x), m.Intervals(ends, x, 0.8)); err != nil {
		t.Fatal(err)
	}
	l, phi := m.Manifest.Sketch.linear, make([]float32, 5)
	for i := range 3 {
		m.Map.Apply(phi, []float32{float32(x[2*i]), 0}, 1)
		var want float64
		for k := range 2 {
			s := float64(l.B[k])
			for j, w := range l.W[5*k:][:5] {
				s += float64(w) * float64(phi[j])
			}
			want += s * s
		}
		if math.Abs(novelty[i]-want) > 1e-5*want {
			t.Errorf("row %d: novelty %g, want %g", i, novelty[i], want)
		}
		w := m.Manifest.TargetGrid[0].Half() * (8. / 9) * math.Sqrt(1+0.25*novelty[i])
		if math.Abs(ends[2*i]-(y[i]-w)) > 1e-6*w || math.Abs(ends[2*i+1]-(y[i]+w)) > 1e-6*w {
			t.Errorf("row %d: %v, want %g ± %g", i, ends[2*i:2*i+2], y[i], w)
		}
	}
	if stattest.Racing {
		return
	}
	if got := testing.AllocsPerRun(200, func() {
		if err := errors.Join(m.Intervals(ends, x, 0.8), m.Novelty(novelty, x)); err != nil {
			t.Error(err)
		}
	}); got != 0 {
		t.Errorf("%g allocations", got)
	}
}

// A row whose novelty overflows although its scores do not, as is possible with features without a bound, has
// no interval.
func TestRowsWithoutAFiniteNoveltyAreRejected(t *testing.T) {
	m := certain(t, regressor(t), 9)
	for i := range m.Manifest.Sketch.linear.W {
		m.Manifest.Sketch.linear.W[i] = 1e30
	}
	x, dst := []float64{1, 2}, make([]float64, 2)
	for name, err := range map[string]error{"novelty": m.Novelty(dst, x), "intervals": m.Intervals(dst, x, 0.8)} {
		if row, ok := errors.AsType[*RowError](err); !ok || row.Column != -1 {
			t.Errorf("%s: %v, %v", name, dst, err)
		}
	}
	if err := m.Predict(dst, x); err != nil {
		t.Error(err)
	}
}

func TestPredictionSetsMatchTheirDefinition(t *testing.T) {
	m := classifier(t)
	m.Manifest.Probabilities = &Probabilities{Kind: Softmax}
	m = certain(t, m, 9)
	x := []float64{1, 2, -3, 4, 0.5, 0}
	p, class, in := make([]float64, 9), make([]float64, 3), make([]float64, 9)
	for _, level := range []float64{0.2, 0.5, 0.8, 0.9} {
		if err := errors.Join(m.Probabilities(p, x), m.Predict(class, x), m.Sets(in, x, level)); err != nil {
			t.Fatal(err)
		}
		least := 1 - level // of ranks 1/10, 2/10, …
		for i, v := range in {
			want := p[i] >= float64(float32(least)) || int(class[i/3]) == i%3
			if (v == 1) != want {
				t.Errorf("level %g: class %d of row %d with probability %g is in the set: %v", level, i%3, i/3, p[i], v)
			}
		}
	}
	if err := m.Intervals(make([]float64, 6), x, 0.5); !errors.Is(err, ErrNoIntervals) {
		t.Error(err)
	}
}

// The error for a model of another task names the method to call, and does not advise to train on rows.
func TestIntervalsOfAnotherTaskNameTheMethodToCall(t *testing.T) {
	sets, numbers := classifier(t), regressor(t)
	sets.Manifest.Probabilities = &Probabilities{Kind: Softmax}
	embedding := &Model{Manifest: &Manifest{Task: Embedding}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{certain(t, sets, 9).Intervals(nil, nil, 0.5), "the model is a classifier, which has sets of classes: call Sets"},
		{loaded(t, sets).Intervals(nil, nil, 0.5), "call Sets"},
		{loaded(t, classifier(t)).Sets(nil, nil, 0.5), "sets of classes also need probabilities"},
		{certain(t, numbers, 9).Sets(nil, nil, 0.5), "the model is a regression, which has intervals: call Intervals"},
		{loaded(t, numbers).Sets(nil, nil, 2), "call Intervals"},
		{embedding.Sets(nil, nil, 0.5), "the model is an embedding, which has no intervals or sets"},
		{embedding.Intervals(nil, nil, 0.5), "the model is an embedding"},
	} {
		if !errors.Is(c.err, ErrNoIntervals) || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
}

func TestModelsWithoutIntervalsReturnTypedErrors(t *testing.T) {
	m, x := loaded(t, regressor(t)), []float64{1, 2}
	dst := make([]float64, 2)
	if err := m.Intervals(dst, x, 0.9); !errors.Is(err, ErrNoIntervals) {
		t.Error(err)
	}
	if err := m.Novelty(dst, x); !errors.Is(err, ErrNoNovelty) {
		t.Error(err)
	}
	m = certain(t, regressor(t), 50)
	var level *LevelError
	if err := m.Intervals(dst, x, 0.999); !errors.As(err, &level) || level.Need != 999 || level.Rows != 50 ||
		!strings.Contains(err.Error(), "needs 999 held-out rows; the model has 50") {
		t.Error(err)
	}
}

func TestNoveltyNeedsASketch(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); got != "models: Applier.Novelty: the model has no Sketch" {
			t.Error(got)
		}
	}()
	(&Applier{Model: regressor(t), Novelty: true}).Scores(make([]float32, 2), 1)
}

func TestDamagedIntervalsAreRejected(t *testing.T) {
	for name, damage := range map[string]func(*Manifest){
		"a score less":      func(m *Manifest) { m.Intervals.Scores[0] = m.Intervals.Scores[0][1:] },
		"a score more":      func(m *Manifest) { m.Intervals.Scores[0] = append(m.Intervals.Scores[0], 0) },
		"no scores":         func(m *Manifest) { m.Intervals.Scores = nil },
		"ascending":         func(m *Manifest) { m.Intervals.Scores[0][3] = 2 },
		"negative":          func(m *Manifest) { m.Intervals.Scores[0][8] = -1 },
		"no rows":           func(m *Manifest) { m.Intervals.Rows = 0 },
		"more groups":       func(m *Manifest) { m.Intervals.Groups = 10 },
		"one fold":          func(m *Manifest) { m.Intervals.Folds = 1 },
		"no spread":         func(m *Manifest) { m.Sketch = nil },
		"a spread of zero":  func(m *Manifest) { m.Sketch.Leverage = 0 },
		"too many probes":   func(m *Manifest) { m.Sketch.Probes = 65 },
		"another task":      func(m *Manifest) { m.Task = Classification },
		"beyond all bounds": func(m *Manifest) { m.Intervals.Rows = math.MaxInt64 },
	} {
		m := certain(t, regressor(t), 9)
		damage(m.Manifest)
		if err := m.Manifest.check(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

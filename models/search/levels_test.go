package search

import (
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
)

// places returns a pilot whose first column is one of 30 whole numbers. of(number) is the slope of
// the labels in the second column.
func places(n int, classes bool, of func(place int) float64) *Pilot {
	p := madeLabels(n, 3, 0.3, classes, func(x []float32) float64 {
		place := int(math.Abs(float64(x[0]))*1e4) % 30
		x[0] = float32(place)
		return of(place) * (1 + float64(x[1]))
	})
	return p
}

// named is a function of place that says nothing about neighbouring places.
func named(place int) float64 { return float64(place*place*7%13)/3 - 2 }

func withLevels(p *Pilot) Options {
	o := options(p)
	standard := preprocess.NewStandard([]float64{15, 0, 0}, []float64{75, 1, 1})
	clipped := preprocess.Clip{At: []float32{1, 1, 1}}
	o.Views, o.Levels = []View{{Name: standardView, Steps: []features.Recipe{standard}},
		{Name: "clipped", Steps: []features.Recipe{standard, clipped}}}, func(int) bool { return true }
	o.Kernels = o.Kernels[:1]
	return o
}

func TestNumbersThatNameThingsBecomeLevels(t *testing.T) {
	for _, classes := range []bool{false, true} {
		p := places(400, classes, named)
		o := withLevels(p)
		r := run(t, p, o)
		if !slices.Equal(r.Levels, []int{0}) || len(r.Steps) < 2 {
			t.Errorf("classes %v: chose %v, levels of columns %v, %d steps", classes, r.Chosen.Candidate, r.Levels, len(r.Steps))
		}
		if classes && !campaign.Whole() {
			continue
		}
		o.Levels = nil
		without := run(t, p, o)
		if without.Levels != nil || r.Chosen.Loss > 0.8*without.Chosen.Loss {
			t.Errorf("classes %v: loss %.4f with levels, %.4f of %v without", classes, r.Chosen.Loss, without.Chosen.Loss,
				without.Chosen.Candidate)
		}
	}
}

// Columns of few whole numbers, counts or codes, are tried as levels.
func TestSmallWholeNumbersAreTriedAsLevels(t *testing.T) {
	campaign.Long(t)
	p := made(800, 4, 0.1, func(x []float32) float64 {
		code := func(j, values int) int {
			x[j] = float32(int(math.Abs(float64(x[j]))*1e4) % values)
			return int(x[j])
		}
		x[2] = float32(code(2, 5)) / 2 // not whole
		a, b := named(code(0, 8)), named(code(1, 8))
		return a*b + float64(0*code(3, 33))
	})
	o := withLevels(p)
	o.Views = o.Views[:1]
	o.Views[0].Steps = []features.Recipe{preprocess.NewStandard([]float64{3.5, 3.5, 1, 16}, []float64{5, 5, 0.5, 90})}
	r := run(t, p, o)
	if v := r.Chosen.View; v != wholeView && v != bothView && v != differencesView || !slices.Equal(r.Levels, []int{0, 1}) {
		t.Errorf("chose %v, levels of columns %v", r.Chosen.Candidate, r.Levels)
	}
	o.Levels = func(j int) bool { return j != 0 } // --numeric
	if r = run(t, p, o); slices.Contains(r.Levels, 0) {
		t.Errorf("levels of columns %v", r.Levels)
	}
}

// Among many irrelevant columns, levels predict no better than numbers until a metric is learned.
func TestLevelsAreFoundAmongManyColumns(t *testing.T) {
	campaign.Long(t)
	d, things := campaign.Pick(40, 100), campaign.Pick(50, 150)
	p := made(campaign.Pick(850, 2500), d, 0.1, func(x []float32) float64 {
		thing := int(math.Abs(float64(x[0]))*1e4) % things
		x[0] = float32(thing)
		return 2*named(thing) + float64(x[1])
	})
	mean, variance := make([]float64, d), make([]float64, d)
	for j := range d {
		variance[j] = 1
	}
	mean[0], variance[0] = float64(things)/2, float64(things*things)/12
	o := options(p)
	o.Views, o.Levels = []View{{Name: standardView,
		Steps: []features.Recipe{preprocess.NewStandard(mean, variance)}}}, func(int) bool { return true }
	r := run(t, p, o)
	if r.Chosen.View != levelsView || r.Chosen.Metric == noMetric || r.Chosen.Loss > 0.05 {
		t.Errorf("chose %v, loss %.4f", r.Chosen.Candidate, r.Chosen.Loss)
	}
}

// No candidate uses levels of columns that measure something or that labels do not depend on.
func TestNumbersThatMeasureStayNumbers(t *testing.T) {
	for name, of := range map[string]func(place int) float64{
		"a line":  func(place int) float64 { return float64(place) / 5 },
		"a wave":  func(place int) float64 { return 2 * math.Sin(float64(place)/5) },
		"nothing": func(int) float64 { return 0 },
	} {
		for n := 240; n < 260; n++ {
			p := places(n, n%2 == 0, of)
			o := withLevels(p)
			r := &runner{pilot: p, options: o}
			var err error
			if r.labels, err = p.labels(); err != nil {
				t.Fatal(err)
			}
			s, err := newViewRows(p, o.Views[0], 0, 1)
			if err != nil {
				t.Fatal(err)
			}
			if found := r.levels(s).Named(); found.Columns != nil {
				t.Errorf("%s, %d rows: %v", name, n, found)
			}
		}
	}
}

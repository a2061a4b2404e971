package rows_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/testing/prismtest"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/transforms/rows"
)

const points = 2500 // more than two blocks

// numbers returns the first n points.
func numbers(s beam.Scope, n int) beam.PCollection {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return beam.ParDo(s, pointOf, beam.CreateList(s, all))
}

// expected returns what the model's own methods say of the points, each in the places that at gives,
// and which points have no prediction.
func expected(t *testing.T, dir string, n int, key func(point) string, at func(point) []string) (predictions,
	rejected []string) {
	t.Helper()
	m, err := models.LoadURI(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		p := pointOf(i)
		for _, place := range at(p) {
			if p.Y != p.Y {
				rejected = append(rejected, fmt.Sprintf("%s: %+v", place,
					rows.Rejected{Key: key(p), Reason: `column "y": is missing`}))
				continue
			}
			x := []float64{p.X, p.Y}
			class, scores, chances := make([]float64, 1), make([]float64, 2), make([]float64, 2)
			for _, err := range []error{m.Predict(class, x), m.Scores(scores, x), m.Probabilities(chances, x)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			narrow := func(v []float64) []float32 { return []float32{float32(v[0]), float32(v[1])} }
			predictions = append(predictions, fmt.Sprintf("%s: %+v", place,
				rows.Prediction{Key: key(p), Class: m.Class(class[0]), Scores: narrow(scores), Probabilities: narrow(chances),
					Model: m.Manifest.SHA256}))
		}
	}
	slices.Sort(predictions)
	slices.Sort(rejected)
	return predictions, rejected
}

// intervals returns the places of a point in windows of so many seconds that begin every so many.
func intervals(size, period int64) func(point) []string {
	return func(p point) (out []string) {
		for start := p.Seen - p.Seen%period; start > p.Seen-size; start -= period {
			out = append(out, fmt.Sprint(start*1000, " ", (start+size)*1000, " ", p.Seen*1000))
		}
		return out
	}
}

func TestPredictionsUseTheModelOfTheirWindow(t *testing.T) {
	dir := classifier(t, t.TempDir(), 0)
	id := func(p point) string { return p.ID }
	for _, c := range []struct {
		name   string
		key    func(point) string
		at     func(point) []string
		points func(beam.Scope) beam.PCollection
	}{
		{"global", id, func(p point) []string { return []string{fmt.Sprint("global ", p.Seen*1000)} },
			func(s beam.Scope) beam.PCollection {
				return beam.ParDo(s, timed, numbers(s, points))
			}},
		{"pairs", func(p point) string { return fmt.Sprint(p.Seen) }, intervals(10, 10), func(s beam.Scope) beam.PCollection {
			return beam.ParDo(s, pairOf, beam.WindowInto(s, window.NewFixedWindows(10*time.Second),
				beam.ParDo(s, timed, numbers(s, points))))
		}},
		{"fixed", id, intervals(10, 10), func(s beam.Scope) beam.PCollection {
			return beam.WindowInto(s, window.NewFixedWindows(10*time.Second), beam.ParDo(s, timed, numbers(s, points)))
		}},
		{"sliding", id, intervals(20, 10), func(s beam.Scope) beam.PCollection {
			return beam.WindowInto(s, window.NewSlidingWindows(10*time.Second, 20*time.Second),
				beam.ParDo(s, timed, numbers(s, points)))
		}},
	} {
		predictions, rejected := expected(t, dir, points, c.key, c.at)
		for runner := range prismtest.Runners {
			t.Run(c.name+"/"+runner, func(t *testing.T) {
				got, r := gather(t, runner, func(s beam.Scope) []beam.PCollection {
					p, bad := rows.Predict(s, rows.Model{Name: dir, Threads: 2}, c.points(s))
					return []beam.PCollection{p, bad}
				})
				with, _ := gather(t, runner+" with rows", func(s beam.Scope) []beam.PCollection {
					pairs, bad := rows.WithPredictions(s, rows.Model{Name: dir}, c.points(s))
					return []beam.PCollection{beam.ParDo(s, predictionOf, pairs), bad}
				})
				if d := cmp.Diff([][]string{predictions, rejected}, with); d != "" {
					t.Errorf("with their rows: %s", d)
				}
				if d := cmp.Diff(predictions, got[0]); d != "" {
					t.Error(d)
				}
				if d := cmp.Diff(rejected, got[1]); d != "" || len(rejected) == 0 {
					t.Error(d)
				}
				n := int64(len(predictions) + len(rejected))
				want := map[string]int64{"rows_read": n, "rows_used": int64(len(predictions)),
					"rows_set_aside": int64(len(rejected))}
				if d := cmp.Diff(want, counters(r)); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// predictionOf returns the prediction of a point, and an error if it is another point's.
func predictionOf(p point, of rows.Prediction) (rows.Prediction, error) {
	if of.Key != p.ID && of.Key != fmt.Sprint(p.Seen) {
		return of, fmt.Errorf("the point %s has the prediction of %s", p.ID, of.Key)
	}
	return of, nil
}

// Rows that are too long for a block of the usual number of rows come back under their own keys.
func TestLongRowsKeepTheirKeys(t *testing.T) {
	const n = 600
	dir := made(t, t.TempDir(), 0, fourier.Gaussian{In: longNumbers, Out: 2, Width: 50, Seed: 1})
	m, err := models.LoadURI(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var want, features []string
	all := make([]int, n)
	for i := range n {
		all[i] = i
		r, scores, phi := longRow(i), make([]float64, 2), make([]float32, 2)
		if err := m.Scores(scores, r.Values); err != nil {
			t.Fatal(err)
		}
		x := make([]float32, longNumbers)
		for j, v := range r.Values {
			x[j] = float32(v)
		}
		m.Map.Apply(phi, x, 1)
		want = append(want, fmt.Sprint(r.Key, []float32{float32(scores[0]), float32(scores[1])}))
		features = append(features, fmt.Sprint(r.Key, phi))
	}
	slices.Sort(want)
	slices.Sort(features)
	got, _ := gather(t, "direct", func(s beam.Scope) []beam.PCollection {
		col := beam.ParDo(s, longRow, beam.CreateList(s, all))
		p, _ := rows.Predict(s, rows.Model{Name: dir}, col)
		f, _ := rows.Featurize(s, rows.Model{Name: dir}, col)
		return []beam.PCollection{beam.ParDo(s, keyAndScores, p), beam.ParDo(s, keyAndFeatures, f)}
	})
	for i, want := range [][]string{want, features} {
		for j, line := range got[i] {
			_, got[i][j], _ = strings.Cut(line, ": ")
		}
		slices.Sort(got[i])
		if d := cmp.Diff(want, got[i]); d != "" {
			t.Error(d)
		}
	}
}

func keyAndScores(p rows.Prediction) string { return fmt.Sprint(p.Key, p.Scores) }

func keyAndFeatures(f rows.Features) string { return fmt.Sprint(f.Key, f.Values) }

func TestFeaturesMatchTheMap(t *testing.T) {
	dir := classifier(t, t.TempDir(), 0)
	m, err := models.LoadURI(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 99 {
		p := pointOf(i)
		phi := make([]float32, 64)
		m.Map.Apply(phi, []float32{float32(p.X), float32(p.Y)}, 1)
		want = append(want, fmt.Sprintf("%+v", rows.Features{Key: p.ID, Values: phi, Model: m.Manifest.SHA256}))
	}
	slices.Sort(want)
	for runner := range prismtest.Runners {
		got, _ := gather(t, runner, func(s beam.Scope) []beam.PCollection {
			f, bad := rows.Featurize(s, rows.Model{Name: dir}, numbers(s, 100))
			return []beam.PCollection{f, bad}
		})
		for i, line := range got[0] {
			_, got[0][i], _ = strings.Cut(line, ": ")
		}
		slices.Sort(got[0])
		if d := cmp.Diff(want, got[0]); d != "" || len(got[1]) != 1 {
			t.Errorf("%s: %d rejected: %s", runner, len(got[1]), d)
		}
	}
}

package scoring

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
)

// scored takes in rows of a model of two classes whose scores are its numbers.
func scored(t testing.TB, m *models.Model, y []float64, scores []float32) *ClassScores {
	t.Helper()
	a := newApplier(someReader(t), m)
	s := a.newClassScores()
	b := &rowio.Block{N: len(y), D: 2, X: scores, Y: y}
	if err := s.add(b, a.apply(b), func(float64) string { return "odd" }, new(sliced),
		slices.Repeat([]int64{1}, len(y))); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScoresOfClassesMergeToScoresOfAllRows(t *testing.T) {
	nan := float32(math.NaN())
	y := []float64{0, 1, 1, score.Unseen, 0}
	scores := []float32{2, 0, 0, 1, 3, 0, nan, 0, 0.5, 0.5}
	with, without := modelOf("a", "b"), modelOf("a", "b")
	with.Manifest.Probabilities = &models.Probabilities{Kind: models.Softmax}
	for _, m := range []*models.Model{with, without} {
		want := scored(t, m, y, scores)
		got := scored(t, m, y[3:], scores[6:])
		wire.Merge(got, scored(t, m, y[:3], scores[:6]))
		data := wire.Marshal(got)
		if all := wire.Marshal(want); !bytes.Equal(data, all) {
			t.Errorf("%q, want %q", data, all)
		}
		var back ClassScores
		if err := wire.Unmarshal(&back, data); err != nil {
			t.Fatal(err)
		}
		if again := wire.Marshal(&back); !bytes.Equal(again, data) {
			t.Errorf("decoded and encoded again it differs")
		}
		if r := want.Ranking.Report([]string{"a", "b"}, 5); r.Rows != 4 || r.NotFinite != 1 || *r.AUC != 0.5 {
			t.Errorf("%+v", r)
		}
		if l := want.Unseen.Summary(); l.Rows != 1 || l.Vocabulary.Classes[0] != "odd" {
			t.Errorf("labels of no class: %+v", l)
		}
		if n := want.Hits.Report([]string{"a", "b"}).Rows; n != 5 {
			t.Errorf("%d rows", n)
		}
		if (want.Probabilities == nil) != (m == without) {
			t.Fatalf("chances %v", want.Probabilities)
		}
		// The row whose scores are not finite has no probabilities.
		if want.Probabilities != nil && want.Probabilities.Report(1).Rows != 4 {
			t.Errorf("%+v", want.Probabilities.Report(1))
		}
	}
}

func FuzzClassScoresDecode(f *testing.F) {
	m := modelOf("a", "b")
	m.Manifest.Probabilities = &models.Probabilities{Kind: models.Logistic}
	data := wire.Marshal(scored(f, m, []float64{0, 1}, []float32{2, 0, 1, 0}))
	f.Add(data)
	f.Add(data[:5])
	f.Add([]byte{255, 255, 255, 255, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		var s ClassScores
		if wire.Unmarshal(&s, data) != nil {
			return
		}
		again := wire.Marshal(&s)
		var back ClassScores
		if err := wire.Unmarshal(&back, again); err != nil {
			t.Errorf("%q comes back as %q: %v", data, again, err)
		}
		if twice := wire.Marshal(&back); !bytes.Equal(twice, again) {
			t.Errorf("%q, then %q", again, twice)
		}
	})
}

package score

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/bochner-ml/bochner/io/wire"
)

// The interval of an error rate covers the truth in 95% of the cases in which all rows of a group are right or
// wrong together; with rows counted as independent it would in half of them.
func TestIntervalsOfGroupsCoverTheTruth(t *testing.T) {
	for _, c := range []struct{ groups, rows int }{{20, 10}, {60, 10}, {200, 5}} {
		r := rand.New(rand.NewPCG(uint64(c.groups), 1))
		const trials, rate = 600, 0.3
		var covered, alone float64
		for range trials {
			s := NewTrials(1).Grouped()
			for range c.groups {
				group, wrong := r.Uint64(), r.Float64() < rate
				for range c.rows {
					scores := []float32{1, 0}
					if wrong != (r.Float64() < 0.05) {
						scores = []float32{0, 1}
					}
					s.AddClass(0, scores, 1, group)
				}
			}
			const truth = rate*0.95 + (1-rate)*0.05
			errors, _ := s.Result(0)
			n := s.Effective(0)
			share := float64(errors) / float64(s.Rows())
			if low, high := WilsonInterval(int64(math.Round(share*n)), int64(math.Round(n))); low <= truth && truth <= high {
				covered += 1.0 / trials
			}
			if low, high := WilsonInterval(errors, s.Rows()); low <= truth && truth <= high {
				alone += 1.0 / trials
			}
		}
		if covered < 0.93 || covered > 0.985 || alone > 0.8 {
			t.Errorf("%d groups of %d rows: %.3f of the intervals cover the truth, %.3f by rows", c.groups, c.rows,
				covered, alone)
		}
	}
}

func TestGroupedTrialsDoNotDependOnTheCut(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	whole, parts := NewTrials(2).Grouped(), []*Trials{NewTrials(2).Grouped(), NewTrials(2).Grouped()}
	for range 5000 {
		scores, group := []float32{r.Float32(), r.Float32(), r.Float32(), r.Float32()}, r.Uint64N(9000)
		whole.AddClass(1, scores, 1, group)
		parts[r.IntN(2)].AddClass(1, scores, 1, group)
	}
	back := new(Trials)
	if err := wire.Unmarshal(back, wire.Marshal(parts[1])); err != nil {
		t.Fatal(err)
	}
	wire.Merge(parts[0], back)
	if !bytes.Equal(wire.Marshal(whole), wire.Marshal(parts[0])) || whole.Effective(1) != parts[0].Effective(1) {
		t.Error("merged trials differ")
	}
}

// The interval from a sample of groups contains the mean squared error of all possible groups in 95% of the
// cases; an interval by rows contains it less often.
func TestSquaredErrorsOfGroupsIntervalsCover(t *testing.T) {
	trials, slack := 400, 0.04
	if os.Getenv("BOCHNER_HONEST") != "" {
		trials, slack = 4000, 0.025
	}
	for _, groups := range []int{30, 200} {
		r := rand.New(rand.NewPCG(5, uint64(groups)))
		inside, plain := 0, 0
		for range trials {
			grouped, rows := NewTrials(1).Grouped(), NewTrials(1)
			for g := range uint64(groups) {
				size := 0.5 + r.Float64() // of the errors of the group, E(size²) = 13/12
				for range 4 + r.IntN(8) {
					e := []float32{float32(size * r.NormFloat64())}
					grouped.AddTargets([]float64{0}, e, 1, g*0x9e3779b97f4a7c15)
					rows.AddTargets([]float64{0}, e, 1, 0)
				}
			}
			_, mse := grouped.Result(0)
			if math.Abs(mse-13./12) <= 1.96*grouped.StdErr(0) {
				inside++
			}
			if math.Abs(mse-13./12) <= 1.96*rows.StdErr(0) {
				plain++
			}
		}
		share := float64(inside) / float64(trials)
		t.Logf("%d groups: %.3f inside, by rows %.3f", groups, share, float64(plain)/float64(trials))
		if math.Abs(share-0.95) > slack || plain >= inside {
			t.Errorf("%d groups: %.3f inside, by rows %.3f", groups, share, float64(plain)/float64(trials))
		}
	}
}

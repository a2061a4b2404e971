package score

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/bochner-ml/bochner/io/wire"
)

// Choose returns for each criterion the result of a plain loop over the rows.
func TestHalvesChooseLikeAPlainLoop(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 40 {
		type row struct {
			ranked
			half int
		}
		n := 10 + r.IntN(60)
		x := []row{{ranked{1, 1}, 0}, {ranked{0, 0}, 0}, {ranked{1, 1}, 1}, {ranked{0, 0}, 1}}
		for range n {
			kind := r.IntN(2)
			x = append(x, row{ranked{float32(r.IntN(9)+2*kind) / 4, kind}, r.IntN(2)})
		}
		h, g := NewThresholdCounts(), NewThresholdCounts()
		for i, v := range x {
			to := []*ThresholdCounts{h, g}[i%2]
			to.Add(v.half, same(v.v), v.kind, 1)
		}
		data := wire.Marshal(g)
		back := new(ThresholdCounts)
		if err := wire.Unmarshal(back, data); err != nil {
			t.Fatal(err)
		}
		h.Merge(back)
		for _, by := range []Criterion{ByError, ByF1, ByBalanced} {
			// of returns the criterion of the rows of a half, −1 for all, by a threshold for each half.
			of := func(half int, threshold [2]float64) float64 {
				var hits, above, n [2]float64
				for _, v := range x {
					if half >= 0 && v.half != half {
						continue
					}
					n[v.kind]++
					if float64(v.v) >= threshold[v.half] {
						above[v.kind]++
					}
				}
				hits[1], hits[0] = above[1], n[0]-above[0]
				switch by {
				case ByError:
					return (hits[0] + hits[1]) / (n[0] + n[1])
				case ByF1:
					precision, recall := hits[1]/(above[0]+above[1]), hits[1]/n[1]
					if hits[1] == 0 {
						return 0
					}
					return 2 * precision * recall / (precision + recall)
				}
				return (hits[0]/n[0] + hits[1]/n[1]) / 2
			}
			best := func(half int) float64 {
				at, most, below := math.Inf(-1), -1.0, math.Inf(-1)
				for _, v := range x {
					if c := of(half, [2]float64{float64(v.v), float64(v.v)}); (half < 0 || v.half == half) &&
						(c > most+1e-12 || c > most-1e-12 && float64(v.v) > at) {
						at, most = float64(v.v), c
					}
				}
				for _, v := range x {
					if (half < 0 || v.half == half) && float64(v.v) < at {
						below = max(below, float64(v.v))
					}
				}
				if math.IsInf(below, -1) {
					return at
				}
				return (at + below) / 2
			}
			const usual = 1.25
			chosen, err := h.Choose(by, usual)
			if err != nil || !chosen.Judged || float64(chosen.Value) != best(-1) {
				t.Fatalf("%s: threshold %+v, want %g; %v", by, chosen, best(-1), err)
			}
			if want := of(-1, [2]float64{best(1), best(0)}); math.Abs(chosen.Expected-want) > 1e-12 {
				t.Fatalf("%s: expected %g, want %g", by, chosen.Expected, want)
			}
			if want := of(-1, [2]float64{usual + 1e-9, usual + 1e-9}); math.Abs(chosen.Plain-want) > 1e-12 {
				t.Fatalf("%s: plain %g, want %g", by, chosen.Plain, want)
			}
		}
	}
}

// The expected balanced accuracy of uninformative values is one half, because rows do not judge the threshold
// that they chose.
func TestExpectationsAreHonest(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var expected, chosen float64
	const runs = 400
	for range runs {
		h, all := NewThresholdCounts(), newRanks(ThresholdCells)
		for i := range 80 {
			v := float32(r.NormFloat64())
			h.Add(i/2%2, same(v), i%2, 1)
			all.Add(v, i%2, 1)
		}
		c, err := h.Choose(ByBalanced, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, best := all.bestThreshold(ByBalanced)
		expected += c.Expected / runs
		chosen += best / runs
	}
	// The standard error of a run is at most 0.056, of the mean 0.0028.
	if math.Abs(expected-0.5) > 4*0.0028 || chosen < 0.55 {
		t.Errorf("expected %.4f, want 0.5; the rows that chose it say %.4f", expected, chosen)
	}
}

// same returns the values of a row whose scores need no curves.
func same(v float32) ThresholdValues { return ThresholdValues{v, v, v} }

// A row of weight 5 is one row with five times the weight.
func TestHalvesCountRowsOnce(t *testing.T) {
	h, g := NewThresholdCounts(), NewThresholdCounts()
	h.Add(0, same(1), 1, 5)
	g.Add(1, same(0), 0, 3)
	g.Add(1, same(1), 1, 2)
	back := new(ThresholdCounts)
	if err := wire.Unmarshal(back, wire.Marshal(g)); err != nil {
		t.Fatal(err)
	}
	h.Merge(back)
	if h.Rows != 3 || h.all.rows != [2]int64{3, 7} {
		t.Errorf("%d rows, %v by weight; want 3, and 3 and 7", h.Rows, h.all.rows)
	}
}

func TestThresholdCountsRejectInvalidInput(t *testing.T) {
	h := NewThresholdCounts()
	h.Add(1, same(1), 1, 5)
	if _, err := h.Choose(ByF1, 0); err == nil {
		t.Error("rows of one kind choose a threshold")
	}
	h.Add(0, same(1), 1, 1)
	h.Add(0, same(0), 0, 1)
	if c, err := h.Choose(ByF1, 0); err != nil || c.Judged || c.Value != 0.5 {
		t.Errorf("a half of one kind judges a threshold: %+v, %v", c, err)
	}
	data := wire.Marshal(h)
	for _, bad := range [][]byte{nil, data[:len(data)-1], append(data[:len(data):len(data)], 0)} {
		if err := wire.Unmarshal(new(ThresholdCounts), bad); err == nil {
			t.Errorf("%d of %d bytes are accepted", len(bad), len(data))
		}
	}
	back := new(ThresholdCounts)
	if err := wire.Unmarshal(back, data); err != nil || !reflect.DeepEqual(back.all.rows, h.all.rows) {
		t.Errorf("%v, %v", back.all.rows, err)
	}
	if err := Criterion("F1").Validate(); err == nil ||
		err.Error() != `score: unknown criterion "F1" (did you mean "f1"?); have error, f1, balanced` {
		t.Error(err)
	}
}

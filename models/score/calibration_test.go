package score

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/testing/stattest"
	"github.com/bochner-ml/bochner/io/wire"
)

var tests = stream.PurposeOf("calibrate test")

// sample draws rows of scores of k outputs, with classes whose probabilities are
// sigmoids of slope 2 and offset −1/2 by the scores.
func sample(seed uint64, n, k int) (scores []float32, class []int32) {
	r := stream.New(seed, tests, 0)
	for range n {
		p, sum := make([]float64, k), 0.0
		for c := range p {
			s := float32(1.5 * r.Normal())
			scores = append(scores, s)
			p[c] = 1 / (1 + math.Exp(-(2*float64(s) - 0.5)))
			if k == 2 && c == 1 {
				scores[len(scores)-1] = -scores[len(scores)-2]
				p[1] = 1 - p[0]
			}
			sum += p[c]
		}
		u, y := r.Uniform()*sum, 0
		for y < k-1 && u > p[y] {
			u -= p[y]
			y++
		}
		class = append(class, int32(y))
	}
	return scores, class
}

func counted(t testing.TB, scores []float32, class []int32, k int) *CalibrationCounts {
	t.Helper()
	c := NewCalibrationCounts(k)
	for i, y := range class {
		c.Add(scores[i*k:(i+1)*k], int(y), 1)
	}
	return c
}

func TestCellsAscendAndHoldTheirScores(t *testing.T) {
	last := -1
	for i := range CalibrationCells {
		if got := countCell(float32(centre(i))); got != i {
			t.Fatalf("centre %g of cell %d is in cell %d", centre(i), i, got)
		}
		if i > 0 && !(centre(i) > centre(i-1)) {
			t.Fatalf("centres %g, %g", centre(i-1), centre(i))
		}
	}
	for _, s := range []float32{float32(math.Inf(-1)), -1e9, -64, -1, -1e-9, 0, 1e-9, 1, 63.9, 1e9, float32(math.Inf(1))} {
		if c := countCell(s); c < last || c >= CalibrationCells {
			t.Errorf("score %g is in cell %d, after %d", s, c, last)
		} else {
			last = c
		}
	}
	r := stream.New(1, tests, 1)
	for range 10000 {
		s := float32(math.Exp(2 * r.Normal()))
		if s > 0x1p-9 && s < 64 && math.Abs(centre(countCell(s))-float64(s)) > 0.004*float64(s) {
			t.Fatalf("score %g has the centre %g", s, centre(countCell(s)))
		}
	}
}

func TestResultsDoNotDependOnCutsOrOrder(t *testing.T) {
	const n, k = 500, 3
	scores, class := sample(1, n, k)
	whole := counted(t, scores, class, k)
	parts := counted(t, scores[300*k:], class[300:], k)
	parts.Merge(counted(t, scores[:100*k], class[:100], k))
	parts.Merge(counted(t, scores[100*k:300*k], class[100:300], k))
	if !slices.Equal(whole.n, parts.n) || whole.Rows() != n {
		t.Error("counts differ")
	}
	data := wire.Marshal(parts)
	var back CalibrationCounts
	if err := wire.Unmarshal(&back, data); err != nil || !reflect.DeepEqual(&back, whole) {
		t.Errorf("counts do not come back: %v", err)
	}
	c, err := fitted(whole, Platt)
	if err != nil {
		t.Fatal(err)
	}
	p := make([]float32, n*k)
	c.Apply(p, scores, n)
	all, some, rest := NewReliability(k, 15), NewReliability(k, 15), NewReliability(k, 15)
	for _, err := range []error{addRows(all, p, class), addRows(rest, p[200*k:], class[200:]),
		addRows(some, p[:200*k], class[:200])} {
		if err != nil {
			t.Fatal(err)
		}
	}
	wire.Merge(rest, some)
	if !reflect.DeepEqual(rest, all) || !reflect.DeepEqual(rest.Report(1), all.Report(1)) {
		t.Error("reliabilities differ")
	}
	data = wire.Marshal(rest)
	var again Reliability
	if err := wire.Unmarshal(&again, data); err != nil || !reflect.DeepEqual(&again, all) {
		t.Errorf("reliability does not come back: %v", err)
	}
}

// A fit to scores whose probabilities are a sigmoid recovers the sigmoid.
func TestPlattFindsThePlantedSigmoid(t *testing.T) {
	curve := func(seed uint64) CalibrationCurve {
		scores, class := sample(seed, 2000, 2)
		c, err := fitted(counted(t, scores, class, 2), Platt)
		if err != nil {
			t.Fatal(err)
		}
		return c.Curves[0]
	}
	stattest.Over(40, func(seed uint64) float64 { return curve(seed).Slope }).Near(t, "slope", 2, 0.03)
	stattest.Over(40, func(seed uint64) float64 { return curve(seed).Offset }).Near(t, "offset", -0.5, 0.02)
}

// The sigmoid equals the result of plain gradient descent on the rows themselves.
func TestPlattIsTheMaximumOfTheLikelihood(t *testing.T) {
	scores, class := sample(3, 300, 3)
	counts := counted(t, scores, class, 3)
	got, err := fitted(counts, Platt)
	if err != nil {
		t.Fatal(err)
	}
	for o, curve := range got.Curves {
		var members, others float64
		for _, y := range class {
			if int(y) == o {
				members++
			} else {
				others++
			}
		}
		a, b := 0.0, 0.0
		for range 20000 {
			var ga, gb float64
			for i, y := range class {
				s := centre(countCell(scores[i*3+o]))
				target := 1 / (others + 2)
				if int(y) == o {
					target = (members + 1) / (members + 2)
				}
				g := 1/(1+math.Exp(-(a*s+b))) - target
				ga, gb = ga+g*s/300, gb+g/300
			}
			a, b = a-ga, b-gb
		}
		if math.Abs(curve.Slope-a) > 1e-6 || math.Abs(curve.Offset-b) > 1e-6 {
			t.Errorf("output %d: %+v, want %g, %g", o, curve, a, b)
		}
	}
}

func TestPlattOfSeparableScoresIsFinite(t *testing.T) {
	var scores []float32
	var class []int32
	for i := range 40 {
		s := float32(i) - 19.5
		scores = append(scores, s, -s)
		class = append(class, int32(i/20))
	}
	for i, y := range class {
		class[i] = 1 - y // large scores of output 0 are of class 0
	}
	c, err := fitted(counted(t, scores, class, 2), Platt)
	if err != nil {
		t.Fatal(err)
	}
	if a := c.Curves[0].Slope; !(a > 0.1) || math.IsInf(a, 0) || math.Abs(a-c.Curves[1].Slope) > 1e-6 {
		t.Errorf("%+v", c.Curves)
	}
}

// Shares equal the formula f_i = max over a ≤ i of min over b ≥ i of the mean of points a to b.
func TestPooledSharesAreTheMaxMinOfMeans(t *testing.T) {
	for seed := range uint64(20) {
		scores, class := sample(seed, 60, 2)
		p, _, _ := counted(t, scores, class, 2).points(0)
		var all []pool
		for _, q := range p {
			all = append(all, pool{members: q.members, rows: q.members + q.others, first: q.score, last: q.score})
		}
		pools := pooled(all)
		for i := range p {
			best := math.Inf(-1)
			for a := range i + 1 {
				low := math.Inf(1)
				for b := i; b < len(p); b++ {
					var members, rows float64
					for _, q := range p[a : b+1] {
						members, rows = members+q.members, rows+q.members+q.others
					}
					low = min(low, members/rows)
				}
				best = max(best, low)
			}
			at := slices.IndexFunc(pools, func(q pool) bool { return q.first <= p[i].score && p[i].score <= q.last })
			if got := pools[at].members / pools[at].rows; math.Abs(got-best) > 1e-12 {
				t.Fatalf("seed %d: %g at %g, want %g", seed, got, p[i].score, best)
			}
		}
	}
}

// Isotonic curves ascend, are constant beyond their ends, and never state that a class is impossible or
// certain, for any number of its rows. Their log loss on other rows is hardly larger than the loss of the true
// sigmoid.
func TestIsotonicCurvesOfFewRowsAreNeitherCertainNorNoise(t *testing.T) {
	for _, n := range []int{40, 100, 500} {
		var isotonic, platt float64
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			draw := func(n int) (scores []float32, class []int32) {
				for range n {
					s := r.NormFloat64()
					y := int32(0)
					if r.Float64() < 1/(1+math.Exp(2-2*s)) {
						y = 1
					}
					scores, class = append(scores, float32(-s), float32(s)), append(class, y)
				}
				return scores, class
			}
			scores, class := draw(n)
			test, truth := draw(4000)
			loss := func(method Method) float64 {
				c, err := fitted(counted(t, scores, class, 2), method)
				if err != nil {
					t.Fatal(err)
				}
				if curve := c.Curves[1]; method == Isotonic {
					if first, last := curve.Probability[0], curve.Probability[len(curve.Probability)-1]; !(first > 0 && last < 1) ||
						!slices.IsSorted(curve.Probability) || curve.At(-100) != first || curve.At(100) != last {
						t.Errorf("%d rows: %v", n, curve.Probability)
					}
				}
				p := make([]float32, len(test))
				c.Apply(p, test, len(truth))
				rel := NewReliability(2, 10)
				if err := addRows(rel, p, truth); err != nil {
					t.Fatal(err)
				}
				return rel.Report(1).LogLoss / 20
			}
			isotonic, platt = isotonic+loss(Isotonic), platt+loss(Platt)
		}
		if isotonic > 1.06*platt {
			t.Errorf("%d rows: log loss %.4f, of a sigmoid %.4f", n, isotonic, platt)
		}
	}
}

// addRows adds rows that count once, with the first of the most probable classes as predicted ones.
func addRows(r *Reliability, p []float32, class []int32) error {
	for i, y := range class {
		row := p[i*r.outputs : (i+1)*r.outputs]
		if err := r.Add(row, int(y), slices.Index(row, slices.Max(row)), 1); err != nil {
			return err
		}
	}
	return nil
}

// Rows whose class has a probability below MinProbability are counted.
func TestRowsBelowTheFloorOfTheLogLossAreCounted(t *testing.T) {
	r := NewReliability(2, 10)
	if err := addRows(r, []float32{1, 0, 1, 0, 0.5, 0.5}, []int32{1, 0, 1}); err != nil {
		t.Fatal(err)
	}
	if got := r.Report(1); got.Floored != 1 || got.Floor != MinProbability {
		t.Errorf("%+v", got)
	}
}

func TestCalibrationImprovesScoresThatAreOverconfident(t *testing.T) {
	// The probabilities of two classes are a sigmoid, as assumed; the probabilities of three are
	// not.
	for k, most := range map[int]float64{2: 0.02, 3: 0.14} {
		overconfident(t, k, most)
	}
}

func overconfident(t *testing.T, k int, most float64) {
	const n = 4000
	scores, class := sample(8, 2*n, k)
	raw := NewReliability(k, 10)
	bad := make([]float32, n*k)
	for i := range n {
		var sum float64
		for c := range k {
			sum += math.Exp(5 * float64(scores[i*k+c]))
		}
		for c := range k {
			bad[i*k+c] = float32(math.Exp(5*float64(scores[i*k+c])) / sum)
		}
	}
	if err := addRows(raw, bad, class[:n]); err != nil {
		t.Fatal(err)
	}
	for _, method := range []Method{Platt, Isotonic} {
		c, err := fitted(counted(t, scores[n*k:], class[n:], k), method)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]float32, n*k)
		c.Apply(p, scores, n)
		for i := range n {
			var sum float64
			for _, v := range p[i*k : (i+1)*k] {
				sum += float64(v)
			}
			if math.Abs(sum-1) > 1e-6 {
				t.Fatalf("probabilities %v", p[i*k:(i+1)*k])
			}
		}
		r := NewReliability(k, 10)
		if err := addRows(r, p, class[:n]); err != nil {
			t.Fatal(err)
		}
		a, b := r.Report(1), raw.Report(1)
		if !(a.ECE < 0.5*b.ECE && a.LogLoss < b.LogLoss && a.Brier < b.Brier) || a.ECE > most {
			t.Errorf("%d classes, %s: ece %g, log loss %g, Brier %g; before %g, %g, %g", k, method, a.ECE, a.LogLoss, a.Brier,
				b.ECE, b.LogLoss, b.Brier)
		}
	}
}

func TestReliabilityMatchesAHandComputedExample(t *testing.T) {
	r := NewReliability(2, 10)
	// Confidences 0.75 (right), 0.75 (wrong), 1 (right), 0.5 (right, at an edge).
	if err := addRows(r, []float32{0.75, 0.25, 0.75, 0.25, 0, 1, 0.5, 0.5}, []int32{0, 1, 1, 0}); err != nil {
		t.Fatal(err)
	}
	got := r.Report(1)
	if got.Rows != 4 || got.Bins[7].Rows != 2 || got.Bins[7].Confidence != 0.75 || got.Bins[7].Accuracy != 0.5 ||
		!(got.Bins[7].AccuracyLow < 0.1) || !(got.Bins[7].AccuracyHigh > 0.9) || got.Bins[9].Rows != 1 ||
		got.Bins[4].Rows != 1 || got.Bins[5].Rows != 0 {
		t.Errorf("%+v", got)
	}
	if want := (2*0.25 + 0 + 0.5) / 4; math.Abs(got.ECE-want) > 1e-15 {
		t.Errorf("ece %g, want %g", got.ECE, want)
	}
	if want := (2*0.0625 + 2*0.5625 + 0.5) / 4; got.Brier != want {
		t.Errorf("Brier %g, want %g", got.Brier, want)
	}
	if want := (-math.Log(0.75) - math.Log(0.25) - math.Log(0.5)) / 4; math.Abs(got.LogLoss-want) > 1e-7 {
		t.Errorf("log loss %g, want %g", got.LogLoss, want)
	}
	if err := addRows(r, []float32{0, 1}, []int32{0}); err != nil || math.IsInf(r.Report(1).LogLoss, 0) {
		t.Errorf("log loss of a class said to be impossible: %v, %v", r.Report(1).LogLoss, err)
	}
	for _, p := range []float32{-0.1, 1.1, float32(math.NaN())} {
		if err := r.Add([]float32{p, 0}, 0, 1, 1); err == nil ||
			!strings.Contains(err.Error(), "is not a probability") {
			t.Errorf("%g: %v", p, err)
		}
	}
	if none := NewReliability(2, 5).Report(1); none.Rows != 0 || none.ECE != 0 || len(none.Bins) != 5 {
		t.Errorf("%+v", none)
	}
}

// Every prediction for a row of an unknown class is wrong.
func TestRowOfNoClassHasTheProbabilityZero(t *testing.T) {
	r := NewReliability(2, 10)
	if err := addRows(r, []float32{0.75, 0.25}, []int32{Unseen}); err != nil {
		t.Fatal(err)
	}
	got := r.Report(1)
	if want := 1 + 0.75*0.75 + 0.25*0.25; got.Brier != want || got.ECE != 0.75 || got.Bins[7].Accuracy != 0 ||
		math.Abs(got.LogLoss+math.Log(1e-7)) > 1e-5 {
		t.Errorf("%+v, want the Brier score %g", got, want)
	}
}

// fitted returns the curves that are fitted to the counts, or an error if they are not valid.
func fitted(c *CalibrationCounts, method Method) (*Calibration, error) {
	curves := c.Fit(method)
	return curves, curves.Validate()
}

func TestCheckNamesTheClassThatCannotBeFitted(t *testing.T) {
	names := []string{"ant", "bee", "cow"}
	for want, class := range map[string][]int32{
		"":                                      {0, 1, 2, 2},
		`class "bee": 0 of the 3 held-out rows`: {0, 2, 2},
		`class "ant": 0 of the 2 held-out rows`: {2, 2},
		`class "ant": 0 of the 0 held-out rows`: {},
	} {
		c := NewCalibrationCounts(3)
		for _, y := range class {
			c.Add(make([]float32, 3), int(y), 1)
		}
		err := CheckCalibration(c.ClassRows(), names)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", class, err, want)
		}
	}
	if err := CheckCalibration([]int64{4, 0}, names); err == nil || !strings.Contains(err.Error(), `"ant": 4 of the 4`) {
		t.Error(err)
	}
}

func TestRowsWithoutFiniteScoresAreLeftOut(t *testing.T) {
	got, want := NewCalibrationCounts(2), NewCalibrationCounts(2)
	for _, v := range []float32{1, float32(math.NaN()), 3, float32(math.Inf(-1))} {
		got.Add([]float32{2, v}, 1, 5)
	}
	want.Add([]float32{2, 1}, 1, 5)
	want.Add([]float32{2, 3}, 1, 5)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%d rows, want %d", got.Rows(), want.Rows())
	}
}

func TestUnfittableTargetsAreAnError(t *testing.T) {
	scores, class := sample(1, 50, 2)
	if _, err := fitted(counted(t, scores, class, 2), "plat"); err == nil ||
		!strings.Contains(err.Error(), "have platt, isotonic") {
		t.Error(err)
	}
	c := &Calibration{Method: Isotonic, Curves: []CalibrationCurve{{Score: []float64{0}, Probability: []float64{0}},
		{Score: []float64{0}, Probability: []float64{0}}}}
	p := []float32{1, 2}
	if c.Apply(p, p, 1); p[0] != 0.5 || p[1] != 0.5 {
		t.Errorf("curves that are all 0 give %v", p)
	}
}

func FuzzParse(f *testing.F) {
	scores, class := sample(1, 200, 3)
	for _, method := range []Method{Platt, Isotonic} {
		c, err := fitted(counted(f, scores, class, 3), method)
		if err != nil {
			f.Fatal(err)
		}
		data, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		back, err := parse(data)
		if err != nil || !reflect.DeepEqual(back, c) {
			f.Fatalf("does not come back: %v", err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"method":"isotonic","curves":[{"score":[0,5e-324,1],"probability":[0,0.5,1]},{"score":[0],"probability":[0]}]}`))
	f.Add([]byte(`{"method":"isotonic","curves":[{"score":[0,-1],"probability":[0,1]},{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parse(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parse(again); err != nil {
			t.Fatalf("was read and cannot be read again: %v", err)
		}
		for _, v := range c.Curves {
			last := -1.0
			for _, s := range []float64{-1e300, -5, -0.5, 0, 5e-324, 0.25, 3, 1e300} {
				p := v.At(s)
				if !(p >= 0 && p <= 1) || v.Slope >= 0 && p < last {
					t.Fatalf("probability %g after %g at %g", p, last, s)
				}
				last = p
			}
		}
	})
}

// parse reads what json.Marshal writes of a Calibration.
func parse(data []byte) (*Calibration, error) {
	c := new(Calibration)
	if err := json.Unmarshal(data, c); err != nil {
		return nil, err
	}
	return c, c.Validate()
}

// If two classes have the same probability, the row is right if the predicted class is its own.
func TestReliabilityBinsUseThePredictedClass(t *testing.T) {
	for predicted, right := range []float64{0, 1} {
		r := NewReliability(2, 10)
		if err := r.Add([]float32{0.5, 0.5}, 1, predicted, 1); err != nil {
			t.Fatal(err)
		}
		if got := r.Report(1).Bins[4]; got.Accuracy != right || got.Confidence != 0.5 {
			t.Errorf("class %d is predicted: %+v", predicted, got)
		}
	}
	err := NewReliability(2, 10).Add([]float32{0.25, 0.75}, 1, 0, 1)
	if err == nil || !strings.Contains(err.Error(), "class 0 is predicted with the probability 0.25, another has 0.75") {
		t.Error(err)
	}
}

func FuzzUnmarshal(f *testing.F) {
	scores, class := sample(1, 5, 2)
	data := wire.Marshal(counted(f, scores, class, 2))
	f.Add(data)
	r := NewReliability(2, 3)
	addRows(r, []float32{0.2, 0.8, 0.5, 0.5}, []int32{1, 0})
	data = wire.Marshal(r)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		var c CalibrationCounts
		if wire.Unmarshal(&c, data) == nil {
			fitted(&c, Isotonic)
			fitted(&c, Platt)
		}
		var r Reliability
		if wire.Unmarshal(&r, data) == nil {
			again := wire.Marshal(&r)
			var s Reliability
			if err := wire.Unmarshal(&s, again); err != nil {
				t.Fatal(err)
			}
			if b := wire.Marshal(&s); !bytes.Equal(b, again) {
				t.Fatal("another encoding")
			}
			r.Report(1)
		}
	})
}

// The log loss of all possible rows is in its interval in 95% of the cases, even if few rows make up most of
// it.
func TestLogLossIntervalsCover(t *testing.T) {
	trials, slack := 300, 0.045
	if os.Getenv("BOCHNER_HONEST") != "" {
		trials, slack = 3000, 0.03
	}
	for _, c := range []struct {
		rows int
		low  float64 // probabilities of class 1 are low or high
		high float64
		rate float64 // share of high ones
	}{{100, 0.2, 0.8, 0.5}, {2000, 0.02, 0.6, 0.05}, {300, 0.05, 0.5, 0.3}, {1000, 0.4, 0.6, 0.5}} {
		entropy := func(p float64) float64 { return -p*math.Log(p) - (1-p)*math.Log1p(-p) }
		truth := (1-c.rate)*entropy(c.low) + c.rate*entropy(c.high)
		rng := rand.New(rand.NewPCG(1, uint64(c.rows)))
		inside := 0
		for range trials {
			r := NewReliability(2, 10)
			p, class := make([]float32, 0, 2*c.rows), make([]int32, c.rows)
			for i := range class {
				q := c.low
				if rng.Float64() < c.rate {
					q = c.high
				}
				if rng.Float64() < q {
					class[i] = 1
				}
				p = append(p, float32(1-q), float32(q))
			}
			if err := addRows(r, p, class); err != nil {
				t.Fatal(err)
			}
			if ends := r.Report(1).LogLossInterval; ends[0] <= truth && truth <= ends[1] {
				inside++
			}
		}
		if share := float64(inside) / float64(trials); math.Abs(share-0.95) > slack {
			t.Errorf("%+v: %.1f%% inside", c, 100*share)
		}
	}
	few := NewReliability(2, 10)
	if err := addRows(few, []float32{0.5, 0.5}, []int32{1}); err != nil || few.Report(1).LogLossInterval != nil {
		t.Errorf("one row has an interval, %v", err)
	}
}

// Weights change means and shares but not counts of rows.
func TestReliabilityCountsRowsNotWeights(t *testing.T) {
	weighted, plain := NewReliability(2, 10), NewReliability(2, 10)
	for i := range 40 {
		p := []float32{float32(i) / 40, 1 - float32(i)/40}
		predicted := slices.Index(p, slices.Max(p))
		if err := errors.Join(weighted.Add(p, i%2, predicted, int64(1+i*i)), plain.Add(p, i%2, predicted, 1)); err != nil {
			t.Fatal(err)
		}
	}
	got, want := weighted.Report(0.01), plain.Report(1)
	if got.Rows != 40 || got.Floored != want.Floored || want.Floored == 0 {
		t.Errorf("%d rows, %d floored, want 40 and %d", got.Rows, got.Floored, want.Floored)
	}
	for i, b := range got.Bins {
		if b.Rows != want.Bins[i].Rows {
			t.Errorf("bin up to %g: %d rows, want %d", b.High, b.Rows, want.Bins[i].Rows)
		}
	}
}

// If scores separate the classes, the ends of the curves stay as far from 0 and 1 as the number of rows
// requires, also in float32, so that the log loss of a row on the other side stays small.
func TestIsotonicEndsNeverReachZeroOrOne(t *testing.T) {
	for _, n := range []int{30, 5000} {
		counts := NewCalibrationCounts(2)
		for i := range n {
			v := float32(i%2)*40 - 20
			counts.Add([]float32{-v, v}, i%2, 1)
		}
		c, err := fitted(counts, Isotonic)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]float32, 4)
		c.Apply(p, []float32{-1e6, 1e6, 1e6, -1e6}, 2)
		least := float32(1 / (float64(n/2) + 2))
		for _, v := range p {
			if v < least*0.99 || v > 1-least*0.99 || v > 0.2 && v < 0.8 {
				t.Errorf("%d rows: probabilities %v, want %g from 0 and 1", n, p, least)
			}
		}
	}
}

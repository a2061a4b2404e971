package score

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/bochner-ml/bochner/io/wire"
)

type pair struct{ truth, predicted int }

// randomPairs returns predictions that are right half of the time; some rows
// are of unseen classes.
func randomPairs(r *rand.Rand, n, k int) []pair {
	p := make([]pair, n)
	for i := range p {
		p[i] = pair{r.IntN(k), r.IntN(k)}
		switch r.IntN(10) {
		case 0:
			p[i].truth = Unseen
		case 1, 2, 3, 4, 5:
			p[i].predicted = p[i].truth
		}
	}
	return p
}

func count(k int, p []pair) *Classes {
	c := NewClasses(k)
	for _, x := range p {
		c.Add(x.truth, x.predicted, 1)
	}
	return c
}

func TestClassCountsDoNotDependOnTheCut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, k := range []int{1, 2, 10, 31, maxConfusion + 1} {
		p := randomPairs(r, 500, k)
		whole := count(k, p)
		for range 5 {
			r.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
			parts := make([]*Classes, 1+r.IntN(6))
			for i := range parts {
				parts[i] = NewClasses(k)
			}
			for _, x := range p {
				parts[r.IntN(len(parts))].Add(x.truth, x.predicted, 1)
			}
			for len(parts) > 1 {
				last := new(Classes)
				if err := wire.Unmarshal(last, wire.Marshal(parts[len(parts)-1])); err != nil {
					t.Fatal(err)
				}
				parts = parts[:len(parts)-1]
				wire.Merge(parts[r.IntN(len(parts))], last)
			}
			if !bytes.Equal(wire.Marshal(parts[0]), wire.Marshal(whole)) {
				t.Fatalf("%d classes: another cut gives other bytes", k)
			}
			if !reflect.DeepEqual(classReport(parts[0]), classReport(whole)) {
				t.Fatalf("%d classes: another cut gives another report", k)
			}
		}
	}
}

func TestClassReportMatchesTheReference(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, k := range []int{1, 2, 7, 40, maxConfusion + 1} {
		p := randomPairs(r, 300, k)
		got := classReport(count(k, p))
		var right, unseen, present, precision, recall, f1, balanced, rated float64
		for c := range k {
			var rows, predicted, hits float64
			for _, x := range p {
				if x.truth == c {
					rows++
				}
				if x.predicted == c {
					predicted++
				}
				if x.truth == c && x.predicted == c {
					hits++
				}
			}
			s := got.Classes[c]
			if float64(s.Rows) != rows || float64(s.Predicted) != predicted || float64(s.Hits) != hits {
				t.Fatalf("%d classes, class %d: %+v, want %v, %v, %v", k, c, s, rows, predicted, hits)
			}
			right += hits
			if rows+predicted > 0 {
				present++
				if predicted > 0 {
					precision += hits / predicted
				}
				if rows > 0 {
					recall += hits / rows
					balanced += hits / rows
					rated++
				}
				f1 += 2 * hits / (rows + predicted)
			}
		}
		for _, x := range p {
			if x.truth == Unseen {
				unseen++
			}
		}
		n := float64(len(p))
		for name, v := range map[string][2]float64{
			"rows":      {float64(got.Rows), n},
			"unseen":    {float64(got.Unseen), unseen},
			"errors":    {float64(got.Errors), n - right},
			"accuracy":  {got.Accuracy, right / n},
			"error":     {got.Error, (n - right) / n},
			"precision": {got.MacroPrecision, precision / present},
			"recall":    {got.MacroRecall, recall / present},
			"F1":        {got.MacroF1, f1 / present},
			"balanced":  {got.BalancedAccuracy, balanced / rated},
		} {
			if math.Abs(v[0]-v[1]) > 1e-14*math.Abs(v[1]) {
				t.Errorf("%d classes: %s %v, want %v", k, name, v[0], v[1])
			}
		}
		if (got.Confusion != nil) != (k <= 30) || (got.Worst != nil) != (k == 40) {
			t.Errorf("%d classes: confusion %v, worst %v", k, got.Confusion != nil, got.Worst != nil)
		}
	}
}

// The report has the values of the example of scikit-learn's classification_report, y_true = 0 1 2 2 2 and
// y_pred = 0 0 2 2 1: precision 0.50 0.00 1.00, recall 1.00 0.00 0.67, F1 0.67 0.00 0.80, accuracy 0.60, macro
// averages 0.50 0.56 0.49.
func TestClassReportOfAKnownExample(t *testing.T) {
	got := count(3, []pair{{0, 0}, {1, 0}, {2, 2}, {2, 2}, {2, 1}}).Report([]string{"a", "b", "c"})
	// Variables, so that each step is rounded as it is in the report.
	p, q, thirds, f1 := 0.6, 0.4, 2./3, 0.8
	low, high := WilsonInterval(2, 5)
	// The recalls are 1, 0 and 2/3 of 1, 1 and 3 rows, drawn towards 3/5 by two rows each.
	mean, variance := (1+thirds)/3, 0.0
	for _, c := range [][2]float64{{1, 1}, {0, 1}, {2, 3}} {
		r := (c[0] + float64(borrowed*p)) / (c[1] + borrowed)
		variance += float64(r*(1-r)) / c[1]
	}
	balancedLow, balancedHigh := intervalOf(mean, float64(mean*(1-mean))*9/variance)
	want := ClassReport{
		Rows: 5, Errors: 2, Accuracy: p, Error: q, ErrorLow: low, ErrorHigh: high,
		ClassAverages: ClassAverages{BalancedAccuracy: mean, BalancedLow: balancedLow, BalancedHigh: balancedHigh,
			MacroPrecision: 0.5, MacroRecall: (1 + thirds) / 3, MacroF1: (thirds + f1) / 3},
		Classes: []ClassScore{
			{"a", 1, 2, 1, 0.5, 1, 2. / 3},
			{"b", 1, 1, 0, 0, 0, 0},
			{"c", 3, 2, 2, 1, 2. / 3, 0.8},
		},
		Confusion: [][]int64{{1, 0, 0}, {1, 0, 0}, {0, 1, 2}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf(" got %+v\nwant %+v", got, want)
	}
}

func TestWorstPairsComeFirst(t *testing.T) {
	c := NewClasses(31)
	for i := range 30 {
		for range i / 2 {
			c.Add(i, i+1, 1)
		}
		for range 100 {
			c.Add(i, i, 1)
			c.Add(Unseen, i, 1)
		}
	}
	w := classReport(c).Worst
	if len(w) != maxWorst || w[0] != (ConfusedPair{"28", "29", 14}) || w[1] != (ConfusedPair{"29", "30", 14}) {
		t.Errorf("%d pairs: %v", len(w), w)
	}
	if !slices.IsSortedFunc(w, func(a, b ConfusedPair) int { return int(b.Rows - a.Rows) }) {
		t.Errorf("out of order: %v", w)
	}
}

func TestEmptyReportIsFinite(t *testing.T) {
	r := classReport(NewClasses(3))
	if r.Rows != 0 || r.Accuracy != 0 || r.ErrorLow != 0 || r.ErrorHigh != 1 || r.BalancedHigh != 1 || r.MacroF1 != 0 {
		t.Errorf("%+v", r)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

func TestReportJSONRoundTrips(t *testing.T) {
	want := classReport(count(40, randomPairs(rand.New(rand.NewPCG(3, 3)), 200, 40)))
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got ClassReport
	if err := json.Unmarshal(b, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("error %v\n got %+v\nwant %+v", err, got, want)
	}
}

func TestClassCountsPanicOnInvalidArguments(t *testing.T) {
	for name, f := range map[string]func(){
		"no classes":        func() { NewClasses(0) },
		"too many classes":  func() { NewClasses(1 << 20) },
		"truth too large":   func() { NewClasses(3).Add(3, 0, 1) },
		"truth too small":   func() { NewClasses(3).Add(-2, 0, 1) },
		"unseen prediction": func() { NewClasses(3).Add(0, Unseen, 1) },
		"prediction large":  func() { NewClasses(3).Add(0, 3, 1) },
		"merge":             func() { wire.Merge(NewClasses(3), NewClasses(4)) },
		"names":             func() { NewClasses(3).Report([]string{"a"}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func TestDamagedClassCountsAreRejected(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, k := range []int{3, maxConfusion + 1} {
		good := wire.Marshal(count(k, randomPairs(r, 50, k)))
		if wire.Unmarshal(new(Classes), good) != nil {
			t.Fatal("refused")
		}
		for name, bad := range map[string][]byte{
			"empty":      {},
			"cut":        good[:len(good)-1],
			"longer":     append(slices.Clone(good), 0),
			"no classes": append(make([]byte, 4), good[4:]...),
			"negative":   append(slices.Clone(good[:len(good)-1]), 0x80),
			"overflow": append(good[:len(good)-16:len(good)-16],
				bytes.Repeat([]byte{255, 255, 255, 255, 255, 255, 255, 127}, 2)...),
		} {
			if wire.Unmarshal(new(Classes), bad) == nil {
				t.Errorf("%d classes, %s: accepted", k, name)
			}
		}
	}
}

func TestContradictoryTotalsAreRejected(t *testing.T) {
	const k = maxConfusion + 1
	for name, change := range map[string]func(*Classes){
		"none":                   func(c *Classes) {},
		"more hits than rows":    func(c *Classes) { c.totals[0] = totals{1, 2, 2}; c.totals[1].truth++ },
		"hits never predicted":   func(c *Classes) { c.totals[0] = totals{2, 1, 2}; c.totals[1].predicted++ },
		"a prediction of no row": func(c *Classes) { c.totals[3].predicted++ },
		"unseen, not predicted":  func(c *Classes) { c.unseen++ },
	} {
		c := count(k, []pair{{0, 0}, {1, 2}, {Unseen, 3}})
		change(c)
		if err := wire.Unmarshal(new(Classes), wire.Marshal(c)); (err == nil) != (name == "none") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func FuzzClassesUnmarshalBinary(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, k := range []int{1, 3, maxConfusion + 1} {
		f.Add(wire.Marshal(count(k, randomPairs(r, 20, k))))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var c Classes
		if wire.Unmarshal(&c, b) != nil {
			return
		}
		if !bytes.Equal(wire.Marshal(&c), b) {
			t.Fatal("decoded and encoded again it differs")
		}
		_ = classReport(&c).String()
	})
}

func BenchmarkClassesAdd(b *testing.B) {
	c := NewClasses(10)
	for b.Loop() {
		c.Add(3, 5, 1)
	}
}

func numbers(k int) (names []string) {
	for i := range k {
		names = append(names, strconv.Itoa(i))
	}
	return names
}

func classReport(c *Classes) ClassReport { return c.Report(numbers(c.k)) }

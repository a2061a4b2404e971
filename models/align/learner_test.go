package align

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
)

// play runs rounds until the learner is done, with rows cut into partitions and those
// into blocks, and returns the last round, its state, and what the rounds reported.
func play(t *testing.T, l *Learner, x []float32, class []int32, cuts []int, block int, most int) (*Round, []byte,
	[]iterative.Report) {
	t.Helper()
	state, err := l.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	owns := make([][]byte, l.Partitions)
	var reports []iterative.Report
	for range most {
		opened, err := l.Open(state)
		if err != nil {
			t.Fatal(err)
		}
		r := opened.(*Round)
		if r.Done() {
			break
		}
		var all [][]byte
		for p := range l.Partitions {
			w, err := r.Worker(p, owns[p])
			if err != nil {
				t.Fatal(err)
			}
			for lo := cuts[p]; r.Reads() && lo < cuts[p+1]; lo += block {
				hi := min(lo+block, cuts[p+1])
				b := iterative.Block{N: hi - lo, D: l.Dim, Phi: x[lo*l.Dim : hi*l.Dim], Y: floats(class[lo:hi])}
				if err := w.Take(b); err != nil {
					t.Fatal(err)
				}
				b.HeldOut = true
				if err := w.Take(b); err != nil {
					t.Fatal(err)
				}
			}
			found, own, err := w.End()
			if err != nil {
				t.Fatal(err)
			}
			all, owns[p] = append(all, found), own
		}
		var report iterative.Report
		state, report, err = r.Update(feed(all))
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, report)
	}
	opened, err := l.Open(state)
	if err != nil {
		t.Fatal(err)
	}
	return opened.(*Round), state, reports
}

func floats(class []int32) (y []float32) {
	for _, c := range class {
		y = append(y, float32(c))
	}
	return y
}

func feed(all [][]byte) func() ([]byte, error) {
	return func() ([]byte, error) {
		if len(all) == 0 {
			return nil, io.EOF
		}
		first := all[0]
		all = all[1:]
		return first, nil
	}
}

func threeRings(n int) (x []float32, class []int32) {
	x, _, _ = rings(n, 11)
	class = make([]int32, n)
	for i := range class {
		class[i] = int32(math.Hypot(float64(x[2*i]), float64(x[2*i+1]))*2) % 3
	}
	return x, class
}

func TestPartitionsPlayTheGameOfAllRows(t *testing.T) {
	const n = 900
	x, class := threeRings(n)
	for _, classes := range []int{2, 3} {
		class := slices.Clone(class)
		for i := range class {
			class[i] %= int32(classes)
		}
		o := small(8)
		o.Take, o.Apart = 2, 0
		want, err := Learn(Rows{x, 2, class, classes}, o, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		l := &Learner{Options: o, Dim: 2, Classes: classes, Partitions: 4, X: x, Class: class}
		r, _, reports := play(t, l, x, class, []int{0, 350, 350, 351, n}, 100, 1000)
		if !r.Done() || len(reports) != 3+5*4-2 {
			t.Errorf("%d classes: done %v after %d rounds", classes, r.Done(), len(reports))
		}
		got := r.Frequencies()
		if got.Count != 8 {
			t.Fatalf("%d frequencies", got.Count)
		}
		for i, v := range got.W {
			if math.Abs(float64(v-want.W[i])) > 1e-3 {
				t.Fatalf("%d classes: frequency %d: %v, of all rows %v", classes, i/2, v, want.W[i])
			}
		}
		last, ok := r.Last()
		if all := want.Reports[3]; !ok || last.Round != 4 || math.Abs(last.Upper-all.Upper) > 1e-3*all.Upper ||
			math.Abs(last.Lower-all.Lower) > 1e-3 || !(last.Zeta > 0) {
			t.Errorf("%d classes: %+v, of all rows %+v", classes, last, all)
		}
		for i, report := range reports {
			// After three initial rounds, the fourth phase of the first round of the game ends it.
			if told := strings.Contains(report.Words, "the value of the game is at least") &&
				strings.Contains(report.Words, " and at most "); told != (i >= 5) {
				t.Errorf("%d classes: round %d says %q", classes, i, report.Words)
			}
		}
		end := reports[len(reports)-1]
		if gap, ok := end.Gap(); !ok || gap != last.Upper-last.Lower || end.Rows != n {
			t.Errorf("%d classes: %+v", classes, end)
		}
		data, err := learned.Encode(got)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := learned.RecipeOf(data, fourier.Paired, 0); err != nil {
			t.Error(err)
		}
	}
}

func TestSampleMovesAsTheRowsDo(t *testing.T) {
	const n = 300
	x, class := threeRings(n)
	o := small(3)
	l := &Learner{Options: o, Dim: 2, Classes: 3, Partitions: 1, X: x, Class: class}
	// Three initial rounds, then a round of the game and the search of the next.
	r, _, _ := play(t, l, x, class, []int{0, n}, n, 3+5)
	if r.s.phase != phaseSearch {
		t.Fatalf("phase %s", r.s.phase)
	}
	state, err := l.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	var own []byte
	for range 3 + 5 {
		opened, err := l.Open(state)
		if err != nil {
			t.Fatal(err)
		}
		w, err := opened.Worker(0, own)
		if err != nil {
			t.Fatal(err)
		}
		if opened.Reads() {
			if err := w.Take(iterative.Block{N: n, D: 2, Phi: x, Y: floats(class)}); err != nil {
				t.Fatal(err)
			}
		}
		found, next, err := w.End()
		if err != nil {
			t.Fatal(err)
		}
		own = next
		if state, _, err = opened.Update(feed([][]byte{found})); err != nil {
			t.Fatal(err)
		}
	}
	d, _, err := decodeDual(l, own)
	if err != nil {
		t.Fatal(err)
	}
	clip(d, r.s.mu)
	if !slices.Equal(d.Alpha, r.s.alpha) {
		t.Error("the sample's weights differ from the same rows' weights")
	}
	for k := range 3 {
		alpha, y := d.Row(k)
		if sum := residual(alpha, y); math.Abs(sum) > 1e-6 {
			t.Errorf("class %d: Σ y α = %g", k, sum)
		}
	}
}

func TestLearnerErrorsNameTheCause(t *testing.T) {
	x, class := threeRings(30)
	good := Learner{Options: small(2), Dim: 2, Classes: 3, Partitions: 2, X: x, Class: class}
	for want, change := range map[string]func(*Learner){
		"lambda must be":           func(l *Learner) { l.Lambda = -1 },
		"dim must be":              func(l *Learner) { l.Dim = 0 },
		"1 classes":                func(l *Learner) { l.Classes = 1 },
		"partitions must be":       func(l *Learner) { l.Partitions = 0 },
		"are projected exactly":    func(l *Learner) { l.Alternations = 10 },
		"alternations and sample":  func(l *Learner) { l.Sample = 5 },
		"a sample of 30 classes":   func(l *Learner) { l.X = x[1:] },
		"classes from 0 to 2 in t": func(l *Learner) { l.Classes = 2 },
	} {
		l := good
		change(&l)
		if _, err := l.Start(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := good.Start(&linear.Model{}); err == nil {
		t.Error("starts from a model")
	}
	state, err := good.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	other := good
	other.Rate = 2
	if _, err := other.Open(state); err == nil || !strings.Contains(err.Error(), "other options") {
		t.Error(err)
	}
	// The number of rows changes between rounds.
	r, _, _ := play(t, &good, x, class, []int{0, 10, 30}, 7, 4)
	if r.s.phase != phaseScore {
		t.Fatalf("phase %s", r.s.phase)
	}
	w, err := r.Worker(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Take(iterative.Block{N: 1, D: 2, Phi: x[:2], Y: []float32{1}}); err == nil ||
		!strings.Contains(err.Error(), "more than the 0 rows") {
		t.Error(err)
	}
	if _, _, err := r.Update(feed(nil)); err == nil || !strings.Contains(err.Error(), "0 of 2 partitions") {
		t.Error(err)
	}
	one := slices.Repeat([]int32{1}, 30)
	begins, err := good.Open(state)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for p := range 2 {
		w, err := begins.Worker(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range one[:15] {
			if err := w.Take(iterative.Block{N: 1, D: 2, Phi: x[:2], Y: []float32{float32(c)}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Take(iterative.Block{N: 1, D: 2, Phi: x[:2], Y: []float32{0.5}}); err == nil {
			t.Error("class ½ is accepted")
		}
		found, _, err := w.End()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found)
	}
	if _, _, err := begins.Update(feed(all)); err == nil || !strings.Contains(err.Error(), "one class") {
		t.Error(err)
	}
}

func TestEqualRoundsHaveEqualStates(t *testing.T) {
	x, class := threeRings(200)
	l := &Learner{Options: small(2), Dim: 2, Classes: 3, Partitions: 3, X: x, Class: class}
	_, one, _ := play(t, l, x, class, []int{0, 60, 61, 200}, 50, 1000)
	_, two, _ := play(t, l, x, class, []int{0, 60, 61, 200}, 50, 1000)
	if !bytes.Equal(one, two) {
		t.Error("two runs end in different states")
	}
}

func FuzzState(f *testing.F) {
	x, class := threeRings(30)
	l := &Learner{Options: small(2), Dim: 2, Classes: 3, Partitions: 1, X: x, Class: class}
	state, err := l.Start(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(state)
	// Frequencies that were found and kept, for all phases.
	var own []byte
	for range 8 {
		r, err := l.Open(state)
		if err != nil {
			f.Fatal(err)
		}
		w, err := r.Worker(0, own)
		if err != nil {
			f.Fatal(err)
		}
		if r.Reads() {
			if err := w.Take(iterative.Block{N: 30, D: 2, Phi: x, Y: floats(class)}); err != nil {
				f.Fatal(err)
			}
		}
		found, next, err := w.End()
		if err != nil {
			f.Fatal(err)
		}
		if state, _, err = r.Update(feed([][]byte{found})); err != nil {
			f.Fatal(err)
		}
		own = next
		f.Add(state)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := l.Open(data)
		if err != nil {
			return
		}
		w, err := r.Worker(0, nil)
		if err != nil {
			return
		}
		if _, _, err := w.End(); err != nil {
			return
		}
	})
}

func TestRoundsBeyondTheEndDoNotChangeTheState(t *testing.T) {
	const n = 300
	x, class := threeRings(n)
	l := &Learner{Options: small(4), Dim: 2, Classes: 3, Partitions: 1, X: x, Class: class}
	end, state, _ := play(t, l, x, class, []int{0, n}, 100, 1000)
	want := end.Frequencies().W
	own := encodeDual(l, newDual(class, 3, 1), class)
	for i := range 4 {
		opened, err := l.Open(state)
		if err != nil {
			t.Fatal(err)
		}
		if !opened.Done() {
			t.Fatalf("%d rounds beyond the end the game is not done", i)
		}
		w, err := opened.Worker(0, own)
		if err != nil {
			t.Fatal(err)
		}
		var found []byte
		if opened.Reads() {
			t.Fatal("a round beyond the end reads rows")
		}
		if found, own, err = w.End(); err != nil {
			t.Fatal(err)
		}
		if state, _, err = opened.Update(feed([][]byte{found})); err != nil {
			t.Fatal(err)
		}
		if got := opened.(*Round).Frequencies().W; !slices.Equal(got, want) {
			t.Fatalf("%d rounds beyond the end: other frequencies", i)
		}
	}
}

package ridge_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
)

// weighted returns n rows with weights from draw, labelled by a class of three or, with
// targets, by a number.
func weighted(t testing.TB, n, dim int, targets bool, draw func(r *rand.Rand) float64) *linear.Data {
	t.Helper()
	m, err := fourier.Gaussian{In: 3, Out: dim, Width: 1.5, Seed: 4}.New()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, uint64(n)))
	d := &linear.Data{Map: m}
	for range n {
		a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
		d.X = append(d.X, float32(a), float32(b), float32(c))
		if v := math.Sin(2*a) + b*c + 0.3*r.NormFloat64(); targets {
			d.Target = append(d.Target, v)
		} else {
			d.Class = append(d.Class, int32(max(-1, min(1, math.Round(v)))+1))
		}
		d.Weights = append(d.Weights, draw(r))
	}
	return d
}

// repeated returns the rows as often as their weights say, without weights.
func repeated(d *linear.Data) *linear.Data {
	out := &linear.Data{Map: d.Map}
	for i, w := range d.Weights {
		for range int(w) {
			out.X = append(out.X, d.Row(i)...)
			if d.Target != nil {
				out.Target = append(out.Target, d.Target[i])
			} else {
				out.Class = append(out.Class, d.Class[i])
			}
		}
	}
	return out
}

func mustFit(t testing.TB, d *linear.Data, lambda []float64, o *ridge.LearnerOptions) *ridge.FitResult {
	t.Helper()
	fit, err := ridge.Fit(d, lambda, o)
	if err != nil {
		t.Fatal(err)
	}
	return fit
}

// mustEqual fails unless two fits are the same, bit for bit.
func mustEqual(t *testing.T, what string, got, want *ridge.FitResult) {
	t.Helper()
	switch {
	case got.Lambda != want.Lambda || got.Steps != want.Steps || !reflect.DeepEqual(got.Grid, want.Grid):
		t.Errorf("%s: lambda %g, %d steps, grid %v; want %g, %d, %v", what, got.Lambda, got.Steps, got.Grid, want.Lambda,
			want.Steps, want.Grid)
	case !reflect.DeepEqual(got.Table, want.Table):
		t.Errorf("%s: table\n%+v\nwant\n%+v", what, got.Table, want.Table)
	case !reflect.DeepEqual(got.Linear.W, want.Linear.W) || !reflect.DeepEqual(got.Linear.B, want.Linear.B):
		t.Errorf("%s: other weights", what)
	}
}

func upToFive(r *rand.Rand) float64 { return float64(r.IntN(6)) }

// A row of weight w equals w rows: repeated rows give the same weights, errors of every λ and chosen λ, bit for
// bit, with every solver.
func TestWholeWeightsEqualRepeatedRows(t *testing.T) {
	level := blas.ISA()
	defer func() { _ = blas.SetISA(level) }()
	for _, targets := range []bool{false, true} {
		for name, o := range map[string]*ridge.LearnerOptions{
			"auto": nil, "8 bits": {Grid: features.Bits8},
			"balanced": {Grid: features.Bits8, Weights: []string{"balanced"}}, "named": {Weights: []string{"0=2.3", "2=0.01"}},
		} {
			if targets && o != nil && o.Weights != nil {
				continue
			}
			d := weighted(t, 1500, 70, targets, upToFive)
			want := mustFit(t, repeated(d), nil, o)
			if want.Table == nil || want.Table[0].Failed != "" {
				t.Fatalf("%+v", want.Table)
			}
			what := fmt.Sprintf("targets %v, %s", targets, name)
			mustEqual(t, what, mustFit(t, d, nil, o), want)
			mustEqual(t, what+": one lambda", mustFit(t, d, []float64{1e-4}, o), mustFit(t, repeated(d), []float64{1e-4}, o))

			// Only ratios count.
			scaled := *d
			scaled.Weights = nil
			for _, w := range d.Weights {
				scaled.Weights = append(scaled.Weights, 2.5*w)
			}
			mustEqual(t, what+": weights times 2.5", mustFit(t, &scaled, nil, o), want)
			for _, other := range blas.ISAs() {
				if err := blas.SetISA(other); err != nil {
					t.Fatal(err)
				}
				was := runtime.GOMAXPROCS(1)
				mustEqual(t, what+": "+other+" on one core", mustFit(t, d, nil, o), want)
				runtime.GOMAXPROCS(was)
			}
			if err := blas.SetISA(level); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Weights equal repeated rows also with many features, and with rows of few and of many weights, which fill
// blocks of equal weights.
func TestManyWholeWeightsEqualRepeatedRows(t *testing.T) {
	for most, lambda := range map[int][]float64{6: nil, 300: {1e-5}} {
		d := weighted(t, 9000, 40, most == 300, func(r *rand.Rand) float64 {
			if r.IntN(8) > 0 {
				return float64(r.IntN(3))
			}
			return float64(r.IntN(most))
		})
		o := &ridge.LearnerOptions{Grid: features.Bits8}
		mustEqual(t, fmt.Sprint(most), mustFit(t, d, lambda, o), mustFit(t, repeated(d), lambda, o))
	}
}

func TestEqualWeightsMatchNoWeights(t *testing.T) {
	for _, targets := range []bool{false, true} {
		for _, w := range []float64{1, 2.5, 0.1, 1e9} {
			d := weighted(t, 300, 30, targets, func(*rand.Rand) float64 { return w })
			got := mustFit(t, d, nil, nil)
			d.Weights = nil
			mustEqual(t, fmt.Sprint(w), got, mustFit(t, d, nil, nil))
		}
	}
}

// Weights of classes multiply the weights of rows, as a caller could do.
func TestClassWeightsMultiplyRowWeights(t *testing.T) {
	d := weighted(t, 700, 50, false, upToFive)
	got := mustFit(t, d, []float64{1e-3}, &ridge.LearnerOptions{Weights: []string{"0=4", "1=2", "2=2"}})
	for i, c := range d.Class {
		d.Weights[i] *= []float64{4, 2, 2}[c]
	}
	// λ is on Σ wcℓ/Σ w, where weights of classes are not part of the divisor.
	var rows, all float64
	for i, w := range d.Weights {
		all += w
		rows += w / []float64{4, 2, 2}[d.Class[i]]
	}
	want := mustFit(t, d, []float64{1e-3 * rows / all}, nil)
	for i, w := range want.Linear.W {
		if math.Abs(float64(got.Linear.W[i]-w)) > 2e-6 {
			t.Fatalf("weight %d is %g, want %g", i, got.Linear.W[i], w)
		}
	}
}

// Predictions with real weights, which are rounded to 8 significant bits, and with features on a grid differ
// from weighted least squares in float64 by a small part of the change that another sample would make.
func TestRealWeightsGiveWeightedLeastSquares(t *testing.T) {
	for name, draw := range map[string]func(r *rand.Rand) float64{
		"uniform":    func(r *rand.Rand) float64 { return r.Float64() },
		"thirds":     func(r *rand.Rand) float64 { return float64(1+r.IntN(3)) / 3 },
		"heavy tail": func(r *rand.Rand) float64 { return math.Exp(2 * r.NormFloat64()) },
		"some none":  func(r *rand.Rand) float64 { return max(0, r.NormFloat64()) },
	} {
		for _, lambda := range []float64{1e-2, 1e-5} {
			d := weighted(t, 1200, 60, true, draw)
			fit := mustFit(t, d, []float64{lambda}, nil)
			w, b := leastSquares(d, lambda)
			other := weighted(t, 1201, 60, true, draw)
			w2, b2 := leastSquares(other, lambda)
			got := make([]float64, d.Rows())
			fit.Targets(got, d.X, d.Rows())
			phi := mapped(d.Map, d.X, d.Rows())
			var off, sampling float64
			for i, y := range got {
				want, another := b, b2
				for j, v := range w {
					want += v * float64(phi[i*60+j])
					another += w2[j] * float64(phi[i*60+j])
				}
				off += (y - want) * (y - want)
				sampling += (another - want) * (another - want)
			}
			if ratio := math.Sqrt(off / sampling); !(ratio < 0.01) {
				t.Errorf("%s, lambda %g: predictions are off by %.2g of what another sample changes", name, lambda, ratio)
			} else {
				t.Logf("%s, lambda %g: %.2g", name, lambda, ratio)
			}
		}
	}
}

func mapped(m features.Map, x []float32, n int) []float32 {
	_, dim := m.Dims()
	phi := make([]float32, n*dim)
	m.Apply(phi, x, n)
	return phi
}

// leastSquares is the dumb twin: weighted ridge with an intercept, by Gaussian elimination.
func leastSquares(d *linear.Data, lambda float64) (w []float64, b float64) {
	_, dim := d.Map.Dims()
	n := d.Rows()
	phi := mapped(d.Map, d.X, n)
	k := dim + 1
	a := make([][]float64, k)
	for i := range a {
		a[i] = make([]float64, k+1)
	}
	var total float64
	row := make([]float64, k+1)
	for i := range n {
		for j := range dim {
			row[j] = float64(phi[i*dim+j])
		}
		row[dim], row[k] = 1, d.Target[i]
		for p := range k {
			for q := range k + 1 {
				a[p][q] += d.Weights[i] * row[p] * row[q]
			}
		}
		total += d.Weights[i]
	}
	for j := range dim {
		a[j][j] += total * lambda
	}
	for p := range k {
		for q := p + 1; q < k; q++ {
			f := a[q][p] / a[p][p]
			for c := p; c <= k; c++ {
				a[q][c] -= f * a[p][c]
			}
		}
	}
	for p := k - 1; p >= 0; p-- {
		for q := p + 1; q < k; q++ {
			a[p][k] -= a[p][q] * a[q][k]
		}
		a[p][k] /= a[p][p]
	}
	for p := range dim {
		w = append(w, a[p][k])
	}
	return w, a[dim][k]
}

func TestWeightsThatCannotBeUsedAreRejected(t *testing.T) {
	for want, change := range map[string]func(d *linear.Data){
		"row 3: weight -1 is below 0":  func(d *linear.Data) { d.Weights[3] = -1 },
		"row 2: the weight is missing": func(d *linear.Data) { d.Weights[2] = math.NaN() },
		"row 1: weight +Inf is out of": func(d *linear.Data) { d.Weights[1] = math.Inf(1) },
		"19 weights for 20 rows":       func(d *linear.Data) { d.Weights = d.Weights[:19] },
		"all 20 rows have weight 0":    func(d *linear.Data) { clear(d.Weights) },
		"rows are of class 1; two class": func(d *linear.Data) {
			for i, c := range d.Class {
				if d.Weights[i] = 0; c == 1 {
					d.Weights[i] = float64(i)
				}
			}
		},
	} {
		d := weighted(t, 20, 10, false, func(r *rand.Rand) float64 { return 1 + r.Float64() })
		d.Class[19] = 1
		change(d)
		if _, err := ridge.Fit(d, []float64{1e-3}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

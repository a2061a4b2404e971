package shapley

import (
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/features/landmarks"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/maxout"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/ridge"
)

var nan = float32(math.NaN())

// game is a model with its background.
type game struct {
	recipe     features.Recipe
	model      *linear.Model
	columns    []Column
	background []Distribution
	m          features.Map
}

// newGame returns a model with random weights for k outputs.
func newGame(t *testing.T, r features.Recipe, k int, columns []Column, background []Distribution) *game {
	t.Helper()
	m, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	_, d := m.Dims()
	random := rand.New(rand.NewPCG(1, 2))
	l := &linear.Model{K: k, D: d, W: make([]float32, k*d), B: make([]float32, k)}
	for _, w := range [][]float32{l.W, l.B} {
		for i := range w {
			w[i] = float32(random.NormFloat64())
		}
	}
	return &game{r, l, columns, background, m}
}

func (g *game) scores(x []float32, n int) []float32 {
	phi, scores := make([]float32, n*g.model.D), make([]float32, n*g.model.K)
	g.m.Apply(phi, x, n)
	g.model.Scores(scores, phi, n)
	return scores
}

// value is v(S): it goes through all rows of the background.
func (g *game) value(x []float32, set uint, s Score) (mean float64) {
	row := slices.Clone(x)
	var from func(c int, chance float64)
	from = func(c int, chance float64) {
		if c == len(g.columns) {
			for _, term := range s {
				mean += chance * term.Factor * float64(g.scores(row, 1)[term.Output])
			}
			return
		}
		at := g.columns[c]
		if set>>c&1 == 1 {
			copy(row[at.From:at.To], x[at.From:at.To])
			from(c+1, chance)
			return
		}
		for i, p := range g.background[c].P {
			copy(row[at.From:at.To], g.background[c].X[i*(at.To-at.From):])
			from(c+1, chance*p)
		}
	}
	from(0, 1)
	return mean
}

// effects are the Shapley values by their definition, a weighted mean over all sets.
func (g *game) effects(x []float32, s Score) (base float64, effects []float64) {
	d := len(g.columns)
	values := make([]float64, 1<<d)
	for set := range values {
		values[set] = g.value(x, uint(set), s)
	}
	effects = make([]float64, d)
	factorial := []float64{1}
	for i := range d {
		factorial = append(factorial, factorial[i]*float64(i+1))
	}
	for c := range d {
		for set := range uint(1 << d) {
			if size := bits.OnesCount(set); set>>c&1 == 0 {
				weight := factorial[size] * factorial[d-size-1] / factorial[d]
				effects[c] += weight * (values[set|1<<c] - values[set])
			}
		}
	}
	return values[0], effects
}

// plain are five columns of one number.
func plain() (columns []Column, background []Distribution) {
	random := rand.New(rand.NewPCG(3, 4))
	for j := range 5 {
		columns = append(columns, Column{string(rune('a' + j)), j, j + 1})
		v := Distribution{P: []float64{0.5, 0.3, 0.2}}
		for range v.P {
			v.X = append(v.X, float32(random.NormFloat64()))
		}
		background = append(background, v)
	}
	return columns, background
}

// typed are a number with missing values, a category, a time of four numbers, a category with a table and a number
// that becomes levels, and the steps that encode them.
func typed() (steps []features.Recipe, columns []Column, background []Distribution) {
	columns = []Column{{"age", 0, 1}, {"kind", 1, 2}, {"when", 2, 6}, {"town", 6, 7}, {"code", 7, 8}}
	background = []Distribution{
		{[]float32{0.3, -1, nan}, []float64{0.5, 0.3, 0.2}},
		{[]float32{0, 1, 3, nan}, []float64{0.4, 0.3, 0.2, 0.1}},
		{[]float32{0.5, 1, 0.2, -1, -0.25, 2, 0.5, 1.5}, []float64{0.25, 0.75}},
		{[]float32{0, 2}, []float64{0.6, 0.4}},
		{[]float32{1, 2, 3.5}, []float64{0.2, 0.3, 0.5}},
	}
	number := preprocess.Slot{Number: &preprocess.Number{}}
	r := preprocess.Columns{Slots: []preprocess.Slot{
		{Number: &preprocess.Number{Fill: 0.1, Missing: 0.7}},
		{OneHot: &preprocess.OneHot{Values: 3, Weight: 0.8, Missing: true}},
		number, number, number, number,
		{Lookup: &preprocess.Lookup{Values: 2, Out: 2, Numbers: features.Floats{0.3, 1, -0.4, 0.2, 0.1, -1}}},
		number,
	}}
	_, out := r.Dims()
	levels := preprocess.BinLevels{In: out, Columns: []preprocess.BinColumn{{Index: 8, Cuts: features.Floats{1.5, 3}}}, Weight: 0.9}
	return []features.Recipe{r, levels}, columns, background
}

// cases are models on all maps and encodings whose effects are exact, each with a row.
func cases(t *testing.T) map[string]*game {
	t.Helper()
	columns, background := plain()
	all := map[string]*game{}
	add := func(name string, r features.Recipe) { all[name] = newGame(t, r, 2, columns, background) }
	for _, form := range []fourier.Form{fourier.Paired, fourier.Offset} {
		add("gaussian "+form.String(), fourier.Gaussian{In: 5, Out: 24, Width: 1, Form: form, Seed: 1})
		add("orthogonal "+form.String(), fourier.Gaussian{In: 5, Out: 24, Width: 1, Form: form, Draw: fourier.Orthogonal})
		add("structured "+form.String(), fourier.Gaussian{In: 5, Out: 24, Width: 1, Form: form, Draw: fourier.Structured})
		add("laplace "+form.String(), fourier.Laplace{In: 5, Out: 24, Width: 2, Form: form})
		add("matern "+form.String(), fourier.Matern{In: 5, Out: 24, Width: 2, Nu: 1.5, Form: form})
		file := &learned.Frequencies{Count: 3, In: 5, Weight: []float64{0.5, 0.3, 0.2}}
		for i := range 15 {
			file.W = append(file.W, float32(math.Sin(float64(i)))/4)
		}
		data, err := learned.Encode(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := learned.RecipeOf(data, form, 3)
		if err != nil {
			t.Fatal(err)
		}
		add("learned "+form.String(), r)
	}
	gaussian := fourier.Gaussian{In: 5, Out: 24, Width: 1, Seed: 1}
	diagonal := preprocess.DiagonalMetric{A: features.Floats{1, 0.5, 2, 0, 1}}
	matrix := &preprocess.MetricMatrix{Dim: 5}
	for i := range 25 {
		matrix.A = append(matrix.A, float32(math.Cos(float64(i*i))))
	}
	data, err := preprocess.EncodeMetric(matrix)
	if err != nil {
		t.Fatal(err)
	}
	full, err := preprocess.MetricOf(data)
	if err != nil {
		t.Fatal(err)
	}
	standard := preprocess.Standard{Mean: []float32{1, 0, -1, 0.5, 0}, Dev: []float32{1, 2, 0.5, 1, 3}}
	hats := preprocess.Bins{In: 5, PiecewiseLinear: true, Weight: 0.5, Columns: []preprocess.BinColumn{
		{Index: 3, Cuts: features.Floats{-1, 0, 1}}, {Index: 0, Cuts: features.Floats{-0.5, 2}}}}
	chain := func(steps ...features.Recipe) features.Recipe { return features.Chain{Steps: steps} }
	add("linear", identity.Recipe{In: 5, Bound: 1})
	add("gaussian at landmarks", chain(standard, diagonal, landmarksOf(t, fourier.Gaussian{In: 5, Out: 2, Width: 1.5})))
	add("laplace at landmarks next to a kernel", chain(standard, preprocess.Join{Parts: []features.Recipe{
		gaussian, landmarksOf(t, fourier.Laplace{In: 5, Out: 2, Width: 3})}}))
	add("diagonal metric", chain(standard, diagonal, gaussian))
	add("full metric", chain(standard, full, diagonal, gaussian))
	add("bins alone", chain(standard, hats))
	add("columns beside a kernel", chain(standard, preprocess.Join{Parts: []features.Recipe{
		identity.Recipe{In: 5, Bound: 1}, chain(full, gaussian), hats}}))

	steps, columns, background := typed()
	_, d, err := features.Dims(steps[len(steps)-1])
	if err != nil {
		t.Fatal(err)
	}
	wide := fourier.Gaussian{In: d, Out: 16, Width: 1.5, Seed: 2}
	all["typed"] = newGame(t, chain(append(steps, wide)...), 2, columns, background)
	all["typed, at landmarks"] = newGame(t, chain(append(steps, landmarksOf(t, fourier.Gaussian{In: d, Out: 2, Width: 2}))...),
		2, columns, background)
	all["typed, linear"] = newGame(t, chain(append(steps, identity.Recipe{In: d, Bound: 4})...), 2, columns, background)
	return all
}

// landmarksOf returns the recipe of a kernel at seven landmarks.
func landmarksOf(t *testing.T, kernel features.Recipe) features.Recipe {
	t.Helper()
	in, _, err := features.Dims(kernel)
	if err != nil {
		t.Fatal(err)
	}
	z := &landmarks.Set{Count: 7, In: in}
	for i := range 7 * in {
		z.X = append(z.X, float32(math.Sin(float64(i*i))))
	}
	r, err := landmarks.RecipeOf(kernel, z)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rowOf returns a row that is not in the background.
func rowOf(g *game) []float32 {
	if len(g.columns) == 5 && g.columns[4].To == 8 {
		return []float32{2, 1, -0.7, 0.4, 1, 0.3, 1, 2.5}
	}
	return []float32{0.7, -1.2, 0.4, 1.9, -0.3}
}

var scores = []Score{{{0, 0.5}, {1, -0.5}}, {{1, 3}}}

func TestEffectsMatchTheDefinition(t *testing.T) {
	for name, g := range cases(t) {
		e, err := NewExact(g.recipe, g.model, g.columns, g.background)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		x := rowOf(g)
		got := make([]float64, 10)
		e.Effects(got, x, nil, scores)
		for i, s := range scores {
			base, want := g.effects(x, s)
			sum := base
			for c, v := range want {
				sum += got[i*5+c]
				if math.Abs(got[i*5+c]-v) > 2e-6 {
					t.Errorf("%s, score %d: effect of column %d is %g, by the definition %g", name, i, c, got[i*5+c], v)
				}
			}
			if full := g.value(x, 31, s); math.Abs(e.Base(s)-base) > 5e-6 || math.Abs(sum-full) > 5e-6 { // of up to 14
				t.Errorf("%s, score %d: base %g and sum %g, want %g and %g", name, i, e.Base(s), sum, base, full)
			}
		}
	}
}

// The effect in a linear model is the weight times the distance from the mean.
func TestEffectsOfALinearModelAreWeightTimesDistance(t *testing.T) {
	columns, background := plain()
	g := newGame(t, identity.Recipe{In: 5, Bound: 1}, 1, columns, background)
	e, err := NewExact(g.recipe, g.model, columns, background)
	if err != nil {
		t.Fatal(err)
	}
	x, got := rowOf(g), make([]float64, 5)
	e.Effects(got, x, nil, []Score{{{0, 1}}})
	for c, v := range got {
		mean := 0.0
		for i, p := range background[c].P {
			mean += p * float64(background[c].X[i])
		}
		if want := float64(g.model.W[c]) * (float64(x[c]) - mean); math.Abs(v-want) > 1e-12 {
			t.Errorf("column %d: %g, want %g", c, v, want)
		}
	}
}

// A column that the score does not depend on has no effect, and columns with the same role have the same
// effect.
func TestEffectsSatisfyTheDummyAndSymmetryAxioms(t *testing.T) {
	columns, background := plain()
	for c := range background {
		background[c] = background[0]
	}
	file := &learned.Frequencies{Count: 4, In: 5}
	for j := range 4 {
		a, b := float32(j+1)/7, float32(j)/5
		file.W = append(file.W, a, a, b, 0, -b)
	}
	data, err := learned.Encode(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := learned.RecipeOf(data, fourier.Paired, 0)
	if err != nil {
		t.Fatal(err)
	}
	g := newGame(t, r, 1, columns, background)
	e, err := NewExact(g.recipe, g.model, columns, background)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float64, 5)
	e.Effects(got, []float32{1, 1, 0.5, 7, 0.5}, nil, []Score{{{0, 1}}})
	if got[3] != 0 || math.Abs(got[0]-got[1]) > 1e-15 || got[0] == 0 || got[2] == got[4] {
		t.Errorf("effects %v: the fourth is of no use, the first two are the same", got)
	}
}

// With many columns few points are tried first, and the result equals the exact rule's.
func TestManyColumnsAreExact(t *testing.T) {
	const d = 150
	var columns []Column
	background, x := make([]Distribution, d), make([]float32, d)
	random := rand.New(rand.NewPCG(5, 6))
	for j := range d {
		columns = append(columns, Column{"", j, j + 1})
		background[j] = Distribution{[]float32{float32(random.NormFloat64()), 0}, []float64{0.5, 0.5}}
		x[j] = float32(random.NormFloat64())
	}
	for _, width := range []float64{1, 10} { // narrow kernels need more points
		g := newGame(t, fourier.Gaussian{In: d, Out: 64, Width: width}, 1, columns, background)
		e, err := NewExact(g.recipe, g.model, columns, background)
		if err != nil {
			t.Fatal(err)
		}
		w := e.products[0]
		if n := len(w.nodes); n != 2 || len(w.nodes[0].at) != 32 || len(w.nodes[1].at) != 75 {
			t.Fatalf("%d rules", n)
		}
		got, want := make([]float64, d), make([]float64, d)
		e.Effects(got, x, nil, []Score{{{0, 1}}})
		w.nodes = w.nodes[1:]
		e.Effects(want, x, nil, []Score{{{0, 1}}})
		sum := e.Base([]Term{{0, 1}})
		for j := range got {
			sum += got[j]
			if math.Abs(got[j]-want[j]) > 1e-8 {
				t.Errorf("width %g, column %d: %g, by the exact rule %g", width, j, got[j], want[j])
			}
		}
		if full := float64(g.scores(x, 1)[0]); math.Abs(sum-full) > 1e-4 {
			t.Errorf("width %g: sum %g, score %g", width, sum, full)
		}
	}
}

func TestRulesAreExactForPolynomials(t *testing.T) {
	for _, n := range []int{1, 2, 7, 32, 100} {
		r := newRule(n)
		for _, degree := range []int{0, 1, n, 2*n - 1} {
			sum := 0.0
			for i, x := range r.at {
				sum += r.weight[i] * math.Pow(x, float64(degree))
			}
			if want := 1 / float64(degree+1); math.Abs(sum-want) > 1e-14 {
				t.Errorf("%d points, degree %d: %g, want %g", n, degree, sum, want)
			}
		}
	}
}

func TestTurnMatchesSinAndCos(t *testing.T) {
	for u := -2.0; u < 2; u += 0.0137 {
		sin, cos := math.Sincos(2 * math.Pi * u)
		if got := turn(u); math.Abs(got.re-cos) > 4e-15 || math.Abs(got.im-sin) > 4e-15 {
			t.Errorf("turn(%g) = %v, want %g, %g", u, got, cos, sin)
		}
	}
}

// Effects of maxout features, which are no products, are sampled: they sum to the prediction, with a known
// error.
func TestSampledEffectsSumToThePrediction(t *testing.T) {
	columns, background := plain()
	g := newGame(t, maxout.Recipe{In: 5, Out: 40, Q: 3, Bound: 8}, 2, columns, background)
	if _, err := NewExact(g.recipe, g.model, columns, background); !errors.Is(err, ErrMixed) {
		t.Fatalf("have %v, want ErrMixed", err)
	}
	x := rowOf(g)
	var off, errors float64
	for seed := range uint64(20) {
		s, err := NewSampled(columns, background, 5, 2, seed, func() Scorer { return g.scores })
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float64, 10)
		stdErr := s.Effects(got, x, g.scores(x, 1), scores)
		for i, score := range scores {
			_, want := g.effects(x, score)
			sum := s.Base(score)
			for c, v := range want {
				sum += got[i*5+c]
				off = max(off, math.Abs(got[i*5+c]-v)/stdErr)
			}
			if full := g.value(x, 31, score); math.Abs(sum-full) > 1e-5 {
				t.Errorf("seed %d: sum %g, score %g", seed, sum, full)
			}
		}
		errors += stdErr
	}
	if off > 4 || off < 1 || !(errors > 0) { // the largest of 200
		t.Errorf("effects are up to %g standard errors off", off)
	}
}

func TestBackgroundIsDrawnFromProfileStatistics(t *testing.T) {
	s := &profile.Statistics{
		Profile: profile.Profile{Rows: 100, Dim: 4, Columns: make([]profile.Column, 4)},
		Points:  [][]float32{{1, 1, 2, 4}, nil, {5, 6}, {7, 8}},
		Levels:  [][]int64{nil, {10, 0, 80}, nil, nil},
	}
	s.Columns[0].Missing, s.Columns[1].Missing = 20, 10
	columns := []Column{{"number", 0, 1}, {"kind", 1, 2}, {"when", 2, 4}, {"later", 4, 5}}
	got, err := background(s, columns)
	if err != nil {
		t.Fatal(err)
	}
	for g, want := range []Distribution{
		{[]float32{1, 2, 4, nan}, []float64{0.4, 0.2, 0.2, 0.2}}, {[]float32{2, 0, nan}, []float64{0.8, 0.1, 0.1}},
		{[]float32{5, 7, 6, 8}, []float64{0.5, 0.5}}, {[]float32{0}, []float64{1}},
	} {
		same := slices.EqualFunc(got[g].X, want.X, func(a, b float32) bool { return a == b || a != a && b != b }) &&
			slices.EqualFunc(got[g].P, want.P, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })
		if !same {
			t.Errorf("%s: %v, want %v", columns[g].Name, got[g], want)
		}
	}
	s.Points[3] = s.Points[3][:1]
	if _, err := background(s, columns); err == nil {
		t.Error("points of different lengths were accepted")
	}
	s.Points[3], s.Columns[0].Missing = []float32{7, 8}, 101
	if _, err := background(s, columns); err == nil {
		t.Error("more missing values than rows were accepted")
	}
	s.Columns[0].Missing = 100
	s.Points[0] = nil
	if got, err := background(s, columns); err != nil ||
		len(got[0].P) != 1 || got[0].P[0] != 1 || got[0].X[0] == got[0].X[0] {
		t.Errorf("a column without values: %v, %v", got, err)
	}
	s.Levels = append(s.Levels[:2], []int64{1, 2}, nil)
	if _, err := background(s, columns); err == nil {
		t.Error("levels of a time were accepted")
	}
	s.Levels = s.Levels[:2]
	s.Points = s.Points[:2]
	if _, err := background(s, columns); err == nil {
		t.Error("missing points were accepted")
	}
}

// The i-th of 32 points is the quantile (i+½)/32, the numbers of a time come from the same row, and missing values are
// left out.
func TestPointsAreSpreadLikeTheSample(t *testing.T) {
	s := profile.NewTable(profile.Options{Sample: 1000}, []int{0, 3, 0, 0})
	b := rowio.Block{N: 640, D: 4}
	hashes := make([]uint64, b.N)
	for i := range b.N {
		v := float32(i * 7 % b.N)
		hashes[i] = uint64(i)
		if i%64 == 0 {
			v = nan
		}
		b.X = append(b.X, v, 1, float32(i*3%b.N), -float32(i*3%b.N))
	}
	s.AddBlock(&b, hashes)
	points := BackgroundPoints(s, []int{0, 1, 2, 2})
	if len(points) != 4 || len(points[0]) != 32 || points[1] != nil || len(points[3]) != 32 {
		t.Fatalf("points %v", points)
	}
	for i := range 32 {
		want := float32(20*i + 10)
		if got := points[2][i]; got != want || points[3][i] != -want {
			t.Errorf("point %d is %g and %g, want %g and its negative", i, got, points[3][i], want)
		}
		if got := points[0][i]; math.Abs(float64(got-want)) > 20 {
			t.Errorf("point %d is %g, want about %g", i, got, want)
		}
	}
	if BackgroundPoints(s, []int{0}) != nil {
		t.Error("points of more numbers than there are columns")
	}
}

// Correlated columns share their effect equally only if the model uses both, because effects describe the model
// and not the data. A kernel model of y = x₀ on rows with x₁ ≈ x₀ and noise x₂ gives x₀ and x₁ the same effect,
// and x₂ hardly any.
func TestCorrelatedColumnsShareTheEffect(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	const n, d = 800, 3
	data := &linear.Data{}
	for range n {
		v := random.NormFloat64()
		data.X = append(data.X, float32(v), float32(v+0.01*random.NormFloat64()), float32(random.NormFloat64()))
		data.Target = append(data.Target, v)
	}
	r := fourier.Gaussian{In: d, Out: 256, Width: 3}
	var err error
	if data.Map, err = r.New(); err != nil {
		t.Fatal(err)
	}
	fit, err := ridge.Fit(data, []float64{1e-4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	columns := ColumnsOf(nil, nil, d)
	background := make([]Distribution, d)
	for i := range 32 {
		for c := range d {
			background[c].add(1./32, data.X[i*d+c])
		}
	}
	e, err := NewExact(r, fit.Linear, columns, background)
	if err != nil {
		t.Fatal(err)
	}
	sizes, effects := make([]float64, d), make([]float64, d)
	for i := range 100 {
		e.Effects(effects, data.X[i*d:(i+1)*d], nil, []Score{{{0, 1}}})
		for c, v := range effects {
			sizes[c] += math.Abs(v)
		}
	}
	if math.Abs(sizes[0]/sizes[1]-1) > 0.2 || sizes[2] > sizes[0]/10 {
		t.Errorf("mean effects %v", sizes)
	}
}

func BenchmarkEffects(b *testing.B) {
	for name, d := range map[string]int{"14 columns": 14, "100 columns": 100, "784 columns": 784} {
		b.Run(name, func(b *testing.B) {
			var columns []Column
			background := make([]Distribution, d)
			for j := range d {
				columns = append(columns, Column{"", j, j + 1})
				background[j] = Distribution{[]float32{-1, 0, 1}, []float64{0.3, 0.4, 0.3}}
			}
			r := fourier.Gaussian{In: d, Out: 8192, Width: math.Sqrt(float64(d))}
			l := &linear.Model{K: 1, D: 8192, W: slices.Repeat([]float32{0.01}, 8192), B: make([]float32, 1)}
			e, err := NewExact(r, l, columns, background)
			if err != nil {
				b.Fatal(err)
			}
			x, dst := make([]float32, d), make([]float64, d)
			for j := range x {
				x[j] = float32(math.Sin(float64(j)))
			}
			for b.Loop() {
				e.Effects(dst, x, nil, []Score{{{0, 1}}})
			}
		})
	}
}

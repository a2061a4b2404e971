package main

import (
	bytesOf "encoding/binary"
	"encoding/json"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"testing"
)

// The files formats_*_test.go read models by docs/formats.md only: they use nothing of this module, as a test checks.

// words is the stream of the 64-bit words of a seed, a purpose and an index.
type words struct {
	key, counter [4]uint32
	left         []uint64
}

func newWords(seed uint64, purpose string, index uint64) *words {
	hash := uint32(0x811c9dc5)
	for _, c := range []byte(purpose) {
		hash = (hash ^ uint32(c)) * 0x01000193
	}
	return &words{
		key:     [4]uint32{uint32(seed), uint32(seed >> 32)},
		counter: [4]uint32{0, hash, uint32(index), uint32(index >> 32)},
	}
}

func (w *words) next() uint64 {
	if len(w.left) == 0 {
		c, k0, k1 := w.counter, w.key[0], w.key[1]
		for range 10 {
			h0, l0 := bits.Mul32(0xd2511f53, c[0])
			h1, l1 := bits.Mul32(0xcd9e8d57, c[2])
			c = [4]uint32{h1 ^ c[1] ^ k0, l1, h0 ^ c[3] ^ k1, l0}
			k0, k1 = k0+0x9e3779b9, k1+0xbb67ae85
		}
		w.counter[0]++
		w.left = []uint64{uint64(c[1])<<32 | uint64(c[0]), uint64(c[3])<<32 | uint64(c[2])}
	}
	v := w.left[0]
	w.left = w.left[1:]
	return v
}

func (w *words) uniform() float64 { return (float64(w.next()>>12) + 0.5) / (1 << 52) }
func (w *words) normal() float64  { return math.Sqrt2 * math.Erfinv(2*(w.uniform()-0.5)) }
func (w *words) cauchy() float64  { return math.Tan(math.Pi * (w.uniform() - 0.5)) }

func (w *words) laplace() float64 {
	q := w.uniform() - 0.5
	return math.Copysign(-math.Log(1-2*math.Abs(q)), q)
}

func (w *words) gamma(a float64) float64 {
	d := a - 1.0/3
	for {
		x, u := w.normal(), w.uniform()
		y := 1 + x/math.Sqrt(9*d)
		if v := y * y * y; y > 0 && math.Log(u) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

func (w *words) stable(a float64) float64 {
	u, e := math.Pi*w.uniform(), -math.Log(w.uniform())
	return math.Sin(a*u) / math.Pow(math.Sin(u), 1/a) * math.Pow(math.Sin((1-a)*u)/e, (1-a)/a)
}

func (w *words) below(n uint64) uint64 {
	for {
		if high, low := bits.Mul64(w.next(), n); low >= -n%n {
			return high
		}
	}
}

// kindOf is a sealed recipe.
type kindOf struct {
	Kind   string
	Recipe struct {
		In, Out, Q, Pool, Count     int
		Width, Nu, Exponent, By     float64
		Form, Draw, SHA256          string
		Seed                        uint64
		Mean, Dev, Low, High        []float32
		Steps                       []kindOf
		frequencies, frequencyShare []float64 // of a learned recipe

		Slots    []slotOf
		Skeleton *graphOf
		Sampler  string

		At      []float32
		A       []byte
		Dim     int
		Weight  float32
		Linear  bool `json:"piecewise_linear"`
		Keep    bool
		Parts   []kindOf
		Columns []struct {
			Index            int
			At, Scores, Cuts []byte
		}
		Pairs []struct {
			First, Second int
			A, B, C       float32
		}
		metric []float64 // of a full metric
	}
}

// features returns the features of a row.
func (k *kindOf) features(x []float64) []float64 {
	r := &k.Recipe
	y := make([]float64, len(x))
	switch k.Kind {
	case "chain":
		for i := range r.Steps {
			k.give(&r.Steps[i])
			x = r.Steps[i].features(x)
		}
		return x
	case "scale.standard":
		for j, v := range x {
			y[j] = float64((float32(v) - r.Mean[j]) / orOne(r.Dev[j]))
		}
		return y
	case "scale.minmax":
		for j, v := range x {
			y[j] = float64((float32(v) - r.Low[j]) / orOne(r.High[j]-r.Low[j]))
		}
		return y
	case "scale.divide":
		for j, v := range x {
			y[j] = float64(float32(v) / float32(r.By))
		}
		return y
	case "scale.unit":
		var squares float64
		for _, v := range x {
			squares += v * v
		}
		for j, v := range x {
			y[j] = float64(float32(v / math.Sqrt(squares)))
		}
		return y
	case "linear.identity":
		return x
	case "columns":
		return slots(r.Slots, x)
	case "skeleton":
		return r.Skeleton.features(r.Out, r.Sampler == "hybrid", r.Seed, x)
	case "maxout":
		return k.maxout(x)
	case "scale.clip", "scale.normalscores", "metric.diagonal", "metric.full", "bins", "bins.levels", "differences", "join":
		return k.step(x)
	case "learned":
		return k.waves(x, r.Count, "learned/offset", func(j, i int) float64 { return r.frequencies[j*r.In+i] })
	}
	n := r.Out
	if r.Form == "paired" {
		n /= 2
	}
	w := make([][]float64, n)
	for j := range w {
		w[j] = k.frequency(j)
	}
	return k.waves(x, n, "fourier/offset", func(j,
		i int) float64 {
		return float64(float32(w[j][i] * (1 / (2 * math.Pi * r.Width))))
	})
}

func orOne(v float32) float32 {
	if v == 0 {
		return 1
	}
	return v
}

// frequency returns frequency j at width 1.
func (k *kindOf) frequency(j int) []float64 {
	r := &k.Recipe
	switch r.Draw {
	case "orthogonal":
		return k.orthogonal(j/r.In, j%r.In)
	case "structured":
		return k.structured(j)
	}
	z, s, factor := make([]float64, r.In), newWords(r.Seed, "fourier/frequency", uint64(j)), 1.0
	if k.Kind == "fourier.matern" {
		factor = math.Sqrt(r.Nu / newWords(r.Seed, "fourier/radius", uint64(j)).gamma(r.Nu))
	}
	if k.Kind == "fourier.exponential" {
		factor = math.Sqrt(2 * newWords(r.Seed, "fourier/radius", uint64(j)).stable(r.Exponent/2))
	}
	for i := range z {
		switch k.Kind {
		case "fourier.gaussian", "fourier.matern", "fourier.exponential":
			z[i] = s.normal() * factor
		case "fourier.laplace":
			z[i] = s.cauchy()
		case "fourier.cauchy":
			z[i] = s.laplace()
		default:
			panic("no such kind: " + k.Kind)
		}
	}
	return z
}

func (k *kindOf) orthogonal(block, column int) []float64 {
	d, seed := k.Recipe.In, k.Recipe.Seed
	normals := func(i int) (x []float64, size float64) {
		x = make([]float64, d)
		s := newWords(seed, "fourier/frequency", uint64(block*d+i))
		for e := i; e < d; e++ {
			x[e] = s.normal()
			size += x[e] * x[e]
		}
		return x, math.Sqrt(size)
	}
	y, size := normals(column)
	for e := range y {
		y[e] /= size
	}
	for i := column - 1; i >= 0; i-- {
		v, size := normals(i)
		beta := 1 / (size*size + math.Abs(v[i])*size)
		v[i] += math.Copysign(size, v[i])
		var dot float64
		for e := range v {
			dot += v[e] * y[e]
		}
		for e := range v {
			y[e] -= dot * beta * v[e]
		}
	}
	chi := math.Sqrt(2 * newWords(seed, "fourier/norm", uint64(block*d+column)).gamma(float64(d)/2))
	for e := range y {
		y[e] *= chi
	}
	return y
}

func (k *kindOf) structured(j int) []float64 {
	size := max(64, 1<<bits.Len(uint(k.Recipe.In-1)))
	block, row := j/size, make([]float64, size)
	row[j%size] = 1
	for i := range 3 {
		mixed := make([]float64, size)
		for a := range mixed {
			for b, v := range row {
				mixed[a] += v * float64(1-2*(bits.OnesCount(uint(a&b))%2))
			}
		}
		s := newWords(k.Recipe.Seed, "fourier/sign", uint64(3*block+i))
		var signs uint64
		for e, v := range mixed {
			if e%64 == 0 {
				signs = s.next()
			}
			row[e] = v * float64(1-2*int(signs>>(e%64)&1))
		}
	}
	for e := range row {
		row[e] /= float64(size)
	}
	return row[:k.Recipe.In]
}

// waves returns the cosines, and with the paired form the sines, of n frequencies in turns.
func (k *kindOf) waves(x []float64, n int, purpose string, w func(j, i int) float64) []float64 {
	r := &k.Recipe
	paired := r.Form == "paired"
	var cos, sin []float64
	for j := range n {
		turns := 0.0
		if !paired {
			turns = float64(float32(newWords(r.Seed, purpose, uint64(j)).uniform()))
		}
		for i, v := range x {
			turns += v * w(j, i)
		}
		turns -= math.Round(turns)
		amplitude := math.Sqrt(1 / float64(n))
		if r.frequencyShare != nil {
			amplitude = math.Sqrt(r.frequencyShare[j])
		}
		if !paired {
			amplitude *= math.Sqrt2
		}
		cos = append(cos, amplitude*math.Cos(2*math.Pi*turns))
		sin = append(sin, amplitude*math.Sin(2*math.Pi*turns))
	}
	if !paired {
		return cos
	}
	return append(cos, sin...)
}

func (k *kindOf) maxout(x []float64) []float64 {
	r := &k.Recipe
	project := func(p int) (sum float64) {
		s := newWords(r.Seed, "maxout/projection", uint64(p))
		for _, v := range x {
			sum += v * float64(float32(s.normal()))
		}
		return sum
	}
	var out []float64
	for unit := range r.Out {
		best := math.Inf(-1)
		left := make([]int, r.Pool)
		for p := range left {
			left[p] = p
		}
		s := newWords(r.Seed, "maxout/unit", uint64(unit))
		for j := range r.Q {
			p := unit*r.Q + j
			if r.Pool > 0 {
				i := int(s.below(uint64(r.Pool - j)))
				p = left[i]
				left = slices.Delete(left, i, i+1)
			}
			best = max(best, project(p))
		}
		out = append(out, best/math.Sqrt(float64(r.Out)))
	}
	return out
}

// tensors reads a safetensors file: eight bytes with the length of the header, a header
// in JSON, numbers.
func tensors(t *testing.T, data string) map[string][]float64 {
	t.Helper()
	length := bytesOf.LittleEndian.Uint64([]byte(data[:8]))
	var header map[string]struct {
		DType string   `json:"dtype"`
		At    []uint64 `json:"data_offsets"`
	}
	if err := json.Unmarshal([]byte(data[8:8+length]), &header); err != nil {
		t.Fatal(err)
	}
	out := map[string][]float64{}
	for name, tensor := range header {
		b := []byte(data[8+length+tensor.At[0] : 8+length+tensor.At[1]])
		for ; len(b) > 0 && tensor.DType == "F32"; b = b[4:] {
			out[name] = append(out[name], float64(math.Float32frombits(bytesOf.LittleEndian.Uint32(b))))
		}
		for ; len(b) > 0 && tensor.DType == "F64"; b = b[8:] {
			out[name] = append(out[name], math.Float64frombits(bytesOf.LittleEndian.Uint64(b)))
		}
	}
	return out
}

// outsider is a model as another program reads it.
type outsider struct {
	Task              string
	Features, Outputs int
	Recipe            kindOf
	Vocabulary        struct{ Classes []string }
	TargetGrid        struct{ Low, High float64 } `json:"target_grid"`
	Positive          string
	Threshold         *struct {
		Value float64
		Of    string
	}
	Probabilities struct {
		Kind   string
		Curves []struct {
			Slope, Offset      float64
			Score, Probability []float64
		}
	}
	Input struct {
		Columns []string
		Options struct{ Table *tableOf }
	}
	Seed    string
	Learner struct {
		Table []struct {
			Held int `json:"held_rows"`
		}
	}
	weights, intercept []float64
}

func readOutsider(t *testing.T, dir string) *outsider {
	t.Helper()
	m := new(outsider)
	if err := json.Unmarshal([]byte(read(t, dir, "manifest.json")), m); err != nil {
		t.Fatal(err)
	}
	w := tensors(t, read(t, dir, "weights.safetensors"))
	m.weights, m.intercept = w["weights"], w["intercept"]
	if slices.Contains(entries(t, dir), "frequencies.safetensors") {
		f := tensors(t, read(t, dir, "frequencies.safetensors"))
		m.Recipe.Recipe.frequencies, m.Recipe.Recipe.frequencyShare = f["frequencies"], f["weights"]
	}
	if slices.Contains(entries(t, dir), "metric.safetensors") {
		m.Recipe.Recipe.metric = tensors(t, read(t, dir, "metric.safetensors"))["metric"]
	}
	return m
}

// scores returns the scores of features.
func (m *outsider) scores(phi []float64) []float64 {
	s := slices.Clone(m.intercept)
	for c := range s {
		for j, v := range phi {
			s[c] += m.weights[c*m.Features+j] * v
		}
	}
	return s
}

func (m *outsider) probabilities(s []float64) []float64 {
	p := make([]float64, len(s))
	var sum float64
	for c, v := range s {
		switch m.Probabilities.Kind {
		case "softmax":
			p[c] = math.Exp(v - slices.Max(s))
		case "logistic":
			p[c] = 1 / (1 + math.Exp(-v))
		case "platt":
			curve := m.Probabilities.Curves[c]
			p[c] = 1 / (1 + math.Exp(-(curve.Slope*v + curve.Offset)))
		case "isotonic":
			curve := m.Probabilities.Curves[c]
			i, _ := slices.BinarySearch(curve.Score, v)
			switch last := len(curve.Score) - 1; {
			case i == 0:
				p[c] = curve.Probability[0]
			case i > last:
				p[c] = curve.Probability[last]
			default:
				a, b := curve.Score[i-1], curve.Score[i]
				p[c] = curve.Probability[i-1] + (v-a)/(b-a)*(curve.Probability[i]-curve.Probability[i-1])
			}
		}
		sum += p[c]
	}
	for c := range p {
		p[c] /= sum
	}
	return p
}

// prediction returns the number that a row is predicted to have, or its class, which is a
// number here.
func (m *outsider) prediction(t *testing.T, s []float64) float64 {
	if m.Task == "regression" {
		low, high := m.TargetGrid.Low, m.TargetGrid.High
		return low + (high-low)/2 + (high-low)/2*s[0]
	}
	if th := m.Threshold; th != nil {
		p := 1
		if m.Positive == m.Vocabulary.Classes[0] {
			p = 0
		}
		of := s[p]/2 - s[1-p]/2
		if th.Of == "probability" {
			of = m.probabilities(s)[p]
		}
		if of >= th.Value {
			return class(t, m.Vocabulary.Classes[p])
		}
		return class(t, m.Vocabulary.Classes[1-p])
	}
	if m.Probabilities.Kind != "" {
		p := m.probabilities(s)
		best := 0
		for c := range p {
			if p[c] > p[best] || p[c] == p[best] && s[c] > s[best] {
				best = c
			}
		}
		return class(t, m.Vocabulary.Classes[best])
	}
	return class(t, m.Vocabulary.Classes[slices.Index(s, slices.Max(s))])
}

func class(t *testing.T, name string) float64 {
	v, err := strconv.ParseFloat(name, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// xxh64 is XXH64 of the specification.
func xxh64(seed uint64, data []byte) uint64 {
	const (
		p1 = 0x9e3779b185ebca87
		p2 = 0xc2b2ae3d27d4eb4f
		p3 = 0x165667b19e3779f9
		p4 = 0x85ebca77c2b2ae63
		p5 = 0x27d4eb2f165667c5
	)
	round := func(acc, v uint64) uint64 { return bits.RotateLeft64(acc+v*p2, 31) * p1 }
	n := uint64(len(data))
	p := []uint64{p1, p2} // so that sums overflow where the program runs
	h := seed + p5
	if len(data) >= 32 {
		acc := [4]uint64{seed + p[0] + p[1], seed + p[1], seed, seed - p[0]}
		for ; len(data) >= 32; data = data[32:] {
			for i := range acc {
				acc[i] = round(acc[i], bytesOf.LittleEndian.Uint64(data[8*i:]))
			}
		}
		h = bits.RotateLeft64(acc[0], 1) + bits.RotateLeft64(acc[1], 7) + bits.RotateLeft64(acc[2], 12) +
			bits.RotateLeft64(acc[3], 18)
		for _, a := range acc {
			h = (h^round(0, a))*p1 + p4
		}
	}
	h += n
	for ; len(data) >= 8; data = data[8:] {
		h = bits.RotateLeft64(h^round(0, bytesOf.LittleEndian.Uint64(data)), 27)*p1 + p4
	}
	if len(data) >= 4 {
		h = bits.RotateLeft64(h^uint64(bytesOf.LittleEndian.Uint32(data))*p1, 23)*p2 + p3
		data = data[4:]
	}
	for _, b := range data {
		h = bits.RotateLeft64(h^uint64(b)*p5, 11) * p1
	}
	h = (h ^ h>>33) * p2
	h = (h ^ h>>29) * p3
	return h ^ h>>32
}

package fourier

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/testing/stattest"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Frequencies never change. The values were computed from the package comments of fourier and stream by an
// independent program.
func TestDependentFrequenciesAreGolden(t *testing.T) {
	const seed = 0xdecafbad12345678
	for _, c := range []struct {
		draw Draw
		j    int
		want [3]float32
	}{
		{Orthogonal, 0, [3]float32{-0x1.69daaap-4, 0x1.01393ap-7, 0x1.6d863ep-7}},
		{Orthogonal, 1, [3]float32{0x1.bd5b08p-11, 0x1.a43d94p-4, -0x1.0c2c34p-4}},
		{Orthogonal, 5, [3]float32{0x1.2e9adep-8, -0x1.f1e386p-7, 0x1.0b71a2p-8}},
		{Orthogonal, 1 << 20, [3]float32{0x1.b2f344p-5, 0x1.9f6c0ep-6, -0x1.304c72p-3}},
		{Structured, 0, [3]float32{-0x1.04c26cp-5, -0x1.45f306p-4, -0x1.04c26cp-5}},
		{Structured, 63, [3]float32{0x1.45f306p-4, -0x1.04c26cp-5, -0x1.8723a2p-5}},
		{Structured, 64, [3]float32{0x1.c8543cp-4, -0x1.04c26cp-5, -0x1.04c26cp-6}},
		{Structured, 1 << 20, [3]float32{-0x1.04c26cp-5, 0x1.8723a2p-5, 0x1.8723a2p-4}},
	} {
		for _, form := range []Form{Paired, Offset} {
			w, b, err := Turns(Gaussian{In: 3, Out: 1 << 22, Width: 2.5, Form: form, Draw: c.draw, Seed: seed}, c.j, 1)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(w, c.want[:]) {
				t.Errorf("%v %v, frequency %d: have %x, want %x", c.draw, form, c.j, w, c.want)
			}
			if (form == Offset) != (len(b) == 1) {
				t.Errorf("%v: offsets %v", form, b)
			}
		}
	}
	// The last columns of a block of 128, of rows of 100.
	w, _, err := Turns(Gaussian{In: 100, Out: 256, Width: 2.5, Draw: Structured, Seed: seed}, 100, 1)
	if want := []float32{0x1.04c26cp-5, -0x1.8723a2p-5, -0x1.8723a2p-4}; err != nil || !slices.Equal(w[97:], want) {
		t.Errorf("have %x (%v), want %x", w[97:], err, want)
	}
}

func TestDependentFrequenciesEqualThoseOfTheWholeDraw(t *testing.T) {
	for _, d := range []Draw{Orthogonal, Structured} {
		for _, in := range []int{1, 2, 7, 90} {
			r := Gaussian{In: in, Out: 700, Width: 3, Form: Offset, Draw: d, Seed: 7}
			all, allB, err := Turns(r, 0, 700)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct{ first, n int }{{0, 1}, {1, 3}, {63, 2}, {88, 6}, {127, 130}, {699, 1}, {700, 0}} {
				w, b, err := Turns(r, c.first, c.n)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(w, all[c.first*in:(c.first+c.n)*in]) || !slices.Equal(b, allB[c.first:c.first+c.n]) {
					t.Errorf("%v, rows of %d: frequencies from %d on differ when %d are drawn", d, in, c.first, c.n)
				}
			}
		}
	}
}

// blockOf returns frequencies of one block in units of 1/width, as float64.
func blockOf(t *testing.T, r Gaussian, block, size int) *mat.Dense {
	t.Helper()
	w, _, err := Turns(r, block*size, size)
	if err != nil {
		t.Fatal(err)
	}
	m := mat.NewDense(size, r.In, nil)
	for i := range size {
		for j := range r.In {
			m.Set(i, j, float64(w[i*r.In+j])*2*math.Pi*r.Width)
		}
	}
	return m
}

func TestFrequenciesOfABlockAreOrthogonal(t *testing.T) {
	for _, c := range []struct {
		draw Draw
		in   int
	}{{Orthogonal, 2}, {Orthogonal, 7}, {Orthogonal, 130}, {Structured, 64}, {Structured, 256}} {
		for block := range 2 {
			m := blockOf(t, Gaussian{In: c.in, Out: 4 * c.in, Width: 5, Draw: c.draw, Seed: 3}, block, c.in)
			for i := range c.in {
				a := m.RawRowView(i)
				for j := range i {
					b := m.RawRowView(j)
					var ab, aa, bb float64
					for k := range a {
						ab, aa, bb = ab+a[k]*b[k], aa+a[k]*a[k], bb+b[k]*b[k]
					}
					if cos := ab / math.Sqrt(aa*bb); math.Abs(cos) > 1e-6 {
						t.Fatalf("%v, rows of %d: frequencies %d and %d of block %d have cosine %g", c.draw, c.in, i, j, block, cos)
					}
				}
			}
		}
	}
}

// Each row of an orthogonal draw is N(0, I): its length is χ_d, and its direction
// is uniform and independent of the length.
func TestEachOrthogonalFrequencyIsNormal(t *testing.T) {
	const blocks, width = 4000, 0.5
	for _, d := range []int{1, 2, 5} {
		r := Gaussian{In: d, Out: 2 * blocks * d, Width: width, Draw: Orthogonal, Seed: 5}
		for k := range d {
			columns, lengths := make([][]float64, d), make([]float64, blocks)
			for b := range blocks {
				w, _, err := Turns(r, b*d+k, 1)
				if err != nil {
					t.Fatal(err)
				}
				for i, v := range w {
					z := float64(v) * 2 * math.Pi * width
					columns[i] = append(columns[i], z)
					lengths[b] += z * z
				}
			}
			for i, c := range columns {
				if ks := stattest.KS(c, distuv.UnitNormal.CDF); !(ks < 2.36) {
					t.Errorf("d = %d, frequency %d, column %d: KS %.2f from the normal", d, k, i, ks)
				}
			}
			if ks := stattest.KS(lengths, distuv.ChiSquared{K: float64(d)}.CDF); !(ks < 2.36) {
				t.Errorf("d = %d, frequency %d: KS %.2f of the squared length from χ²", d, k, ks)
			}
		}
	}
	// A whole block at a larger d: lengths are independent of each other.
	const d = 60
	var lengths []float64
	for b := range 40 {
		m := blockOf(t, Gaussian{In: d, Out: 80 * d, Width: width, Draw: Orthogonal, Seed: 6}, b, d)
		for i := range d {
			lengths = append(lengths, math.Pow(mat.Norm(m.RowView(i), 2), 2))
		}
	}
	if ks := stattest.KS(lengths, distuv.ChiSquared{K: d}.CDF); !(ks < 2.36) {
		t.Errorf("d = %d: KS %.2f of the squared length from χ²", d, ks)
	}
}

// Fourth moments equal the moments of a Haar matrix (Collins & Śniady, Commun. Math. Phys. 264, 2006): E q₁₁²q₂₂² =
// (d+1)/((d−1)d(d+2)), E q₁₁q₂₂q₁₂q₂₁ = −1/((d−1)d(d+2)); and determinants have both signs equally often.
func TestOrthogonalBlocksAreHaar(t *testing.T) {
	const blocks = 6000
	for _, d := range []int{2, 3, 6} {
		r := Gaussian{In: d, Out: 2 * blocks * d, Width: 1, Draw: Orthogonal, Seed: 8}
		var squares, cycles, signs []float64
		for b := range blocks {
			m := blockOf(t, r, b, d)
			for i := range d {
				row := m.RawRowView(i)
				size := mat.Norm(m.RowView(i), 2)
				for j := range row {
					row[j] /= size
				}
			}
			l := d - 1 // the first and the last, whose computations differ most
			squares = append(squares, math.Pow(m.At(0, 0)*m.At(l, l), 2))
			cycles = append(cycles, m.At(0, 0)*m.At(l, l)*m.At(0, l)*m.At(l, 0))
			signs = append(signs, mat.Det(m))
		}
		n := float64((d - 1) * d * (d + 2))
		stattest.MeanOf(squares).Near(t, "q₁₁²q₂₂²", float64(d+1)/n, 0)
		stattest.MeanOf(cycles).Near(t, "q₁₁q₂₂q₁₂q₂₁", -1/n, 0)
		stattest.MeanOf(signs).Near(t, "the determinant", 0, 0)
	}
}

// Frequencies of a structured block have length √d'/σ if the rows fill it.
func TestStructuredFrequenciesHaveOneLength(t *testing.T) {
	for _, d := range []int{64, 128, 512} {
		m := blockOf(t, Gaussian{In: d, Out: 4 * d, Width: 3, Draw: Structured, Seed: 1}, 1, d)
		for i := range d {
			if off := mat.Norm(m.RowView(i), 2)/math.Sqrt(float64(d)) - 1; math.Abs(off) > 1e-6 {
				t.Fatalf("d = %d, frequency %d: length √d %+g", d, i, off)
			}
		}
	}
}

func TestDrawTextRoundTrips(t *testing.T) {
	for _, d := range []Draw{Iid, Orthogonal, Structured} {
		text, err := d.MarshalText()
		var back Draw = 7
		if err != nil || back.UnmarshalText(text) != nil || back != d {
			t.Errorf("%v: %q, %v, back %v", d, text, err, back)
		}
	}
	var d Draw
	if err := d.UnmarshalText([]byte("orf")); err == nil ||
		err.Error() != `unknown draw "orf"; have iid, orthogonal, structured` {
		t.Error(err)
	}
	if _, err := Draw(3).MarshalText(); err == nil {
		t.Error("Draw(3) marshals")
	}
}

// The draw iid is omitted from JSON, so that such models keep their bytes.
func TestIidDrawIsOmittedFromJSON(t *testing.T) {
	for d, want := range map[Draw]string{
		Iid:        `{"in":4,"out":8,"width":0.5,"form":"paired","seed":3}`,
		Orthogonal: `{"in":4,"out":8,"width":0.5,"form":"paired","draw":"orthogonal","seed":3}`,
		Structured: `{"in":4,"out":8,"width":0.5,"form":"paired","draw":"structured","seed":3}`,
	} {
		r := Gaussian{In: 4, Out: 8, Width: 0.5, Draw: d, Seed: 3}
		s, err := features.Seal(r)
		if err != nil {
			t.Fatal(err)
		}
		if string(s.JSON) != want {
			t.Errorf("%v seals as %s, want %s", d, s.JSON, want)
		}
		if back, err := s.Open(); err != nil || back != r {
			t.Errorf("%s opens as %+v, %v", s.JSON, back, err)
		}
	}
	bad := features.Sealed{Kind: "fourier.gaussian", JSON: json.RawMessage(`{"in":4,"out":8,"width":1,"draw":"sorf"}`)}
	if _, err := bad.Open(); err == nil || !strings.Contains(err.Error(),
		`unknown draw "sorf"; have iid, orthogonal, structured`) {
		t.Error(err)
	}
}

func TestDrawErrorsNameTheField(t *testing.T) {
	for _, c := range []struct {
		r    Gaussian
		want string
	}{
		{Gaussian{In: 4, Out: 8, Width: 1, Draw: 3},
			"fourier: Gaussian: draw must be iid, orthogonal or structured (have Draw(3))"},
		{Gaussian{In: 4097, Out: 8, Width: 1, Draw: Orthogonal},
			"in must be at most 4096 for an orthogonal draw (have 4097); use a structured draw"},
		{Gaussian{In: 4, Out: 8, Width: 1e-300, Draw: Orthogonal}, "width 1e-300 makes frequency 0 too large for float32"},
		{Gaussian{In: 4, Out: 8, Width: 1e-300, Draw: Structured}, "width 1e-300 makes frequency 0 too large for float32"},
	} {
		if _, err := c.r.New(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: have %v, want %q", c.r, err, c.want)
		}
	}
	// A structured map can be larger than any dense matrix; Turns cannot return it at once.
	r := Gaussian{In: 1 << 20, Out: 1 << 13, Width: 1, Draw: Structured}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	if _, _, err := Turns(r, 0, 1<<12); err == nil || !strings.Contains(err.Error(), "ask for at most 256") {
		t.Error(err)
	}
}

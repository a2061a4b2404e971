package maxout

import (
	"math/rand/v2"
	"testing"

	"github.com/bochner-ml/bochner/features"
)

// halve is a scaling for the test: x ↦ x/2.
type halve struct{ d int }

func (h halve) Dims() (in, out int)        { return h.d, h.d }
func (halve) Validate() error              { return nil }
func (h halve) New() (features.Map, error) { return h, nil }
func (h halve) Apply(dst, x []float32, n int) {
	for i := range n * h.d {
		dst[i] = x[i] / 2
	}
}

// Codes do not change when a row is scaled, so a chain has the codes of its last map.
func TestChainHashesLikeItsLastMap(t *testing.T) {
	const n, d = 7, 5
	rng := rand.New(rand.NewPCG(3, 4))
	x := make([]float32, n*d)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	r := Recipe{In: d, Out: 100, Q: 5, Bound: 1, Seed: 1}
	alone, err := r.New()
	if err != nil {
		t.Fatal(err)
	}
	chain, err := features.Chain{Steps: []features.Recipe{halve{d}, r}}.New()
	if err != nil {
		t.Fatal(err)
	}
	h := chain.(features.Hasher)
	words := alone.(*featureMap).HashLen()
	if words != h.HashLen() || words != 3*2 {
		t.Fatalf("%d and %d words, want 6", words, h.HashLen())
	}
	got, want := make([]uint64, n*words), make([]uint64, n*words)
	h.Hash(got, x, n)
	alone.(*featureMap).Hash(want, x, n)
	different := false
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("word %d: %x through the chain, %x alone", i, got[i], want[i])
		}
		different = different || got[i] != got[i%words]
	}
	if !different {
		t.Error("all rows have one code")
	}
}

package gram

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/transforms"
)

func TestPartsComeBackAsTheyWere(t *testing.T) {
	for _, c := range []struct {
		values []float64
		width  int
	}{
		{nil, 4},
		{[]float64{0, 1, -1, 1<<31 - 1, -1 << 31}, 4},
		{[]float64{0, 1 << 31}, 8},
		{[]float64{-1<<31 - 1}, 8},
		{[]float64{1 << 53, -1 << 53, 3}, 8},
		{[]float64{0.5}, 8},
	} {
		data := encodePart(Part{Values: c.values})
		if want := 1 + c.width*len(c.values); len(data) != want {
			t.Errorf("%v: %d bytes, want %d", c.values, len(data), want)
		}
		got, err := decodePart(data)
		if err != nil || !slices.Equal(got.Values, c.values) || got.shared {
			t.Errorf("%v came back as %v, %v", c.values, got, err)
		}
	}
}

func TestDamagedPartsAreErrors(t *testing.T) {
	for _, data := range [][]byte{nil, {0}, {3, 1, 2, 3}, {16}, {4, 1}, {4, 1, 2, 3, 4, 5}, {8, 1, 2, 3, 4}} {
		if p, err := decodePart(data); err == nil {
			t.Errorf("% x: %v", data, p)
		}
	}
}

// However parts are added, the sum is the same and no part that came in is
// written to: the runner may hold it.
func TestAddingPartsNeverWritesToThem(t *testing.T) {
	f := &addPartsFn{Fn: transforms.Fn{Scan: transforms.Scan{Pass: t.TempDir() + "/pass.json"}}}
	f.Setup()
	defer f.Teardown()
	ctx := t.Context()
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 3))
		in := make([]Part, 1+rng.IntN(6))
		want := make([]float64, 5)
		for i := range in {
			for j := range want {
				v := float64(rng.IntN(1 << 20))
				in[i].Values = append(in[i].Values, v)
				want[j] += v
			}
		}
		before := make([][]float64, len(in))
		for i := range in {
			before[i] = slices.Clone(in[i].Values)
		}
		// A few accumulators take the parts, and are merged in some order.
		accs := make([]Part, 1+rng.IntN(3))
		for i := range accs {
			accs[i] = f.CreateAccumulator()
		}
		var err error
		for _, p := range in {
			k := rng.IntN(len(accs))
			if accs[k], err = f.AddInput(ctx, accs[k], p); err != nil {
				t.Fatal(err)
			}
		}
		total := f.CreateAccumulator()
		for _, k := range rng.Perm(len(accs)) {
			if total, err = f.MergeAccumulators(ctx, total, accs[k]); err != nil {
				t.Fatal(err)
			}
		}
		if got := f.ExtractOutput(total); !slices.Equal(got.Values, want) {
			t.Fatalf("seed %d: %v, want %v", seed, got.Values, want)
		}
		for i := range in {
			if !slices.Equal(in[i].Values, before[i]) {
				t.Fatalf("seed %d: part %d was written to", seed, i)
			}
		}
	}
	if _, err := f.AddInput(ctx, Part{Values: []float64{1}}, Part{Values: []float64{1, 2}}); err == nil {
		t.Error("parts of other lengths are added")
	}
}

package skeleton

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/internal/testing/stattest"
)

// The statements of A. Daniely, R. Frostig, V. Gupta, Y. Singer, "Random
// Features for Compositional Kernels", 2017, in their order.

// estimate returns the mean of φ(x)·φ(z) over seeds.
func estimate(t *testing.T, r Compositional, seeds int, x, z []float32) stattest.Mean {
	t.Helper()
	dst := make([]float32, 2*r.Out)
	return stattest.Over(seeds, func(seed uint64) float64 {
		r.Seed = seed
		m := mustNew(t, r)
		m.Apply(dst, slices.Concat(x, z), 2)
		return dot(dst[:r.Out], dst[r.Out:])
	})
}

// Definition of an RFS: "k(x, x') = E[ψ(ω, x) ψ(ω, x')*]", for each base space of §4 (Examples 1 to 6), without
// and with each activation. Where the paper prints e^{iωx/2πn} for categories, the mean over ω is 1 or 0 only
// with e^{2πiωx/n}.
func TestMeanOfProductsIsTheKernelOfEachSpaceAndActivation(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	d, seeds := 4, campaign.Pick(200, 1200)
	for spaceName, space := range spaces {
		acts := activations
		if space.Sphere != "" || space.Gaussian != 0 {
			// Features of a sphere grow as powers of √d: high degrees take more seeds than a test has.
			acts = map[string]Activation{"exp 4": exp4, "poly": poly, "square": activations["square"]}
		}
		for actName, act := range acts {
			r := Compositional{Skeleton: connected(d, space, act), Out: 2}
			x, z := rowsFor(space, d, 1), rowsFor(space, d, 2)
			if space.Categorical != 0 || space.Binary {
				copy(z, x[:2]) // some columns are equal, some not
			}
			what := spaceName + ", " + actName
			estimate(t, r, seeds, x, z).Near(t, what, r.Kernel(x, z), 1e-6)
			estimate(t, r, seeds, x, x).Near(t, what+", equal rows", r.Kernel(x, x), 1e-6)
		}
	}
}

// "We will always assume that kernels are normalized": k(x, x) = 1.
func TestKernelsAreNormalised(t *testing.T) {
	for spaceName, space := range spaces {
		for actName, act := range activations {
			x := rowsFor(space, 6, 3)
			if k := connected(6, space, act, act).kernel(x, x); !(math.Abs(k-1) < 1e-6) {
				t.Errorf("%s, %s: k(x, x) = %v", spaceName, actName, k)
			}
		}
	}
}

// deep is a small image skeleton of the paper's deep kind: two convolutions and
// one full layer.
func deep(space Space) Skeleton {
	return Image{Height: 7, Width: 6, Channels: 2}.skeleton(space,
		conv(3, 1, exp1), conv(2, 2, relu), full(relu))
}

// "The correctness of the algorithm is a direct consequence of Lemmas 9 and 10":
// features of depth 1 to 3, of convolutions, and of nodes of different spaces and depths.
func TestMeanOfProductsIsTheKernelAtEachDepth(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	seeds := campaign.Pick(500, 1500)
	circle := Space{Circle: 2}
	for name, s := range map[string]Skeleton{
		"depth 1": connected(5, circle, relu),
		"depth 2": connected(5, circle, exp1, relu),
		"depth 3": connected(5, circle, exp1, relu, poly),
		"conv":    deep(circle),
		"planar, cropped, vectors of pixels": Image{Height: 5, Width: 5, Channels: 3, Planar: true, Crop: 4}.
			skeleton(Space{Gaussian: 1}, conv(2, 1, exp4), full(relu)),
		"mixed": mixed,
	} {
		g := mustCompile(t, s)
		x, z := numbers(g.columns, 4), numbers(g.columns, 5)
		if name == "mixed" {
			unit(x[4:7])
			unit(z[4:7])
			x[3], z[3] = 2, 2
		}
		estimate(t, Compositional{Skeleton: s, Out: 20}, seeds, x, z).Near(t, name, g.kernel(x, z), 1e-6)
	}
}

func unit(x []float32) {
	n := float32(math.Sqrt(dot(x, x)))
	for i := range x {
		x[i] /= n
	}
}

// mixed is a skeleton in which a node takes inputs of all spaces, and one that
// others take, too.
var mixed = Skeleton{Columns: 9, Nodes: []Node{
	{Name: "out", Activation: relu, Inputs: []string{"a", "b", "angle"}},
	{Name: "b", Activation: poly, Inputs: []string{"sphere", "wave", "a"}},
	{Name: "a", Activation: exp1, Inputs: []string{"angle", "sign", "kind", "sphere"}},
	{Name: "angle", Space: Space{Circle: 1.5}, Columns: []int{0}},
	{Name: "sign", Space: Space{Binary: true}, Columns: []int{1}},
	{Name: "kind", Space: Space{Categorical: 5}, Columns: []int{3}},
	{Name: "sphere", Space: Space{Sphere: Pairs}, Columns: []int{4, 5, 6}},
	{Name: "wave", Space: Space{Gaussian: 0.7}, Columns: []int{8, 7}},
}}

// Comment 1: the real features of a C-bounded scheme are √2·C-bounded. Example 5:
// √(d/2) for the sphere, and √d in Example 6: as many times as there are factors.
func TestFeaturesKeepTheirBounds(t *testing.T) {
	const d, out = 5, 300
	for name, c := range map[string]struct {
		space Space
		act   Activation
		bound float64 // of a product, before the weight
	}{
		"circle":      {Space{Circle: 2}, relu, math.Sqrt2},
		"categorical": {Space{Categorical: 7}, relu, math.Sqrt2},
		"gaussian":    {Space{Gaussian: 1}, relu, math.Sqrt2},
		"binary":      {Space{Binary: true}, exp1, 1},
		"pairs": {Space{Sphere: Pairs}, Activation{Polynomial: []float64{0, 0, 0, 1}},
			math.Sqrt2 * math.Pow(d/2.0, 1.5)},
		"coordinates": {Space{Sphere: Coordinates}, Activation{Polynomial: []float64{0, 0, 0, 1}}, math.Pow(d, 1.5)},
		"projection":  {Space{Sphere: Projection}, Activation{Polynomial: []float64{0, 0, 0, 1}}, math.Pow(d, 1.5)},
	} {
		r := Compositional{Skeleton: connected(d, c.space, c.act), Out: out}
		switch name { // of these there are few
		case "binary", "pairs":
			r.Out = 16
		case "coordinates":
			r.Out = 35 // all of them
		}
		m := mustNew(t, r)
		dst := make([]float32, r.Out)
		largest := 0.0
		for i := range 200 {
			x := rowsFor(c.space, d, uint64(10+i))
			if c.space.Sphere != "" && i < d {
				clear(x)
				x[i] = 1 // where coordinates are largest
			}
			m.Apply(dst, x, 1)
			for j, v := range dst {
				if w := math.Sqrt(float64(m.counts[j]) / float64(m.Draws())); !m.constant(j) {
					largest = max(largest, math.Abs(float64(v))/w)
				}
				if !m.constant(j) && math.Abs(float64(v)) > float64(m.bound)*(1+1e-6) {
					t.Fatalf("%s: feature %d is %v, beyond %v", name, j, v, float64(m.bound))
				}
			}
		}
		if !(largest <= c.bound*(1+1e-6)) || !(largest > c.bound*0.7) {
			t.Errorf("%s: the largest feature is %v, the bound %v", name, largest, c.bound)
		}
	}
}

// Theorem 3: with q ≥ 2C⁴ ln(2/δ)/ε² features, C = √2, the estimate for one pair is
// off by ε or more for a share δ of the seeds at most.
func TestPointwiseBoundHolds(t *testing.T) {
	const epsilon, delta, seeds = 0.25, 0.1, 400
	out, err := kernel.Features(kernel.Pairs{Pairs: 1}, epsilon, delta)
	if err != nil {
		t.Fatal(err)
	}
	s := deep(Space{Circle: 2})
	g := mustCompile(t, s)
	x, z := numbers(g.columns, 4), numbers(g.columns, 5)
	k, failures := g.kernel(x, z), 0
	dst := make([]float32, 2*out)
	for seed := range uint64(seeds) {
		m := mustNew(t, Compositional{Skeleton: s, Out: out, Seed: seed})
		m.Apply(dst, slices.Concat(x, z), 2)
		if math.Abs(dot(dst[:out], dst[out:])-k) >= epsilon {
			failures++
		}
	}
	if share := float64(failures) / seeds; share > delta {
		t.Errorf("%d features: %v of the seeds fail", out, share)
	}
}

// Corollary 4: "E|f(x) − f_ω(x)|² ≤ C²‖f‖²/q" with q draws, here of f = Σ β_i k(x_i, ·), for
// which f_ω(x) = φ(x)·Σ β_i φ(x_i) and ‖f‖² = Σ β_i β_j k(x_i, x_j).
func TestFunctionsOfTheKernelAreApproximated(t *testing.T) {
	const n, out, seeds, rows = 6, 50, 400, 4
	beta := []float64{1, -2, 0.5} // of all rows but the last, which is x
	for name, s := range map[string]Skeleton{
		"deep":  deep(Space{Circle: 2}),
		"waves": connected(n, Space{Gaussian: 1}, exp1, relu),
	} {
		g := mustCompile(t, s)
		d := g.columns
		x := numbers(rows*d, 8)
		row := func(i int) []float32 { return x[i*d : (i+1)*d] }
		var value, norm float64
		for i, a := range beta {
			value += a * g.kernel(row(i), row(rows-1))
			for j, b := range beta {
				norm += a * b * g.kernel(row(i), row(j))
			}
		}
		dst := make([]float32, rows*out)
		estimates := make([]float64, seeds)
		squares := make([]float64, seeds)
		for seed := range estimates {
			m := mustNew(t, Compositional{Skeleton: s, Out: out, Seed: uint64(seed)})
			m.Apply(dst, x, rows)
			for i, a := range beta {
				estimates[seed] += a * dot(dst[i*out:(i+1)*out], dst[(rows-1)*out:])
			}
			off := estimates[seed] - value
			squares[seed] = off * off * float64(m.Draws())
		}
		stattest.MeanOf(estimates).Near(t, name+": f_ω(x)", value, 1e-6)
		if have := stattest.MeanOf(squares).Value; !(have <= 2*norm) || !(have > norm/100) {
			t.Errorf("%s: q·E|f(x) − f_ω(x)|² = %v, the bound %v", name, have, 2*norm)
		}
	}
}

// Equation 11: 𝒞(S) is the mean number of factors, σ̂'(1) to the power of the
// depth in a layered skeleton; "for activations such as ReLU and exponential 𝒞(S) = 1".
func TestComplexityIsTheMeanNumberOfFactors(t *testing.T) {
	for name, c := range map[string]struct {
		s    Skeleton
		want float64
	}{
		"relu":              {connected(50, Space{Circle: 2}, relu, relu), 1},
		"exponential":       {connected(50, Space{Circle: 2}, exp1, exp1, exp1), 1},
		"scales":            {connected(50, Space{Circle: 2}, exp4, Activation{Exponential: 0.5}), 0.5},
		"polynomial":        {connected(50, Space{Circle: 2}, poly, poly), 2.1 * 2.1},
		"conv":              {deep(Space{Circle: 2}), 1},
		"paths of 2 depths": {mixed, (1 + 2.1*(1+1+1)/3 + 1) / 3},
		"input alone": {Skeleton{Columns: 1,
			Nodes: []Node{{Name: "x", Space: Space{Circle: 1}, Columns: []int{0}}}}, 1},
	} {
		have, err := c.s.complexity()
		if err != nil || math.Abs(have-c.want) > 1e-12 {
			t.Errorf("%s: complexity %v (%v), want %v", name, have, err, c.want)
		}
		g := mustCompile(t, c.s)
		book, err := newCodebook(g, RFS)
		if err != nil {
			t.Fatal(err)
		}
		var l list
		d := &drawer{g: g, book: book}
		var factors []float64 // of each draw, before they are cancelled
		for j := range uint64(60000) {
			if err := d.draw(&l, 1, j); err != nil {
				t.Fatal(err)
			}
			factors = append(factors, float64(len(d.codes)+len(d.factors)))
		}
		// The series of ReLU is cut at a degree beyond which 10⁻³ of its mean lies.
		stattest.MeanOf(factors).Near(t, name, c.want, 2e-3)
	}
}

// §5: "the basic spaces are S¹ … a single non-input node with the exponential dual
// activation: the resulting kernel is the Gaussian kernel", and §6: the shallow structure is
// "a Gaussian kernel with scale 0.5, equivalently exp((ρ−1)/4)": with z = (cos θ, sin θ)/√n.
func TestShallowSkeletonIsTheGaussianKernel(t *testing.T) {
	const n = 12
	s := connected(n, Space{Circle: 2}, exp4)
	for seed := range uint64(20) {
		x, z := numbers(n, 2*seed), numbers(n, 2*seed+1)
		var squares float64
		for i := range x {
			a, b := math.Pi*float64(x[i]), math.Pi*float64(z[i])
			squares += (math.Pow(math.Cos(a)-math.Cos(b), 2) + math.Pow(math.Sin(a)-math.Sin(b), 2)) / n
		}
		want := math.Exp(-0.5 * 0.5 * squares / 2) // e^{−a²‖Δ‖²/2}, a = 0.5
		if have := s.kernel(x, z); math.Abs(have-want) > 1e-12 {
			t.Errorf("kernel %v, want %v", have, want)
		}
	}
}

// §6, "a natural baseline … Each such node corresponds to a Gaussian kernel, and so
// we apply the scheme of Rahimi and Recht": the hybrid estimates the same kernel.
func TestHybridHasTheSameKernel(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	seeds := campaign.Pick(500, 1500)
	for name, s := range map[string]Skeleton{
		"shallow": connected(10, Space{Circle: 2}, exp4),
		"deep":    deep(Space{Circle: 2}),
		"binary":  connected(10, Space{Binary: true}, exp1, relu),
		"sphere":  connected(10, Space{Sphere: Coordinates}, exp1, relu),
	} {
		g := mustCompile(t, s)
		space := g.spaces[0]
		x, z := rowsFor(space, g.columns, 6), rowsFor(space, g.columns, 7)
		estimate(t, Compositional{Skeleton: s, Out: 20, Sampler: Hybrid}, seeds, x, z).Near(t, name, g.kernel(x, z), 1e-6)
	}
}

// Figure 3: "the RFS approximation is dominant in every comparison": at an equal budget of
// different features its error is below the baseline's.
func TestMergedFeaturesBeatTheHybrid(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	const out, n = 200, 12
	seeds := campaign.Pick(80, 250)
	for name, s := range map[string]Skeleton{
		"shallow": connected(20, Space{Circle: 2}, exp4),
		"deep":    deep(Space{Circle: 2}),
	} {
		g := mustCompile(t, s)
		d := g.columns
		x := numbers(n*d, 8)
		square := func(sampler Sampler) stattest.Mean {
			dst := make([]float32, n*out)
			return stattest.Over(seeds, func(seed uint64) (sum float64) {
				m := mustNew(t, Compositional{Skeleton: s, Out: out, Sampler: sampler, Seed: seed})
				m.Apply(dst, x, n)
				for i := range n {
					for j := range i {
						k := g.kernel(x[i*d:(i+1)*d], x[j*d:(j+1)*d])
						sum += math.Pow(dot(dst[i*out:(i+1)*out], dst[j*out:(j+1)*out])-k, 2) / (n * (n - 1) / 2)
					}
				}
				return sum
			})
		}
		rfs, base := square(RFS), square(Hybrid)
		t.Logf("%s: RMSE %.4f, baseline %.4f", name, math.Sqrt(rfs.Value), math.Sqrt(base.Value))
		if !(rfs.Value+3*rfs.SE < base.Value-3*base.SE) {
			t.Errorf("%s: mean squared error %v ± %v, of the baseline %v ± %v", name, rfs.Value, rfs.SE, base.Value, base.SE)
		}
	}
}

// Figure 4: "for the flat kernel the correlation between any pair of pixels was the
// same. However for deeper kernels nearby pixels co-occur more often": those that share
// a window of the first layer most, then those that share one of the second.
func TestDeepFeaturesAreLocal(t *testing.T) {
	const side, out = 8, 20000
	image := Image{Height: side, Width: side, Channels: 1}
	probability := func(s Skeleton) (near, far stattest.Mean) {
		m := mustNew(t, Compositional{Skeleton: s, Out: out, Seed: 1})
		counts := m.Cooccurrences([]int{0, 9})
		for i, c := range []int{0, 9} {
			if occur := m.Occurrences()[c]; counts[i*side*side+c] != occur {
				t.Errorf("column %d occurs %d times, with itself %d", c, occur, counts[i*side*side+c])
			}
		}
		var a, b []float64
		for c := range side * side {
			p := float64(counts[side*side+c]) / float64(m.Draws()) // next to pixel (1, 1)
			switch y, x := c/side, c%side; {
			case c == 9:
			case y < 2 && x < 2:
				a = append(a, p)
			case y >= 4 && x >= 4:
				b = append(b, p)
			}
		}
		return stattest.MeanOf(a), stattest.MeanOf(b)
	}
	near, far := probability(image.skeleton(Space{Circle: 2}, full(relu)))
	if math.Abs(near.Value-far.Value) > 5*(near.SE+far.SE) {
		t.Errorf("flat: %v near, %v far", near, far)
	}
	near, far = probability(image.skeleton(Space{Circle: 2}, conv(2, 2, relu), conv(2, 2, relu), full(relu)))
	if !(near.Value > 5*far.Value) {
		t.Errorf("deep: %v near, %v far", near, far)
	}
}

// §6: "It is straightforward to merge duplicates and hence afford to generate more
// under the target feature budget": the estimate stays unbiased, though the number of draws is
// random, and its spread falls with the draws, not the features.
func TestMergingIsUnbiasedAndPays(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	const n = 3
	seeds := campaign.Pick(1000, 3000)
	s := connected(n, Space{Circle: 2}, exp1)
	x, z := []float32{0.1, 0.3, 0.9}, []float32{0.3, 0.35, 0.5}
	k := s.kernel(x, z)
	for _, out := range []int{1, 2, 5, 20} {
		dst := make([]float32, 2*out)
		var draws float64
		values := stattest.Over(seeds, func(seed uint64) float64 {
			m := mustNew(t, Compositional{Skeleton: s, Out: out, Seed: seed})
			draws += float64(m.Draws()) / float64(seeds)
			m.Apply(dst, slices.Concat(x, z), 2)
			return dot(dst[:out], dst[out:])
		})
		values.Near(t, fmt.Sprintf("out %d", out), k, 1e-6)
		// A draw has |φ(x)φ(z)| ≤ 2, and E[φ²φ'²] = E[1 + ½cos…] ≤ 3/2 for complex features.
		if limit := (1.5 - k*k) / float64(out); !(values.Variance() < limit) {
			t.Errorf("out %d: variance %v, beyond %v", out, values.Variance(), limit)
		}
		if out == 20 && !(draws > 3*float64(out) && values.Variance() < 3/draws) {
			t.Errorf("out %d: %v draws, variance %v", out, draws, values.Variance())
		}
	}
}

package onnx

import (
	"encoding/binary"
	"io"
	"math"
	"math/bits"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/landmarks"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/maxout"
	"github.com/bochner-ml/bochner/features/patches"
	"github.com/bochner-ml/bochner/features/preprocess"
)

// drawn is a recipe of package fourier.
type drawn interface {
	features.Recipe
	Drawn() (fourier.Form, fourier.Draw)
}

// features adds the features of a kernel, or the concatenated features of several recipes.
func (g *Graph) features(r features.Recipe, x string) (string, error) {
	switch r := r.(type) {
	case preprocess.Join:
		var parts []string
		for _, p := range r.Parts {
			part, err := g.apply(p, x)
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		return g.concat(parts...), nil
	case identity.Identity:
		return x, nil
	case patches.Recipe:
		return g.patches(r, x), nil
	case landmarks.Recipe:
		return g.landmarks(r, x)
	case maxout.Maxout:
		return g.maxout(r, x), nil
	case learned.Recipe:
		w, err := r.Turns()
		if err != nil {
			return "", err
		}
		amplitude, b, err := r.Waves()
		if err != nil {
			return "", err
		}
		if r.Form == fourier.Paired {
			amplitude = append(amplitude, amplitude...)
		}
		waves := g.waves(x, constant(g, w, r.Count, r.In), b, r.Form)
		return g.op("Mul", waves, row(g, amplitude)), nil
	case drawn:
		return g.fourier(r, x)
	case preprocess.FullMetric:
		m, err := r.Matrix()
		if err != nil {
			return "", err
		}
		return g.product(x, constant(g, m.A, m.Dim, m.Dim), nil), nil
	}
	sealed, err := features.Seal(r)
	if err != nil {
		return "", err
	}
	return "", unsupportedf("features of the kind %s", sealed.Kind)
}

// product adds x·wᵀ + b, with w row by row; b may be nil.
func (g *Graph) product(x, w string, b []float32) string {
	in := []string{x, w}
	if b != nil {
		in = append(in, constant(g, b, len(b)))
	}
	return g.add("Gemm", attrs{"transB": int64(1)}, in...)
}

// waves adds the cosines, and in the paired form sines, of frequencies w and offsets b in units of 2π.
func (g *Graph) waves(x, w string, b []float32, form fourier.Form) string {
	turns := g.product(x, w, b)
	angle := g.op("Mul", g.op("Sub", turns, g.op("Round", turns)), g.float(2*math.Pi))
	if form == fourier.Offset {
		return g.op("Cos", angle)
	}
	return g.concat(g.op("Cos", angle), g.op("Sin", angle))
}

// numbersAtOnce is how many numbers are drawn at a time while the file is written.
const numbersAtOnce = 1 << 22

// drawnRows adds n rows of d numbers that are drawn, some rows at a time, when the graph is written.
func (g *Graph) drawnRows(n, d, atOnce int, draw func(from, count int) ([]float32, error)) string {
	return g.stored(Float, []int{n, d}, func(to io.Writer) error {
		for from := 0; from < n; from += atOnce {
			w, err := draw(from, min(atOnce, n-from))
			if err == nil {
				err = binary.Write(to, binary.LittleEndian, w)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// fourier adds the nodes for Fourier features of x, and returns the name of the result.
func (g *Graph) fourier(r drawn, x string) (string, error) {
	in, out, err := features.Dims(r)
	if err != nil {
		return "", err
	}
	form, draw := r.Drawn()
	count := out
	if form == fourier.Paired {
		count /= 2
	}
	step := 1 << bits.Len(uint(max(numbersAtOnce/in, 63))) // whole blocks of structured frequencies
	if draw == fourier.Orthogonal {
		step = (step + in - 1) / in * in // and of orthogonal frequencies
	}
	var b []float32
	if form == fourier.Offset {
		if b, err = fourier.Offsets(r); err != nil {
			return "", err
		}
	}
	w := g.drawnRows(count, in, step, func(from, count int) ([]float32, error) {
		w, _, err := fourier.Turns(r, from, count)
		return w, err
	})
	scale := float32(math.Sqrt(2 / float64(out)))
	return g.op("Mul", g.waves(x, w, b, form), g.float(scale)), nil
}

// maxout adds the nodes for maxout features of x, and returns the name of the result.
func (g *Graph) maxout(r maxout.Maxout, x string) string {
	n := r.Out * r.Q
	if r.Pool != 0 {
		n = r.Pool
	}
	p := g.product(x, g.drawnRows(n, r.In, max(1, numbersAtOnce/r.In), r.Projections), nil)
	if r.Pool != 0 {
		p = g.add("Gather", attrs{"axis": int64(1)}, p, g.stored(Int64, []int{r.Out * r.Q}, func(to io.Writer) error {
			index := make([]int64, r.Q)
			for l := range r.Out {
				for j, p := range r.Indices(l) {
					index[j] = int64(p)
				}
				if err := binary.Write(to, binary.LittleEndian, index); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	units := g.reshape(p, -1, r.Out, r.Q)
	most := g.add("ReduceMax", attrs{"axes": []int64{2}, "keepdims": int64(0)}, units)
	return g.op("Mul", most, g.float(float32(1/math.Sqrt(float64(r.Out)))))
}

// farthest replaces infinite numbers in squared distances, where ∞ − ∞ would be NaN. Scaling may make a large number
// infinite. A row that far from all landmarks has the features 0.
const farthest = 1e100

// landmarks adds the values of a kernel at landmarks z. Squared distances are ‖x‖² − 2⟨x, z⟩ + ‖z‖², in
// float64 because the terms cancel.
func (g *Graph) landmarks(r landmarks.Recipe, x string) (string, error) {
	z, err := r.Landmarks()
	if err != nil {
		return "", err
	}
	in, out := r.Dims()
	radial := fourier.RadialOf(r.Of)
	var t string
	if radial.Distance == kernel.L1 {
		apart := g.op("Sub", g.reshape(x, -1, 1, in), constant(g, z, 1, out, in))
		t = g.add("ReduceSum", attrs{"keepdims": int64(0)}, g.op("Abs", apart), constant(g, []int64{2}, 1))
		t = g.cast(t, Double)
	} else {
		doubled, squares := make([]float64, len(z)), make([]float64, out)
		wide := g.op("Max", g.op("Min", g.cast(x, Double), g.double(farthest)), g.double(-farthest))
		for i, v := range z {
			doubled[i] = -2 * float64(v)
			squares[i/in] += float64(v) * float64(v)
		}
		products := g.add("Gemm", attrs{"transB": int64(1)}, wide, constant(g, doubled, out, in), constant(g, squares, out))
		t = g.op("Add", products, g.sum(g.op("Mul", wide, wide)))
		t = g.op("Sqrt", g.op("Max", t, g.double(0)))
	}
	t = g.op("Div", t, g.double(radial.Width))
	decay := func(t string) string { return g.op("Exp", g.op("Neg", t)) }
	switch k := r.Of.(type) {
	case fourier.Gaussian:
		t = decay(g.op("Div", g.op("Mul", t, t), g.double(2)))
	case fourier.Exponential:
		t = decay(g.op("Pow", t, g.double(k.Exponent)))
	case fourier.Matern:
		s := g.op("Mul", t, g.double(math.Sqrt(2*k.Nu)))
		factor := g.double(1)
		if k.Nu > 1 {
			factor = g.op("Add", factor, s)
		}
		if k.Nu > 2 {
			factor = g.op("Add", factor, g.op("Div", g.op("Mul", s, s), g.double(3)))
		}
		t = decay(s)
		if k.Nu > 1 {
			t = g.op("Mul", factor, t)
		}
	default: // Laplace
		t = decay(t)
	}
	return g.cast(t, Float), nil
}

// patches adds a layer of patches. Contrast is normalised after the convolution: the response of a patch p
// to a filter f is (⟨f, p⟩ − mean p·Σf)/√(var p + floor) + b.
func (g *Graph) patches(r patches.Recipe, x string) string {
	s, size, count := r.Shape, r.Patch, len(r.Bias)
	length := size * size * s.Channels
	// Convolutions take a plane per channel; patches store the channels of a pixel next to each other.
	planes := func(f []float32) []float32 {
		out := make([]float32, 0, len(f))
		for at := 0; at < len(f); at += length {
			for c := range s.Channels {
				for i := c; i < length; i += s.Channels {
					out = append(out, f[at+i])
				}
			}
		}
		return out
	}
	if !s.Planar && s.Channels > 1 {
		var order []int64
		for c := range s.Channels {
			for i := c; i < s.Len(); i += s.Channels {
				order = append(order, int64(i))
			}
		}
		x = g.columns(x, order)
	}
	image := g.reshape(x, -1, s.Channels, s.Height, s.Width)
	convolve := func(x string, filters []float32) string {
		return g.op("Conv", x, constant(g, planes(filters), len(filters)/length, s.Channels, size, size))
	}
	averages, sums := make([]float32, length), make([]float32, count)
	for i := range averages {
		averages[i] = 1 / float32(length)
	}
	for i, f := range r.Filters {
		sums[i/length] += f
	}
	mean := convolve(image, averages)
	variance := g.op("Sub", convolve(g.op("Mul", image, image), averages), g.op("Mul", mean, mean))
	variance = g.op("Max", variance, g.float(0))
	contrast := g.op("Sqrt", g.op("Add", variance, g.float(float32(r.Floor))))
	each := func(v []float32) string { return constant(g, v, 1, count, 1, 1) }
	response := g.op("Sub", convolve(image, r.Filters), g.op("Mul", mean, each(sums)))
	response = g.op("Add", g.op("Div", response, contrast), each(r.Bias))
	threshold := g.float(float32(r.Threshold))
	beyond := g.concat(g.op("Relu", g.op("Sub", response, threshold)),
		g.op("Relu", g.op("Sub", g.op("Neg", response), threshold)))
	means, places, cells := r.Means()
	pooled := g.op("MatMul", g.reshape(beyond, -1, 2*count, places), constant(g, means, places, cells))
	pooled = g.add("Transpose", attrs{"perm": []int64{0, 2, 1}}, pooled)
	return g.reshape(pooled, -1, cells*2*count)
}

// reshape adds x with other dimensions; −1 stands for the number of rows.
func (g *Graph) reshape(x string, dims ...int) string {
	to := make([]int64, len(dims))
	for i, d := range dims {
		to[i] = int64(d)
	}
	return g.op("Reshape", x, constant(g, to, len(to)))
}

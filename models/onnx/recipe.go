package onnx

import (
	"encoding/binary"
	"io"
	"math"
	"math/bits"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/landmarks"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/features/linear"
	"github.com/bochner-ml/bochner/features/maxout"
	"github.com/bochner-ml/bochner/features/patches"
	"github.com/bochner-ml/bochner/features/preprocess"
)

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
	case linear.Identity:
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
		return g.add("Mul", nil, waves, row(g, amplitude)), nil
	case interface {
		Drawn() (fourier.Form, fourier.Draw)
	}:
		return g.fourier(r.(features.Recipe), x)
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
	return "", unsupported("features of the kind %s", sealed.Kind)
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
	angle := g.add("Mul", nil, g.add("Sub", nil, turns, g.add("Round", nil, turns)),
		constant(g, []float32{2 * math.Pi}))
	if form == fourier.Offset {
		return g.add("Cos", nil, angle)
	}
	return g.concat(g.add("Cos", nil, angle), g.add("Sin", nil, angle))
}

// numbersAtOnce is how many numbers are drawn at a time while the file is written.
const numbersAtOnce = 1 << 22

func (g *Graph) fourier(r features.Recipe, x string) (string, error) {
	in, out, err := features.Dims(r)
	if err != nil {
		return "", err
	}
	form, draw := r.(interface {
		Drawn() (fourier.Form, fourier.Draw)
	}).Drawn()
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
	w := g.stored(Float, []int{count, in}, func(to io.Writer) error {
		for at := 0; at < count; at += step {
			w, _, err := fourier.Turns(r, at, min(step, count-at))
			if err == nil {
				err = binary.Write(to, binary.LittleEndian, w)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	scale := float32(math.Sqrt(2 / float64(out)))
	return g.add("Mul", nil, g.waves(x, w, b, form), constant(g, []float32{scale})), nil
}

func (g *Graph) maxout(r maxout.Maxout, x string) string {
	n := r.Out * r.Q
	if r.Pool != 0 {
		n = r.Pool
	}
	step := max(1, numbersAtOnce/r.In)
	p := g.product(x, g.stored(Float, []int{n, r.In}, func(to io.Writer) error {
		for at := 0; at < n; at += step {
			w, err := r.Projections(at, min(step, n-at))
			if err == nil {
				err = binary.Write(to, binary.LittleEndian, w)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}), nil)
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
	units := g.add("Reshape", nil, p, constant(g, []int64{-1, int64(r.Out), int64(r.Q)}, 3))
	most := g.add("ReduceMax", attrs{"axes": []int64{2}, "keepdims": int64(0)}, units)
	return g.add("Mul", nil, most, constant(g, []float32{float32(1 / math.Sqrt(float64(r.Out)))}))
}

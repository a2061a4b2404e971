package onnx

import (
	"math"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/landmarks"
)

// landmarks adds the values of a kernel at landmarks z. Squared distances are ‖x‖² − 2⟨x, z⟩ + ‖z‖², in
// float64 because the terms cancel.
func (g *Graph) landmarks(r landmarks.Recipe, x string) (string, error) {
	z, err := r.Landmarks()
	if err != nil {
		return "", err
	}
	in, out := r.Dims()
	of := fourier.RadialOf(r.Of)
	number := func(v float64) string { return constant(g, []float64{v}) }
	var t string
	if of.Distance == kernel.L1 {
		apart := g.add("Sub", nil, g.reshape(x, -1, 1, in), constant(g, z, 1, out, in))
		t = g.add("ReduceSum", attrs{"keepdims": int64(0)}, g.add("Abs", nil, apart), constant(g, []int64{2}, 1))
		t = g.cast(t, Double)
	} else {
		wide, doubled, squares := g.cast(x, Double), make([]float64, len(z)), make([]float64, out)
		for i, v := range z {
			doubled[i] = -2 * float64(v)
			squares[i/in] += float64(v) * float64(v)
		}
		products := g.add("Gemm", attrs{"transB": int64(1)}, wide, constant(g, doubled, out, in), constant(g, squares, out))
		t = g.add("Add", nil, products, g.sum(g.add("Mul", nil, wide, wide)))
		t = g.add("Sqrt", nil, g.add("Max", nil, t, number(0)))
	}
	t = g.add("Div", nil, t, number(of.Width))
	decay := func(t string) string { return g.add("Exp", nil, g.add("Neg", nil, t)) }
	switch k := r.Of.(type) {
	case fourier.Gaussian:
		t = decay(g.add("Div", nil, g.add("Mul", nil, t, t), number(2)))
	case fourier.Exponential:
		t = decay(g.add("Pow", nil, t, number(k.Exponent)))
	case fourier.Matern:
		s := g.add("Mul", nil, t, number(math.Sqrt(2*k.Nu)))
		factor := number(1)
		if k.Nu > 1 {
			factor = g.add("Add", nil, factor, s)
		}
		if k.Nu > 2 {
			factor = g.add("Add", nil, factor, g.add("Div", nil, g.add("Mul", nil, s, s), number(3)))
		}
		t = decay(s)
		if k.Nu > 1 {
			t = g.add("Mul", nil, factor, t)
		}
	default: // Laplace
		t = decay(t)
	}
	return g.cast(t, Float), nil
}

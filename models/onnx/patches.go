package onnx

import "github.com/bochner-ml/bochner/features/patches"

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
		return g.add("Conv", nil, x, constant(g, planes(filters), len(filters)/length, s.Channels, size, size))
	}
	averages, sums := make([]float32, length), make([]float32, count)
	for i := range averages {
		averages[i] = 1 / float32(length)
	}
	for i, f := range r.Filters {
		sums[i/length] += f
	}
	mean := convolve(image, averages)
	variance := g.add("Sub", nil, convolve(g.add("Mul", nil, image, image), averages), g.add("Mul", nil, mean, mean))
	variance = g.add("Max", nil, variance, constant(g, []float32{0}))
	contrast := g.add("Sqrt", nil, g.add("Add", nil, variance, constant(g, []float32{float32(r.Floor)})))
	each := func(v []float32) string { return constant(g, v, 1, count, 1, 1) }
	response := g.add("Sub", nil, convolve(image, r.Filters), g.add("Mul", nil, mean, each(sums)))
	response = g.add("Add", nil, g.add("Div", nil, response, contrast), each(r.Bias))
	threshold := constant(g, []float32{float32(r.Threshold)})
	beyond := g.concat(g.add("Relu", nil, g.add("Sub", nil, response, threshold)),
		g.add("Relu", nil, g.add("Sub", nil, g.add("Neg", nil, response), threshold)))
	means, places, cells := r.Means()
	pooled := g.add("MatMul", nil, g.reshape(beyond, -1, 2*count, places), constant(g, means, places, cells))
	pooled = g.add("Transpose", attrs{"perm": []int64{0, 2, 1}}, pooled)
	return g.reshape(pooled, -1, cells*2*count)
}

// reshape adds x with other dimensions; −1 stands for the number of rows.
func (g *Graph) reshape(x string, dims ...int) string {
	to := make([]int64, len(dims))
	for i, d := range dims {
		to[i] = int64(d)
	}
	return g.add("Reshape", nil, x, constant(g, to, len(to)))
}

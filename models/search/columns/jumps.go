package columns

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// linearSteps and linearRidge are the steps and the ridge of the linear fit whose residuals may jump.
const (
	linearSteps = 20
	linearRidge = 1e-3
)

// residuals returns, for each output, the residuals of a linear fit of codes to the first rows of x (d
// numbers each), and their share of the variance of the codes.
func residuals(codes [][]float64, x []float32, d, threads int) (out [][]float64, share float64) {
	out = make([][]float64, len(codes))
	parallel.Ranges(len(out), 1, threads, func(lo, hi int) {
		for c := lo; c < hi; c++ {
			out[c] = linearResiduals(codes[c], x, d)
		}
	})
	var all, rest float64
	for c, left := range out {
		all += squares(codes[c])
		rest += squares(left)
	}
	if !(all > 0) {
		return out, 0
	}
	return out, rest / all
}

// linearResiduals returns the residuals of a linear fit of numbers y to rows of x, with a constant. It takes some
// steps of conjugate gradients to the least squares with a small ridge.
func linearResiduals(y []float64, x []float32, width int) []float64 {
	n, d := len(y), width+1
	row := func(i int) []float32 { return x[i*width:][:width] }
	left := slices.Clone(y)
	w, p, q, g := make([]float64, d), make([]float64, d), make([]float64, n), make([]float64, d)
	var size float64
	for step := range linearSteps {
		for j := range g {
			g[j] = -float64(linearRidge * float64(n) * w[j])
		}
		for i, e := range left {
			for j, v := range row(i) {
				g[j] += float64(e * float64(v))
			}
			g[d-1] += e
		}
		before := size
		size = 0
		for _, v := range g {
			size += float64(v * v)
		}
		if !(size > 0) {
			break
		}
		for j, v := range g {
			if step > 0 {
				v += float64(size / before * p[j])
			}
			p[j] = v
		}
		var curve float64
		for _, v := range p {
			curve += float64(linearRidge * float64(n) * float64(v*v))
		}
		for i := range q {
			sum := p[d-1]
			for j, v := range row(i) {
				sum += float64(p[j] * float64(v))
			}
			q[i] = sum
			curve += float64(sum * sum)
		}
		by := size / curve
		for j, v := range p {
			w[j] += float64(by * v)
		}
		for i, v := range q {
			left[i] -= float64(by * v)
		}
	}
	return left
}

// squares returns the sum of the squared differences from the mean.
func squares(values []float64) (sum float64) {
	var mean float64
	for _, v := range values {
		mean += v
	}
	mean /= float64(len(values))
	for _, v := range values {
		e := v - mean
		sum += float64(e * e)
	}
	return sum
}

// jumpShare measures jumps between the levels of a column: by how much the mean residual of a level differs from
// a line between the means of the two neighbouring levels. It returns their share of the variance of the
// residuals, and by how many standard errors they exceed chance. Numbers that measure something have similar
// means at neighbouring values; numbers that name things do not.
func jumpShare(left [][]float64, x []float32, d int, column preprocess.BinColumn) (share, sure float64) {
	n, most := len(left[0]), len(column.Cuts)+1
	level, rows, at := make([]int, n), make([]float64, most), make([]float64, most)
	for i := range level {
		v := x[i*d+column.Index]
		l, exact := slices.BinarySearch(column.Cuts, v)
		if exact {
			l++
		}
		level[i], at[l] = l, float64(v)
		rows[l]++
	}
	var has []int // levels that some of the rows have
	for l, n := range rows {
		if n > 0 {
			has = append(has, l)
		}
	}
	if len(has) < minLevels || n <= len(has)+1 {
		return 0, 0
	}
	means, within, total := levelMeans(left, level, rows)
	if !(total > 0) {
		return 0, 0
	}
	within = max(within/float64(n-len(has)), 1e-9*total) // also if levels tell all
	var excess, weight, chi float64
	for k := 1; k < len(has)-1; k++ {
		before, l, after := has[k-1], has[k], has[k+1]
		b := (at[l] - at[before]) / (at[after] - at[before])
		a := 1 - b
		var squares float64
		for _, m := range means {
			e := m[l] - float64(a*m[before]) - float64(b*m[after])
			squares += float64(e * e)
		}
		a, b = float64(a*a), float64(b*b)
		chance := float64(within * (1/rows[l] + a/rows[before] + b/rows[after]))
		excess += float64(rows[l] * (squares - chance))
		weight += float64(rows[l] * (1 + a + b))
		chi += squares / chance
	}
	inner := float64(len(has) - 2)
	return excess / weight / total, (chi - inner) / math.Sqrt(3*inner) // neighbours share means, so not 2
}

// levelMeans returns the mean residuals of each level, given the level of each row and the rows of each level; the sum
// of their squared differences from the means of their levels; and their variance.
func levelMeans(left [][]float64, level []int, rows []float64) (means [][]float64, within, total float64) {
	for _, left := range left {
		mean, all := make([]float64, len(rows)), 0.0
		for i, v := range left {
			mean[level[i]] += v
			all += v
		}
		for l := range mean {
			mean[l] /= max(rows[l], 1)
		}
		means = append(means, mean)
		all /= float64(len(left))
		for i, v := range left {
			e, deviation := v-mean[level[i]], v-all
			within += float64(e * e)
			total += float64(deviation * deviation)
		}
	}
	return means, within, total / float64(len(level))
}

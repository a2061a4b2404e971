package onnx

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
)

// scale adds a preprocessing step, if r is one that it knows.
func (g *Graph) scale(r features.Recipe, x string) (out string, known bool) {
	switch r := r.(type) {
	case preprocess.Columns:
		return g.slots(r, x), true
	case preprocess.Divide:
		return g.op("Div", x, g.float(float32(r.By))), true
	case preprocess.Standard:
		return g.shiftDivide(x, r.Mean, slices.Clone(r.Dev)), true
	case preprocess.MinMax:
		span := make([]float32, len(r.Low))
		for j, h := range r.High {
			span[j] = h - r.Low[j]
		}
		return g.shiftDivide(x, r.Low, span), true
	case preprocess.Unit:
		wide := g.cast(x, Double)
		norm := g.op("Sqrt", g.sum(g.op("Mul", wide, wide)))
		zero := g.op("Equal", norm, g.double(0))
		norm = g.op("Where", zero, g.double(1), norm)
		return g.cast(g.op("Div", wide, norm), Float), true
	case preprocess.Clip:
		low, high := make([]float32, len(r.At)), make([]float32, len(r.At))
		for j, at := range r.At {
			if at == 0 {
				at = math.MaxFloat32
			}
			low[j], high[j] = -at, at
		}
		return g.op("Min", g.op("Max", x, row(g, low)), row(g, high)), true
	case preprocess.NormalScores:
		return g.normalScores(r, x), true
	case preprocess.DiagonalMetric:
		return g.op("Mul", x, row(g, r.A)), true
	case preprocess.Bins:
		return g.bins(r, x), true
	case preprocess.BinLevels:
		keep := make([]float32, r.In)
		for j := range keep {
			if !r.Replaces(j) {
				keep[j] = 1
			}
		}
		others := g.op("Mul", x, row(g, keep))
		return g.concat(others, g.bins(preprocess.Bins{In: r.In, Columns: r.Columns, Weight: r.Weight}, x)), true
	case preprocess.Differences:
		return g.concat(x, g.differences(r, x)), true
	case preprocess.Crop:
		return g.columns(x, chosen(r)), true
	}
	return "", false
}

func (g *Graph) differences(r preprocess.Differences, x string) string {
	var first, second []int64
	var a, b, c []float32
	for _, p := range r.Pairs {
		first, second = append(first, int64(p.First)), append(second, int64(p.Second))
		a, b, c = append(a, p.A), append(b, p.B), append(c, p.C)
	}
	from := g.op("Mul", g.columns(x, first), row(g, a))
	by := g.op("Sub", from, g.op("Mul", g.columns(x, second), row(g, b)))
	return g.op("Abs", g.op("Add", by, row(g, c)))
}

// chosen returns the indices of the columns that a map keeps.
func chosen(r preprocess.Crop) []int64 {
	in, out := r.Dims()
	x, y := make([]float32, in), make([]float32, out)
	for j := range x {
		x[j] = float32(j)
	}
	if m, err := r.New(); err == nil { // always nil: a manifest has only valid recipes
		m.Apply(y, x, 1)
	}
	index := make([]int64, out)
	for i, v := range y {
		index[i] = int64(v)
	}
	return index
}

// shiftDivide adds (x − shift)/by; a divisor of 0 counts as 1.
func (g *Graph) shiftDivide(x string, shift, by []float32) string {
	for j, v := range by {
		if v == 0 {
			by[j] = 1
		}
	}
	return g.op("Div", g.op("Sub", x, row(g, shift)), row(g, by))
}

// lines adds a piecewise-linear function of column v in float64, through the points (at, y) and constant
// beyond the ends. It rounds exactly like features does.
func (g *Graph) lines(v string, at, y []float64) string {
	n := len(at)
	rise, start, length := make([]float64, n+1), make([]float64, n+1), slices.Repeat([]float64{1}, n+1)
	from := append([]float64{y[0]}, y...)
	for i := 1; i < n; i++ {
		rise[i], start[i], length[i] = y[i]-y[i-1], at[i-1], at[i]-at[i-1]
	}
	below := g.cast(g.op("Greater", v, row(g, at)), Int64)
	piece := g.sum(below) // the number of points below v
	gather := func(numbers []float64) string { return g.op("Gather", constant(g, numbers, n+1), piece) }
	way := g.op("Div", g.op("Sub", v, gather(start)), gather(length))
	way = g.op("Clip", way, g.double(0), g.double(1))
	return g.op("Add", gather(from), g.op("Mul", way, gather(rise)))
}

func (g *Graph) normalScores(r preprocess.NormalScores, x string) string {
	columns := make([]string, len(r.Columns))
	for j, k := range r.Columns {
		columns[j] = g.columns(x, []int64{int64(j)})
		if len(k.At) > 0 {
			columns[j] = g.cast(g.lines(g.cast(columns[j], Double), wide(k.At), wide(k.Scores)), Float)
		}
	}
	return g.concat(columns...)
}

func wide(v []float32) []float64 {
	w := make([]float64, len(v))
	for i, x := range v {
		w[i] = float64(x)
	}
	return w
}

// bins adds the features of bins: intervals, or piecewise-linear columns.
func (g *Graph) bins(r preprocess.Bins, x string) string {
	var columns []int64 // column of each feature
	var low, high []float32
	infinite := float32(math.Inf(1))
	for _, c := range r.Columns {
		if r.PiecewiseLinear {
			columns = append(columns, slices.Repeat([]int64{int64(c.Index)}, len(c.Cuts))...)
			continue
		}
		cuts := append(append([]float32{-infinite}, c.Cuts...), infinite)
		if len(c.Cuts) == 1 {
			cuts = cuts[1:]
		}
		for i := range cuts[1:] {
			columns, low, high = append(columns, int64(c.Index)), append(low, cuts[i]), append(high, cuts[i+1])
		}
	}
	v := g.columns(x, columns)
	if r.PiecewiseLinear {
		return g.hats(r, g.cast(v, Double))
	}
	weight := g.float(r.Weight)
	inside := g.op("And", g.op("GreaterOrEqual", v, row(g, low)), g.op("Less", v, row(g, high)))
	return g.op("Where", inside, weight, g.float(0))
}

// hats adds piecewise-linear columns: for each knot, how far the value is on the way from the knot before,
// minus how far it is on the way to the next.
func (g *Graph) hats(r preprocess.Bins, v string) string {
	var at, before, after, least, most []float64 // knots, lengths of the intervals on both sides, and their ends
	for _, c := range r.Columns {
		last := len(c.Cuts) - 1
		for i, cut := range c.Cuts {
			at = append(at, float64(cut))
			left, right, floor, ceiling := 1.0, 1.0, 1.0, 0.0
			if i > 0 {
				left, floor = float64(cut)-float64(c.Cuts[i-1]), 0
			}
			if i < last {
				right, ceiling = float64(c.Cuts[i+1])-float64(cut), 1
			}
			before, after = append(before, left), append(after, right)
			least, most = append(least, floor), append(most, ceiling)
		}
	}
	previous := make([]float64, len(at))
	for i := range at {
		previous[i] = at[i] - before[i]
	}
	zero, one := g.double(0), g.double(1)
	come := g.op("Div", g.op("Sub", v, row(g, previous)), row(g, before))
	come = g.op("Min", g.op("Max", come, row(g, least)), one)
	left := g.op("Div", g.op("Sub", v, row(g, at)), row(g, after))
	left = g.op("Min", g.op("Max", left, zero), row(g, most))
	hat := g.op("Mul", g.op("Sub", come, left), g.double(float64(r.Weight)))
	return g.cast(hat, Float)
}

// slots adds the numbers that a table of typed columns becomes.
func (g *Graph) slots(r preprocess.Columns, x string) string {
	var numbers, levels []string
	for i := range r.Slots {
		s := &r.Slots[i]
		v := g.columns(x, []int64{int64(i)})
		missing := g.op("IsNaN", v)
		switch {
		case s.Number != nil:
			numbers = append(numbers, g.op("Where", missing, g.float(s.Number.Fill), v))
			if s.Number.Missing != 0 {
				numbers = append(numbers, g.op("Where", missing, g.float(s.Number.Missing), g.float(0)))
			}
		case s.OneHot != nil:
			values := make([]float32, s.OneHot.Values, s.OneHot.Values+1)
			for l := range values {
				values[l] = float32(l)
			}
			if s.OneHot.Missing {
				values, v = append(values, -1), g.op("Where", missing, g.float(-1), v)
			}
			levels = append(levels, g.op("Where", g.op("Equal", v, row(g, values)),
				g.float(s.OneHot.Weight), g.float(0)))
		default:
			numbers = append(numbers, g.table(s.Lookup, v))
		}
	}
	return g.concat(append(numbers, levels...)...)
}

// table adds row v of a table; its last row is for all other values.
func (g *Graph) table(t *preprocess.Lookup, v string) string {
	last := float32(t.Values)
	known := g.op("And", g.op("GreaterOrEqual", v, g.float(0)), g.op("Less", v, g.float(last)))
	index := g.cast(g.op("Where", known, v, g.float(last)), Int64)
	size := (t.Values + 1) * t.Out
	chosen := g.op("Gather", constant(g, []float32(t.Numbers[:size]), t.Values+1, t.Out), index)
	return g.reshape(chosen, -1, t.Out)
}

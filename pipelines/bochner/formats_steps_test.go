package main

import (
	bytesOf "encoding/binary"
	"math"
)

// give passes the arrays of the model's files on to a part of the recipe.
func (k *kindOf) give(to *kindOf) {
	to.Recipe.frequencies, to.Recipe.frequencyShare, to.Recipe.metric = k.Recipe.frequencies, k.Recipe.frequencyShare,
		k.Recipe.metric
}

// floats32 reads numbers from the bytes that base64 stands for.
func floats32(data []byte) (list []float64) {
	for ; len(data) >= 4; data = data[4:] {
		list = append(list, float64(math.Float32frombits(bytesOf.LittleEndian.Uint32(data))))
	}
	return list
}

// between returns the last place at or below v in the ascending list, −1 if there is none, and how far v is
// on the way to the next one.
func between(list []float64, v float64) (at int, way float64) {
	at = -1
	for at+1 < len(list) && list[at+1] <= v {
		at++
	}
	if at >= 0 && at+1 < len(list) {
		way = (v - list[at]) / (list[at+1] - list[at])
	}
	return at, way
}

// step returns what a view, a metric, bins or a join make of a row.
func (k *kindOf) step(x []float64) (y []float64) {
	r := &k.Recipe
	switch k.Kind {
	case "scale.clip":
		for j, v := range x {
			if at := float64(r.At[j]); at > 0 {
				v = math.Min(math.Max(v, -at), at)
			}
			y = append(y, v)
		}
	case "scale.normalscores":
		for j, v := range x {
			if at, scores := floats32(r.Columns[j].At), floats32(r.Columns[j].Scores); len(at) > 0 {
				i, way := between(at, v)
				switch {
				case i < 0:
					v = scores[0]
				case i+1 == len(at):
					v = scores[i]
				default:
					v = scores[i] + (scores[i+1]-scores[i])*way
				}
			}
			y = append(y, float64(float32(v)))
		}
	case "metric.diagonal":
		for j, a := range floats32(r.A) {
			y = append(y, float64(float32(a*x[j])))
		}
	case "metric.full":
		for i := range r.Dim {
			var sum float64
			for j, v := range x {
				sum += r.metric[i*r.Dim+j] * v
			}
			y = append(y, sum)
		}
	case "bins":
		for _, c := range r.Columns {
			y = append(y, k.bins(floats32(c.Cuts), x[c.Index])...)
		}
	case "bins.levels":
		y = append(y, x...)
		for _, c := range r.Columns {
			if !r.Keep {
				y[c.Index] = 0
			}
			y = append(y, k.bins(floats32(c.Cuts), x[c.Index])...)
		}
	case "differences":
		y = append(y, x...)
		for _, p := range r.Pairs {
			d := float32(p.A*float32(x[p.First])) - float32(p.B*float32(x[p.Second]))
			y = append(y, math.Abs(float64(d+p.C)))
		}
	case "join":
		for i := range r.Parts {
			k.give(&r.Parts[i])
			y = append(y, r.Parts[i].features(x)...)
		}
	}
	return y
}

// bins returns the features of one value.
func (k *kindOf) bins(cuts []float64, v float64) []float64 {
	weight := float64(k.Recipe.Weight)
	at, way := between(cuts, v)
	if k.Recipe.Linear {
		y := make([]float64, len(cuts))
		y[max(at, 0)] = weight * (1 - way)
		if way > 0 {
			y[at+1] = weight * way
		}
		return y
	}
	y := make([]float64, len(cuts)+1)
	y[at+1] = weight
	if len(cuts) == 1 {
		return y[1:]
	}
	return y
}

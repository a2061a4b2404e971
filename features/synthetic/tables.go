package synthetic

import (
	"fmt"
	"math"
	"strconv"

	"github.com/bochner-ml/bochner/features/stream"
)

// tables are sets that are hard for a kernel whose distance weighs all columns equally, each for one
// reason.
var tables = []Set{
	{
		Name: "irrelevant", About: "A number that depends on four of 40 normal columns: 2 sin(2x1) + x2x3 + 2/(1+x4²), " +
			"with noise.",
		Columns: columns("x", 40), Noise: 0.5, draw: irrelevant,
	},
	{
		Name: "tails", About: "A number that is smooth in the ranks of its columns; x1 to x4 have a Pareto distribution " +
			"and x5 to x8 are powers of normal numbers.",
		Columns: columns("x", 8), Noise: 0.3, draw: tails,
	},
	{
		Name: "rotated", About: "A number that depends on three directions of 20 normal columns, none of them along a " +
			"column: sin(2a) + bc, with noise.",
		Columns: columns("x", 20), Noise: 0.3, draw: rotated,
	},
	{
		Name: "interactions", About: "Four classes by the signs of x1x2 + x3x4 and x5x6 - x7x8, with noise; the 12 " +
			"columns are uniform.",
		Columns: columns("x", 12), Noise: 0.1, draw: interactions,
	},
	{
		Name: "hidden", About: "A number that depends on two of 60 uniform columns, and only on both together: " +
			"sin(9x8)·x21, with noise.",
		Columns: columns("x", 60), Noise: 0.15, draw: hidden,
	},
	{
		Name: "categories", About: "Two classes that depend on five columns of categories, with 3 to 30 levels, alone, in " +
			"pairs and with three columns of numbers.",
		Columns: append(columns("c", len(levelCounts)), columns("x", 4)...), Noise: 0.5, draw: categories,
		levels: levels(levelCounts),
	},
}

// columns returns the names prefix1, …, prefixn.
func columns(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint(prefix, i+1)
	}
	return names
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 32) }

func normals(s *stream.Stream, x []float64) {
	for i := range x {
		x[i] = s.Normal()
	}
}

func irrelevant(s *stream.Stream, x []float64, noise float64) string {
	normals(s, x)
	return number(float64(2*math.Sin(2*x[0])) + float64(x[1]*x[2]) + 2/(1+float64(x[3]*x[3])) + float64(noise*s.Normal()))
}

func tails(s *stream.Stream, x []float64, noise float64) string {
	var v, z [4]float64
	for i := range v {
		u := s.Uniform()
		v[i], x[i] = 2*u-1, 1/math.Sqrt(u)
	}
	normals(s, z[:])
	for i, z := range z {
		square := float64(z * z)
		x[4+i] = z + float64(float64(square*square)*z)
	}
	return number(float64(float64(3*v[0])*v[1]) + math.Sin(math.Pi*v[2]) + math.Abs(z[0]) +
		float64(float64(z[1]*z[2])/2) + float64(noise*s.Normal()))
}

// direction returns x·a, where a is the k-th row of the discrete cosine transform, a unit vector.
func direction(x []float64, k int) float64 {
	n, sum := float64(len(x)), 0.0
	for j, v := range x {
		sum += float64(v * math.Cos(math.Pi*(float64(j)+0.5)*float64(k)/n))
	}
	return float64(math.Sqrt(2/n) * sum)
}

func rotated(s *stream.Stream, x []float64, noise float64) string {
	normals(s, x)
	a, b, c := direction(x, 3), direction(x, 5), direction(x, 7)
	return number(math.Sin(2*a) + float64(b*c) + float64(noise*s.Normal()))
}

func interactions(s *stream.Stream, x []float64, noise float64) string {
	for i := range x {
		x[i] = 2*s.Uniform() - 1
	}
	class := 0
	if float64(x[0]*x[1])+float64(x[2]*x[3])+float64(noise*s.Normal()) > 0 {
		class = 1
	}
	if float64(x[4]*x[5])-float64(x[6]*x[7])+float64(noise*s.Normal()) > 0 {
		class += 2
	}
	return strconv.Itoa(class)
}

func hidden(s *stream.Stream, x []float64, noise float64) string {
	for i := range x {
		x[i] = 2*s.Uniform() - 1
	}
	return number(float64(math.Sin(9*x[7])*x[20]) + float64(noise*s.Normal()))
}

var levelCounts = []int{3, 5, 8, 12, 30}

// levels names the levels of categorical columns: a1, a2, … for the first column, b1, … for the second.
func levels(counts []int) [][]string {
	all := make([][]string, len(counts))
	for i, n := range counts {
		all[i] = columns(string(rune('a'+i)), n)
	}
	return all
}

// effect returns a normal number for a level, or for a pair of levels. It is the same for every seed.
func effect(what string, level uint64) float64 {
	return stream.New(0, stream.PurposeOf("sample categories "+what), level).Normal()
}

// categories draws a row of categories and normal numbers into x, and returns its label. It depends on levels, on a
// pair of levels, and on a slope that differs between levels.
func categories(s *stream.Stream, x []float64, noise float64) string {
	var c [5]uint64
	for i, n := range levelCounts {
		c[i] = s.Below(uint64(n))
		x[i] = float64(c[i])
	}
	z := x[len(c):]
	normals(s, z)
	score := effect("1", c[0]) + effect("5", c[4]) + effect("23", c[1]*8+c[2]) + // separate effects, and one of a pair
		float64(effect("4", c[3])*z[0]) + math.Sin(2*z[1]) // a slope that depends on the level
	if score+float64(noise*s.Normal()) > 0 {
		return "yes"
	}
	return "no"
}

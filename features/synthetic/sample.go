// Package synthetic generates labelled rows of known distributions, to try, test and measure jobs without a
// download. Find returns a Set by name, and Set.WriteCSV writes its rows. Row i depends only on the name of
// the set, the seed, the noise and i.
package synthetic

import (
	"bufio"
	"context"
	"io"
	"math"
	"strconv"

	"github.com/bochner-ml/bochner/features/stream"
)

// Set is a distribution of labelled rows.
type Set struct {
	Name    string
	About   string   // one sentence
	Columns []string // names of the columns
	Noise   float64  // default standard deviation of the noise
	draw    func(s *stream.Stream, x []float64, noise float64) (label string)
	levels  [][]string // names of the levels of the first columns, where x has the index of a level
}

// Sets lists the data sets.
var Sets = append([]Set{
	{
		Name: "windmill", About: "Two classes of points in the unit disc of R²: the four twisted blades of a windmill, " +
			"alternating.",
		Columns: []string{"x1", "x2"}, draw: windmill,
	},
	{
		Name: "moons", About: "Two classes of points in R²: two half circles that reach into each other, with noise.",
		Columns: []string{"x1", "x2"}, Noise: 0.15, draw: moons,
	},
	{
		Name: "checkerboard", About: "Two classes of points on the unit sphere of R³: a board of 8 meridians by 4 " +
			"parallels of equal area, alternating.",
		Columns: []string{"x1", "x2", "x3"}, draw: checkerboard,
	},
	{
		Name: "friedman", About: "A number that depends on five of ten uniform columns: 10 sin(πx1x2) + 20(x3−½)² + " +
			"10x4 + 5x5, with noise (Friedman, Annals of Statistics 19, 1991).",
		Columns: []string{"x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10"}, Noise: 1, draw: friedman,
	},
}, tables...)

// Find returns the set called name.
func Find(name string) (Set, bool) {
	for _, s := range Sets {
		if s.Name == name {
			return s, true
		}
	}
	return Set{}, false
}

// Names lists the names of the data sets.
func Names() (out []string) {
	for _, s := range Sets {
		out = append(out, s.Name)
	}
	return out
}

// WriteCSV writes rows 0, …, n−1 as CSV with a header. The label is the last column, y. Only one row is in
// memory at a time.
func (s Set) WriteCSV(ctx context.Context, w io.Writer, n int64, seed uint64, noise float64) error {
	b := bufio.NewWriterSize(w, 1<<16)
	for _, c := range s.Columns {
		b.WriteString(c)
		b.WriteByte(',')
	}
	b.WriteString("y\n")
	x := make([]float64, len(s.Columns))
	var line []byte
	purpose := stream.PurposeOf("sample " + s.Name)
	for i := range n {
		if i%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		label := s.draw(stream.New(seed, purpose, uint64(i)), x, noise)
		line = line[:0]
		for j, v := range x {
			if j < len(s.levels) {
				line = append(append(line, s.levels[j][int(v)]...), ',')
				continue
			}
			line = append(strconv.AppendFloat(line, v, 'g', -1, 32), ',')
		}
		if _, err := b.Write(append(append(line, label...), '\n')); err != nil {
			return err
		}
	}
	return b.Flush()
}

// disturb adds normal noise to every number.
func disturb(s *stream.Stream, x []float64, noise float64) {
	for i := range x {
		x[i] += float64(noise * s.Normal())
	}
}

func windmill(s *stream.Stream, x []float64, noise float64) string {
	r, angle := math.Sqrt(s.Uniform()), 2*math.Pi*s.Uniform()
	x[0], x[1] = r*math.Cos(angle), r*math.Sin(angle)
	disturb(s, x, noise)
	return class(math.Sin(2*angle-float64(6*r)) > 0)
}

func moons(s *stream.Stream, x []float64, noise float64) string {
	angle, upper := math.Pi*s.Uniform(), s.Below(2) == 0
	x[0], x[1] = math.Cos(angle), math.Sin(angle)
	if !upper {
		x[0], x[1] = 1-x[0], 0.5-x[1]
	}
	disturb(s, x, noise)
	return class(upper)
}

func checkerboard(s *stream.Stream, x []float64, noise float64) string {
	z, angle := 2*s.Uniform()-1, 2*math.Pi*s.Uniform()
	r := math.Sqrt(1 - float64(z*z))
	x[0], x[1], x[2] = r*math.Cos(angle), r*math.Sin(angle), z
	disturb(s, x, noise)
	return class((int(4*angle/math.Pi)+int(2*(z+1)))%2 == 0)
}

func class(first bool) string {
	if first {
		return "1"
	}
	return "-1"
}

func friedman(s *stream.Stream, x []float64, noise float64) string {
	for i := range x {
		x[i] = s.Uniform()
	}
	y := float64(10*math.Sin(math.Pi*x[0]*x[1])) + float64(20*(x[2]-0.5)*(x[2]-0.5)) + float64(10*x[3]) +
		float64(5*x[4]) + float64(noise*s.Normal())
	return number(y)
}

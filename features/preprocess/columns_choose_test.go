package preprocess

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/schema"
)

// trouble holds a column of each type, with and without missing values.
var trouble = &schema.Table{Columns: []schema.Column{
	{Name: "n", Type: schema.Number},
	{Name: "gaps", Type: schema.Number},
	{Name: "empty", Type: schema.Number},
	{Name: "yes", Type: schema.Boolean},
	{Name: "maybe", Type: schema.Boolean},
	{Name: "kind", Type: schema.Category, Levels: []string{"a", "b", "c"}},
	{Name: "rare", Type: schema.Category, Levels: []string{"a"}},
	{Name: "hash", Type: schema.Category, Buckets: 8},
	{Name: "when", Type: schema.Time, Layout: "2006-01-02"},
}}

func troubleRows(r *rand.Rand, n int) []float32 {
	var x []float32
	miss := func(v float32) float32 {
		if r.IntN(4) == 0 {
			return nan
		}
		return v
	}
	for range n {
		x = append(x, float32(10+3*r.NormFloat64()), miss(float32(r.IntN(3))), nan,
			float32(r.IntN(2)), miss(float32(r.IntN(2))), float32(r.IntN(3)), miss(float32(r.IntN(2))), float32(r.IntN(8)))
		if r.IntN(5) == 0 {
			x = append(x, nan, nan, nan, nan)
		} else {
			x = append(x, float32(r.IntN(900)), float32(1+r.IntN(12)), float32(r.IntN(7)), float32(r.IntN(24)))
		}
	}
	return x
}

// statisticsOf is a naive profile of n rows.
func statisticsOf(t *schema.Table, x []float32, n int) []ColumnStatistics {
	width := t.Width()
	slots := make([]ColumnStatistics, width)
	at := 0
	for i := range t.Columns {
		for range t.Columns[i].Width() {
			s := ColumnStatistics{Rows: int64(n)}
			if values := t.Columns[i].Values(); values > 0 {
				s.Levels = make([]int64, values)
			}
			var present []float32
			for row := range n {
				switch v := x[row*width+at]; {
				case v != v:
					s.Missing++
				case s.Levels != nil:
					s.Levels[int(v)]++
				default:
					present = append(present, v)
				}
			}
			s.Share = float64(s.Missing) / float64(n)
			if len(present) > 0 {
				s.Mean, s.Variance, s.Low, s.High = describe(present)
			}
			slots[at] = s
			at++
		}
	}
	return slots
}

func describe(x []float32) (mean, variance float64, low, high float32) {
	for _, v := range x {
		mean += float64(v) / float64(len(x))
	}
	for _, v := range x {
		variance += (float64(v) - mean) * (float64(v) - mean) / float64(len(x))
	}
	return mean, variance, slices.Min(x), slices.Max(x)
}

func TestStatisticsMatchTheNumbers(t *testing.T) {
	const n = 400
	x := troubleRows(rand.New(rand.NewPCG(1, 1)), n)
	for _, o := range []ColumnOptions{{}, {Encode: OneHotEncoding, Weight: defaultTextWeight}, {Weight: 0.3},
		{Encode: CountEncoding}} {
		r, columns, err := ChooseColumns(trouble, statisticsOf(trouble, x, n), o, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		y := applyColumns(t, r, x, n)
		_, out := r.Dims()
		if most, _, levels := ColumnBounds(trouble, o, 1); out > most || levels != 4+2+8 {
			t.Errorf("%+v: %d numbers of at most %d, %d levels", o, out, most, levels)
		}
		names := r.Names(trouble)
		if len(columns) != out || len(names) != out {
			t.Fatalf("%d numbers, %d descriptions, %d names", out, len(columns), len(names))
		}
		for j, have := range columns {
			var column []float32
			for i := range n {
				column = append(column, y[i*out+j])
			}
			mean, variance, low, high := describe(column)
			if math.Abs(have.Mean-mean) > 1e-6*(1+math.Abs(mean)) || math.Abs(have.Variance-variance) > 1e-6*(1+variance) ||
				have.Low != low || have.High != high {
				t.Errorf("%+v: %s: have %+v, want mean %v, variance %v, %v to %v", o, names[j], have, mean, variance, low, high)
			}
		}
	}
}

func TestEncodingsAreChosenFromStatistics(t *testing.T) {
	const n = 400
	x := troubleRows(rand.New(rand.NewPCG(1, 1)), n)
	r, columns, err := ChooseColumns(trouble, statisticsOf(trouble, x, n), ColumnOptions{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	// No row of kind has a text that is not a level; rows of rare have.
	want := strings.Fields("n gaps gaps=(missing) empty empty=(missing) yes when.days when.days=(missing) when.month when.weekday when.hour" +
		" maybe=false maybe=true maybe=(missing) kind=a kind=b kind=c rare=a rare=(other) rare=(missing)" +
		" hash=#0 hash=#1 hash=#2 hash=#3 hash=#4 hash=#5 hash=#6 hash=#7")
	if have := r.Names(trouble); !slices.Equal(have, want) {
		t.Errorf("have %q\nwant %q", have, want)
	}
	for j, c := range columns {
		number := !strings.Contains(want[j], "=") && want[j] != "yes"
		if c.Unscaled == number {
			t.Errorf("%s: unscaled %v", want[j], c.Unscaled)
		}
	}
	// A value that training rows never miss may be missing later.
	y := applyColumns(t, r, slices.Repeat([]float32{nan}, 12), 1)
	if slices.ContainsFunc(y, func(v float32) bool { return v != v }) {
		t.Errorf("%v", y)
	}
	if s := r.Slots[0].Number; math.Abs(float64(y[0])-columns[0].Mean) > 1e-5 || s.Fill != y[0] {
		t.Errorf("a missing number is filled with %v, the mean is %v", y[0], columns[0].Mean)
	}
}

// True and false are as far from each other as two category values, and a missing value is halfway between
// them.
func TestBooleansAreEncodedAsLevels(t *testing.T) {
	r, _, err := ChooseColumns(&schema.Table{Columns: []schema.Column{{Name: "b", Type: schema.Boolean}}},
		[]ColumnStatistics{{Rows: 10, Mean: 0.3, Variance: 0.21, High: 1}}, ColumnOptions{Weight: 0.5}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	y := applyColumns(t, r, []float32{0, 1, nan}, 3)
	if d := float64(y[1] - y[0]); math.Abs(d*d-2*0.25) > 1e-6 || y[2] != y[1]/2 || y[0] != 0 {
		t.Errorf("%v", y)
	}
}

func TestInvalidStatisticsAndOptionsAreRejected(t *testing.T) {
	table := &schema.Table{Columns: []schema.Column{{Name: "k", Type: schema.Category, Levels: []string{"a"}}}}
	good := []ColumnStatistics{{Rows: 3, Levels: []int64{2, 1}}}
	for _, c := range []struct {
		s    []ColumnStatistics
		o    ColumnOptions
		want string
	}{
		{good, ColumnOptions{}, ""},
		{nil, ColumnOptions{}, "columns: statistics of 0 slots for rows of 1"},
		{[]ColumnStatistics{{Rows: 3}}, ColumnOptions{}, `columns: column "k": counts of 0 values for 2`},
		{good, ColumnOptions{Encode: "hot"}, `encode must be onehot, count or target (have "hot")`},
		{good, ColumnOptions{Encode: TargetEncoding}, "columns: target statistics need the labels of rows"},
		{good, ColumnOptions{Weight: -1}, "category_weight must be a number > 0 within float32 (have -1)"},
		{good, ColumnOptions{Weight: math.Inf(1)}, "category_weight"},
		{good, ColumnOptions{Weight: math.NaN()}, "category_weight"},
	} {
		_, _, err := ChooseColumns(table, c.s, c.o, nil, nil)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: have %v, want %q", c.o, err, c.want)
		}
	}
}

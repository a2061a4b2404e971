package picture

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/bochner-ml/bochner/internal/exact"
)

// ticks places ticks at round numbers, with at most limit intervals between them; 0 means 6.
type ticks struct {
	limit int
	log   bool     // powers of ten; between few of them also 2 and 5 times them
	names []string // of 1, 2, … in place of numbers
}

// Ticks returns the ticks between two values.
func (t ticks) Ticks(low, high float64) (all []plot.Tick) {
	limit := float64(t.limit)
	if limit == 0 {
		limit = 6
	}
	if t.names != nil {
		for i := 0; i < len(t.names); i += int(math.Ceil(float64(len(t.names)) / (limit + 1))) {
			all = append(all, plot.Tick{Value: float64(i + 1), Label: t.names[i]})
		}
		return all
	}
	all = t.powers(low, high, limit)
	if t.log && len(all) > 1 {
		return all
	}
	all = nil
	step := math.Pow(10, math.Floor(math.Log10((high-low)/limit)))
	for _, factor := range []float64{2, 2.5, 2} { // 1, 2, 5, 10 times
		if (high-low)/step > limit {
			step *= factor
		}
	}
	if !(step > 0) || math.IsInf(step, 0) {
		return []plot.Tick{{Value: low, Label: label(low, 0)}}
	}
	for i := math.Ceil(low/step - 1e-9); i <= high/step+1e-9; i++ {
		all = append(all, plot.Tick{Value: i * step, Label: label(i*step, step)})
	}
	return all
}

// powers are the ticks of a logarithmic axis.
func (t ticks) powers(low, high, limit float64) (all []plot.Tick) {
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	step, factors := max(1, math.Ceil((last-first)/(limit+1))), []float64{1}
	if limit > 4 && math.Log10(high/low) < 2.5 {
		factors = []float64{1, 2, 5}
	}
	for e := first; t.log && e <= last; e += step {
		for _, f := range factors {
			if v := f * math.Pow(10, e); v >= low*(1-1e-9) && v <= high*(1+1e-9) {
				all = append(all, plot.Tick{Value: v, Label: label(v, v)})
			}
		}
	}
	return all
}

// width is the width of the labels, with gaps.
func (t ticks) width(low, high float64) (sum vg.Length) {
	textStyle := style(8.5)
	for _, k := range t.Ticks(low, high) {
		sum += textStyle.Width(k.Label) + vg.Points(8)
	}
	return sum
}

// logarithmic makes an axis logarithmic unless some of its values have no logarithm. A single
// value gets room on both sides.
func logarithmic(a *plot.Axis) {
	if !(a.Min > 0) || a.Min > a.Max {
		return
	}
	if a.Min == a.Max {
		a.Min, a.Max = a.Min/2, a.Max*2
	}
	a.Scale, a.Tick.Marker = plot.LogScale{}, ticks{log: true}
}

// label writes a number that is a multiple of step: with as many digits as it needs, with separated thousands, and
// as a power of ten only if it is very large or small.
func label(v, step float64) string {
	abs := math.Abs(v)
	if step > 0 {
		abs = math.Round(abs/step) * step
	}
	if abs >= 1e7 || abs > 0 && (step > 0 && step < 1e-5 || abs < 1e-5) {
		return signed(v < 0, power(abs, 4))
	}
	digits := -1
	if step > 0 && (step <= abs || abs == 0) {
		digits = int(max(0, math.Ceil(-math.Log10(step)-1e-9)))
	}
	return signed(v < 0 && abs > 0, grouped(strconv.FormatFloat(abs, 'f', digits, 64)))
}

// Number formats a number for people, with the given number of significant digits: 47,551, 0.83 or 1.2e−9.
func Number(v float64, digits int) string {
	abs, err := strconv.ParseFloat(strconv.FormatFloat(math.Abs(v), 'g', digits, 64), 64)
	if err != nil || !exact.Finite(v) || abs >= 1e12 || abs > 0 && abs < 1e-4 {
		return signed(v < 0, power(math.Abs(v), digits))
	}
	return signed(v < 0 && abs > 0, grouped(strconv.FormatFloat(abs, 'f', -1, 64)))
}

// Range formats an interval; "-" if there is none.
func Range(low, high float64, digits int) string {
	if math.IsNaN(low) {
		return "-"
	}
	return Number(low, digits) + " to " + Number(high, digits)
}

func signed(negative bool, text string) string {
	if negative {
		return "−" + text
	}
	return text
}

// power writes a number with a power of ten.
func power(abs float64, digits int) string {
	text := strconv.FormatFloat(abs, 'g', digits, 64)
	return strings.NewReplacer("e+0", "e", "e-0", "e−", "e+", "e", "e-", "e−").Replace(text)
}

// grouped separates thousands.
func grouped(text string) string {
	whole, rest, found := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if found {
		return whole + "." + rest
	}
	return whole
}

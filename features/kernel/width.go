package kernel

import (
	"fmt"
	"math"
	"strconv"

	"github.com/bochner-ml/bochner/internal/option"
)

// Width is the width σ > 0 of a kernel in units of the preprocessed rows, or a way to choose it.
type Width float64

const (
	// Median uses the median distance between rows of a sample.
	Median Width = 0
	// Scale uses the width of scikit-learn's gamma="scale".
	Scale Width = -1
)

// Help returns the help for options of this type.
func (Width) Help() (help string, values []string) {
	return `Kernel width σ, in units of the scaled rows: a number, median (the median distance between rows) or scale (scikit-learn's gamma="scale").`, []string{"median", "scale"}
}

// MarshalText returns "median", "scale" or the number.
func (w Width) MarshalText() ([]byte, error) {
	switch w {
	case Median:
		return []byte("median"), nil
	case Scale:
		return []byte("scale"), nil
	}
	return strconv.AppendFloat(nil, float64(w), 'g', -1, 64), nil
}

// UnmarshalText accepts "median", "scale" and numbers > 0.
func (w *Width) UnmarshalText(text []byte) error {
	switch string(text) {
	case "median":
		*w = Median
		return nil
	case "scale":
		*w = Scale
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) {
		return fmt.Errorf("must be median, scale or a number > 0 (have %q)", text)
	}
	*w = Width(v)
	return nil
}

// Validate returns an error unless w is Median, Scale or a number > 0.
func (w Width) Validate() error {
	if v := float64(w); w == Median || w == Scale || v > 0 && !math.IsInf(v, 1) {
		return nil
	}
	return option.Errorf("width", "must be median, scale or a number > 0 (have %v)", float64(w))
}

// Choose returns the width as a number, in that distance, and says how it was found: "width 7 (median
// distance)".
func (w Width) Choose(d *Data, distance Distance) (width float64, summary string, err error) {
	how := ""
	switch w {
	case Median:
		how = " (median distance)"
		width, err = d.median(distance)
	case Scale:
		how = " (scale)"
		if math.IsNaN(d.Variance) {
			return 0, "", option.Errorf("width",
				"scale needs statistics of the columns, which a step of the scaling mixes; use median or a number")
		}
		width, err = ScaleWidth(d.In, d.Variance)
	default:
		width = float64(w)
	}
	return width, fmt.Sprintf("width %.4g%s", width, how), err
}

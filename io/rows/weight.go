package rows

import (
	"fmt"
	"math"
	"strconv"
)

// Limits of the weight of a row that is not 0. They keep moments of any float32 values within
// the range of exact sums.
const (
	LeastWeight = 0x1p-60
	MostWeight  = 0x1p60
)

// CheckWeight returns the reason why w cannot be the weight of a row, or "".
func CheckWeight(w float64) string {
	switch {
	case w != w:
		return "the weight is missing (NaN)"
	case w < 0:
		return fmt.Sprintf("weight %g is below 0", w)
	case w > MostWeight || w > 0 && w < LeastWeight:
		return fmt.Sprintf("weight %g is out of range (0, or from 1e-18 to 1e18)", w)
	}
	return ""
}

// ParseWeight returns the weight in a text, rounded to float32, or the reason why it is not a weight.
func ParseWeight(text []byte) (w float64, reason string) {
	if len(text) == 0 {
		return 0, "the weight is missing (write 0 for a row that is not to count)"
	}
	w, err := strconv.ParseFloat(string(text), 64)
	if err != nil && !math.IsInf(w, 0) {
		return 0, fmt.Sprintf("weight %.40q is not a number", text)
	}
	if reason := CheckWeight(w); reason != "" {
		return 0, reason
	}
	return float64(float32(w)), ""
}

package rows

import "math"

// OrderedKey returns the key of a number that is not NaN, such as a time in seconds: keys are in the
// order of the numbers.
func OrderedKey(v float64) uint64 {
	b := math.Float64bits(v + 0) // −0 is 0
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

// OfKey returns the number of an OrderedKey.
func OfKey(key uint64) float64 {
	if key>>63 == 1 {
		return math.Float64frombits(key &^ (1 << 63))
	}
	return math.Float64frombits(^key)
}

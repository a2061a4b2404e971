package rows

import "math"

// Half returns the value of a 16-bit float.
func Half(b uint16) float32 {
	sign, exp, frac := uint32(b>>15)<<31, uint32(b>>10&31), uint32(b&1023)
	switch {
	case exp == 31:
		return math.Float32frombits(sign | 255<<23 | frac<<13)
	case exp == 0:
		v := float32(frac) * 0x1p-24
		if sign != 0 {
			return -v
		}
		return v
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

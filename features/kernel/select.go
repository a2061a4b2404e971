package kernel

import (
	"math"
	"math/bits"
	"slices"
)

// middle returns the two middle ones of the positive numbers of v in ascending order. They are equal for an
// odd count, and 0 if there are none. v has no negative numbers. It is overwritten.
//
// Numbers are counted by their leading bits, which sort like the numbers. Then only those that share their
// leading bits with the middle ones are compared.
func middle(v []float64) (low, high float64) {
	const shift = 48 // leaves the exponent and 4 bits
	counts := make([]int, 1<<(63-shift))
	n := len(v)
	for _, x := range v {
		counts[math.Float64bits(x)>>shift]++
		if x == 0 {
			n--
		}
	}
	if n == 0 {
		return 0, 0
	}
	skip := len(v) - n // zeros come first
	first, before := 0, 0
	find := func(rank int) (bucket int) {
		for before+counts[first] <= rank {
			before += counts[first]
			first++
		}
		return first
	}
	from := find(skip + (n-1)/2)
	below := before
	upTo := find(skip + n/2)
	near := v[:0]
	for _, x := range v {
		if b := int(math.Float64bits(x) >> shift); from <= b && b <= upTo {
			near = append(near, x)
		}
	}
	k := skip + n/2 - below
	smallest(near, k)
	high = near[k]
	if n%2 == 1 {
		return high, high
	}
	return slices.Max(near[:k]), high
}

// smallest moves the k smallest numbers of v to its front and the next one to v[k]
// (Hoare 1961, with the median of three as pivot). If many rounds show that the pivots
// are bad, it sorts.
func smallest(v []float64, k int) {
	for rounds := 2 * bits.Len(uint(len(v))); len(v) > 16 && rounds > 0; rounds-- {
		a, b, c := v[0], v[len(v)/2], v[len(v)-1]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := 0, len(v)-1
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch { // v[:j+1] ≤ pivot ≤ v[i:], and the elements between equal the pivot
		case k <= j:
			v = v[:j+1]
		case k >= i:
			v, k = v[i:], k-i
		default:
			return
		}
	}
	slices.Sort(v)
}

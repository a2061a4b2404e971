package ridge

// Stripe is a range of the parts of the sums of several folds, numbered fold by fold: part k of fold f
// is f·NumParts + k. What is too large for one worker is summed in stripes, each in a pass of its own
// over the rows of its folds. Parts are exact sums of the same rows whoever adds them up, so stripes
// change no bit.
type Stripe struct{ First, End int }

// CutStripes cuts the sums of folds into at least n stripes, or as many as there are parts. Up to as many
// stripes as folds have whole folds, so that each row is mapped once; more cut each fold into as many
// pieces, whose rows are mapped for each of them.
func CutStripes(shape Shape, folds, n int) []Stripe {
	parts := NumParts(shape)
	var out []Stripe
	if n <= folds {
		n = max(n, 1)
		for s := range n {
			out = append(out, Stripe{s * folds / n * parts, (s + 1) * folds / n * parts})
		}
		return out
	}
	pieces := min((n+folds-1)/folds, parts)
	for f := range folds {
		for p := range pieces {
			out = append(out, Stripe{f*parts + p*parts/pieces, f*parts + (p+1)*parts/pieces})
		}
	}
	return out
}

// FitStripes returns the fewest stripes of which each takes at most that many bytes, by what size says of the
// folds and bytes of its sums; one stripe if there is no limit (0), or none fit: then least is the smallest
// limit that a number of stripes keeps, else 0.
func FitStripes(shape Shape, folds int, most int64,
	size func(folds int, bytes int64) int64) (stripes []Stripe, bytes, least int64) {
	largest := func(stripes []Stripe) (bytes int64) {
		for _, s := range stripes {
			bytes = max(bytes, size(s.Size(shape)))
		}
		return bytes
	}
	stripes = CutStripes(shape, folds, 1)
	bytes = largest(stripes)
	if most == 0 || bytes <= most {
		return stripes, bytes, 0
	}
	least = bytes
	for n := 2; n <= maxStripes; n++ {
		more := CutStripes(shape, folds, n)
		b := largest(more)
		if b <= most {
			return more, b, 0
		}
		if least = min(least, b); len(more) < n {
			break // each has one part
		}
		n = len(more)
	}
	return stripes, bytes, least
}

// maxStripes limits the stripes of Fit: what does not fit then is not made to fit by reading rows more
// often.
const maxStripes = 256

// Part returns the parts of a fold that are in the stripe, from first up to end; none if they are
// equal.
func (s Stripe) Part(shape Shape, fold int) (first, end int) {
	parts := NumParts(shape)
	first, end = max(s.First-fold*parts, 0), min(s.End-fold*parts, parts)
	if first >= end {
		return 0, 0
	}
	return first, end
}

// Size returns the folds of which the stripe has parts, and the bytes of their sums.
func (s Stripe) Size(shape Shape) (folds int, bytes int64) {
	parts := NumParts(shape)
	for f := s.First / parts; f*parts < s.End; f++ {
		folds++
		bytes += shape.PartBytes(s.Part(shape, f))
	}
	return folds, bytes
}

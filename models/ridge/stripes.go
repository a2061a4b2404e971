package ridge

// Stripe is a range of the parts of the sums of several folds, numbered fold by fold: part k of fold f is
// f·NumParts + k. Sums too large for one worker are added up in stripes, each in its own pass over the rows
// of its folds. Stripes change no bit, because parts are exact sums of the same rows.
type Stripe struct{ First, End int }

// CutStripes cuts the sums of folds into at least n stripes, or into one per part if there are fewer. If n
// ≤ folds, stripes have whole folds, so each row is mapped once. More stripes cut each fold into equally
// many pieces, and the rows of the fold are mapped for each of them.
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

// FitStripes returns the fewest stripes that take at most that many bytes each, where size returns the
// memory for a number of folds and the bytes of their sums. It returns one stripe if there is no limit (0),
// or if no number fits: then least is the smallest limit that could be kept, otherwise 0.
func FitStripes(shape Shape, folds int, most int64,
	size func(folds int, bytes int64) int64) (stripes []Stripe, bytes, least int64) {
	largest := func(stripes []Stripe) (bytes int64) {
		for _, s := range stripes {
			bytes = max(bytes, size(s.size(shape)))
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
		least = min(least, b)
		if len(more) < n {
			break // each has one part
		}
		n = len(more)
	}
	return stripes, bytes, least
}

// maxStripes is the most stripes that FitStripes tries. Beyond it rows would be read too often.
const maxStripes = 256

// Part returns the range of the parts of a fold that are in the stripe, from first up to end; empty if none
// is.
func (s Stripe) Part(shape Shape, fold int) (first, end int) {
	parts := NumParts(shape)
	first, end = max(s.First-fold*parts, 0), min(s.End-fold*parts, parts)
	if first >= end {
		return 0, 0
	}
	return first, end
}

// size returns the number of folds that have parts in the stripe, and the bytes of their sums.
func (s Stripe) size(shape Shape) (folds int, bytes int64) {
	parts := NumParts(shape)
	for f := s.First / parts; f*parts < s.End; f++ {
		folds++
		bytes += shape.PartBytes(s.Part(shape, f))
	}
	return folds, bytes
}

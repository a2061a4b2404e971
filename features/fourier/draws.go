package fourier

import "fmt"

// Draw is the joint distribution of the frequencies of a Gaussian kernel. Each
// frequency has the same distribution in all of them, or nearly; they differ in how
// frequencies depend on each other and in the cost of the map.
type Draw uint8

const (
	// Iid draws frequencies independently of each other.
	Iid Draw = iota
	// Orthogonal draws blocks of d orthogonal frequencies whose lengths are distributed as with
	// Iid. The estimate is unbiased and has less variance, most of all where D is a multiple of d
	// and rows are within a few widths. The map costs as much as with Iid; drawing a block costs d³
	// instead of d². Rows have at most 4,096 values.
	Orthogonal
	// Structured draws blocks of d' orthogonal frequencies, d' the least power of
	// two ≥ max(d, 64), as products of Hadamard matrices and random signs. The map
	// costs D·log d' instead of D·d, for frequencies that are only nearly
	// normal: see the package comment on the bias.
	Structured
)

var drawNames = [...]string{Iid: "iid", Orthogonal: "orthogonal", Structured: "structured"}

// String returns "iid", "orthogonal" or "structured".
func (d Draw) String() string {
	if int(d) < len(drawNames) {
		return drawNames[d]
	}
	return fmt.Sprintf("Draw(%d)", uint8(d))
}

// MarshalText returns the name of the draw.
func (d Draw) MarshalText() ([]byte, error) {
	if int(d) >= len(drawNames) {
		return nil, fmt.Errorf("fourier: unknown draw %v", d)
	}
	return []byte(d.String()), nil
}

// UnmarshalText accepts "iid", "orthogonal" and "structured".
func (d *Draw) UnmarshalText(text []byte) error {
	for i, name := range drawNames {
		if name == string(text) {
			*d = Draw(i)
			return nil
		}
	}
	return fmt.Errorf("unknown draw %q; have iid, orthogonal, structured", text)
}

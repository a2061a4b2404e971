package fourier

import "fmt"

// Draw is the way the frequencies of a Gaussian kernel are drawn together. Each
// frequency has the same distribution in all of them, or nearly so; what differs is how
// they depend on each other, and what the map costs.
type Draw uint8

const (
	// Iid draws frequencies independently of each other.
	Iid Draw = iota
	// Orthogonal draws blocks of d frequencies at right angles, each of the length
	// it would have had. The kernel is estimated without bias and with less spread,
	// most where D is a multiple of d and rows are within a few widths; the
	// map costs what it costs with Iid, its drawing d³ instead of d² a block. Rows
	// are at most 4,096 numbers long.
	Orthogonal
	// Structured draws blocks of d' frequencies at right angles, d' the power of
	// two from d on and at least 64, as products of Hadamard matrices and random signs. The map
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
		return nil, fmt.Errorf("fourier: no such draw: %v", d)
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

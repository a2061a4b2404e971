package fourier

import "fmt"

// Form says how a frequency becomes features.
type Form uint8

const (
	// Paired uses a cosine and a sine of each of D/2 frequencies. Its rows have
	// norm 1 exactly, and it estimates smooth kernels with less variance.
	Paired Form = iota
	// Offset uses a cosine with a random offset of each of D frequencies.
	Offset
)

// String returns "paired" or "offset".
func (f Form) String() string {
	switch f {
	case Paired:
		return "paired"
	case Offset:
		return "offset"
	}
	return fmt.Sprintf("Form(%d)", uint8(f))
}

// MarshalText returns the name of the form.
func (f Form) MarshalText() ([]byte, error) {
	if f > Offset {
		return nil, fmt.Errorf("fourier: unknown form %v", f)
	}
	return []byte(f.String()), nil
}

// UnmarshalText accepts "paired" and "offset".
func (f *Form) UnmarshalText(text []byte) error {
	switch string(text) {
	case "paired":
		*f = Paired
	case "offset":
		*f = Offset
	default:
		return fmt.Errorf("unknown form %q; have paired, offset", text)
	}
	return nil
}

// Help returns the help for options of this type.
func (Form) Help() (help string, values []string) {
	return "Form of the features: paired (cosine and sine of each frequency) or offset (cosine with a random phase).",
		[]string{"paired", "offset"}
}

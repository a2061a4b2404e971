package lines

import "testing"

func TestFractionsOfWholeNumbersAreCut(t *testing.T) {
	for text, want := range map[string]string{
		"1.0": "1", "1.00": "1", "-12.0": "-12", "+7.000": "+7", "01.0": "01", "1.": "1.", ".0": ".0", "-.0": "-.0",
		"1.50": "1.50", "10": "10", "0": "0",
		"1.0.0": "1.0.0", "v1.0": "v1.0", "1e3.0": "1e3.0", "1,0": "1,0", "": "", "00": "00", "-1.0-": "-1.0-",
	} {
		if got := string(CutFraction([]byte(text), 0)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := string(CutFraction([]byte("1,0"), ',')); got != "1" {
		t.Errorf("with a comma: %q", got)
	}
}

func TestUnitsAreCut(t *testing.T) {
	for text, want := range map[string]string{
		"$10": "10", "-$10": "-10", "$-10": "-10", "$ 10": "10", "10$": "10", "10 €": "10", "€5": "5", "12%": "12",
		"12 %": "12", "-£3.5": "-3.5",
		"%12": "%12", "$": "$", "$$": "$", "": "", "10": "10", "-": "-", "10 kg": "10 kg",
	} {
		var scratch []byte
		if got, _ := CutUnit(&scratch, []byte(text)); string(got) != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// FuzzWritten looks for texts that panic, or that lose all of their bytes.
func FuzzWritten(f *testing.F) {
	for _, text := range []string{"-$1.0", "12 %", "1,000.0", "", "€"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var scratch []byte
		number, unit := CutUnit(&scratch, text)
		if len(text) > 0 && (len(number) == 0 || len(CutFraction(number, '.')) == 0) || unit < -1 || unit >= len(Units) {
			t.Errorf("%q is %q with unit %d", text, number, unit)
		}
		if plain, ok := PlainNumber(&scratch, text, ',', '.'); ok && len(plain) > len(text) {
			t.Errorf("%q is %q", text, plain)
		}
	})
}

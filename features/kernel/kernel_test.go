package kernel_test

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
)

func TestFamiliesAreFoundByNameAndAlias(t *testing.T) {
	for _, name := range []string{"gaussian", "rbf"} {
		f, err := kernel.Lookup(name)
		if err != nil || f.Name != "gaussian" {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	for name, want := range map[string]string{
		"guassian": `unknown kernel "guassian" (did you mean "gaussian"?); have cauchy, exponential, gaussian, `,
		"":         `unknown kernel ""; have cauchy`,
	} {
		if _, err := kernel.Lookup(name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestWidthsRoundTrip(t *testing.T) {
	for text, want := range map[string]kernel.Width{"median": kernel.Median, "scale": kernel.Scale, "7": 7,
		"1e-05": 1e-5} {
		var w kernel.Width = 99
		if err := w.UnmarshalText([]byte(text)); err != nil || w != want {
			t.Errorf("%s: %v, %v", text, w, err)
		}
		if back, err := want.MarshalText(); err != nil || string(back) != text {
			t.Errorf("%v: %s, %v", want, back, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "NaN", "Inf", "wide"} {
		var w kernel.Width
		if err := w.UnmarshalText([]byte(text)); err == nil ||
			!strings.Contains(err.Error(), "must be median, scale or a number > 0") {
			t.Errorf("%q: %v, %v", text, w, err)
		}
	}
}

func TestWithDoesNotChangeTheOriginal(t *testing.T) {
	o := &fourier.GaussianOptions{Features: 10, Draw: fourier.Structured}
	c, err := kernel.With(o, "features", "64")
	if err != nil || *c.(*fourier.GaussianOptions) != (fourier.GaussianOptions{Features: 64, Draw: fourier.Structured}) ||
		o.Features != 10 {
		t.Errorf("%+v, %v; was %+v", c, err, o)
	}
	if _, err := kernel.With(o, "features", "many"); err == nil ||
		!strings.Contains(err.Error(), `features "many" is not a whole number`) {
		t.Error(err)
	}
	if _, err := kernel.With(o, "nu", "1"); err == nil ||
		!strings.Contains(err.Error(), "nu is not an option of the kernel gaussian") {
		t.Error(err)
	}
}

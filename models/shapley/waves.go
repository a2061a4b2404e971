package shapley

import (
	"math"

	"github.com/bochner-ml/bochner/models/agop"
)

// waves are Fourier features: the factors of frequency ω are e^{iω_g·y_g}.
type waves struct{ *agop.Waves }

func newWaves(of *agop.Waves) waves {
	for i := range of.W { // in units of 2π, so that angles need no division
		of.W[i] /= 2 * math.Pi
	}
	return waves{of}
}

func (w waves) size() (in, count int) { return w.In, w.Count }

func (w waves) factors(dst []phasor, stride int, y []float32, numbers []int, turns []float64) {
	clear(turns)
	for _, i := range numbers {
		if v := float64(y[i]); v != 0 {
			for j, f := range w.W[i*w.Count : (i+1)*w.Count] {
				turns[j] += float64(v * f)
			}
		}
	}
	for j, u := range turns {
		dst[j*stride] = turn(u)
	}
}

func (w waves) coefficient(weights []float32, j int) phasor {
	amplitude := float64(w.Amplitude[j])
	if w.Offsets == nil {
		return phasor{float64(weights[j]), -float64(weights[w.Count+j])}.scaled(amplitude)
	}
	return turn(float64(w.Offsets[j])).scaled(amplitude * float64(weights[j]))
}

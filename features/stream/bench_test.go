package stream

import "testing"

func BenchmarkDraw(b *testing.B) {
	for _, c := range []struct {
		name string
		draw func(*Stream) float64
	}{
		{"Uniform", (*Stream).Uniform},
		{"Normal", (*Stream).Normal},
		{"Cauchy", (*Stream).Cauchy},
		{"Laplace", (*Stream).Laplace},
		{"Gamma", func(s *Stream) float64 { return s.Gamma(1.5) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := New(1, PurposeOf("benchmark"), 0)
			var sum float64
			for b.Loop() {
				sum += c.draw(s)
			}
			if sum != sum {
				b.Fatal("NaN")
			}
		})
	}
}

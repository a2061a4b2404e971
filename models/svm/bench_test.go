package svm

import (
	"fmt"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/loss"
)

// fourierRows are random Fourier features of points about ten centres, which are
// the classes.
func fourierRows(b *testing.B, n, d int) iterative.Block {
	const in, k = 20, 10
	points := sample(n, in, k, false).learn
	for i := range n {
		c := i % k
		points.Y[i] = float32(c)
		points.Phi[i*in+c] += 0.6
	}
	m, err := fourier.Gaussian{In: in, Out: d, Width: 2, Seed: 1}.New()
	if err != nil {
		b.Fatal(err)
	}
	phi := make([]float32, n*d)
	m.Apply(phi, points.Phi, n)
	return iterative.Block{N: n, D: d, Phi: phi, Y: points.Y}
}

// BenchmarkRound measures a first round, and a round in which most rows no longer change.
func BenchmarkRound(b *testing.B) {
	const n = 10_000
	for _, d := range []int{1024, 4096} {
		rows := fourierRows(b, n, d)
		for _, name := range []string{"hinge", "squared_hinge", "logistic"} {
			for _, before := range []int{0, 5} {
				b.Run(fmt.Sprintf("%s/d=%d/round=%d", name, d, before), func(b *testing.B) {
					o := options{Problem: loss.Problem{Loss: name, Outputs: 10, Dim: d, Rows: n, Lambda: 1e-5}, Bias: 1, Partitions: 1,
						Passes: 1, Seed: 1}
					r := start(b, o, data{learn: rows}.blocks(1, 1024))
					for range before {
						r.round(b)
					}
					state, own := r.state, r.carried[0]
					for b.Loop() {
						r.state, r.carried[0] = state, own
						r.round(b)
					}
					b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
				})
			}
		}
	}
}

// BenchmarkRoundsToAGap reports rounds to a gap, relative to the objective, by the number of partitions. By
// the theory of CoCoA+ (Ma et al. 2015) rounds are at most proportional to σ', and
// momentum should leave its root. One partition is an exception: it solves the
// problem itself, and needs rounds only as far as its window is left too soon.
//
//	go test ./models/svm -run xxx -bench RoundsToAGap -benchtime 1x
func BenchmarkRoundsToAGap(b *testing.B) {
	const n, d, most = 10_000, 512, 1000
	rows := fourierRows(b, n, d)
	for _, name := range []string{"hinge", "squared_hinge", "logistic"} {
		for _, partitions := range []int{1, 2, 4, 8, 16, 64} {
			b.Run(fmt.Sprintf("%s/partitions=%d", name, partitions), func(b *testing.B) {
				o := options{
					Problem: loss.Problem{Loss: name, Outputs: 10, Dim: d, Rows: n, Lambda: 1e-5},
					Bias:    1, Partitions: partitions, Seed: 1,
				}
				for b.Loop() {
					r := start(b, o, data{learn: rows}.blocks(partitions, 1024))
					gap := 1.0
					for i, goal := 0, 0.1; i <= most && goal > 5e-4; i++ {
						rep := r.round(b)
						gap, _ = rep.Gap()
						for gap <= goal*rep.Objective && goal > 5e-4 {
							b.ReportMetric(float64(i), fmt.Sprintf("rounds/%.0e", goal))
							goal /= 10
						}
					}
				}
			})
		}
	}
}

package learner

import (
	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/rounds"
)

// SampleValues limits the features of a sample: 64 Mi, 256 MB.
const SampleValues = 64 << 20

// SampleSpread returns the grid by which targets are scaled, from a sample of rows whose
// last column is the target as a fraction of span.
func SampleSpread(sum *profile.Sum, span linear.TargetGrid) *linear.TargetGrid {
	x, n, width := sum.Sample()
	targets := make([]float32, n)
	for i := range targets {
		targets[i] = x[(i+1)*width-1]
	}
	return linear.SpreadGrid(targets, span)
}

// SampleFeatures maps a sample of rows whose last column is the label to features. Unless
// to is nil, labels are targets scaled by from, and are scaled by to instead.
func SampleFeatures(sum *profile.Sum, m features.Map, from, to *linear.TargetGrid) rounds.Block {
	x, n, width := sum.Sample()
	_, dim := m.Dims()
	n = min(n, max(1, SampleValues/dim))
	b := rounds.Block{N: n, D: dim, Phi: make([]float32, n*dim), Y: make([]float32, n)}
	for i := range n {
		row := x[i*width : (i+1)*width]
		m.Apply(b.Phi[i*dim:], row[:width-1], 1)
		if b.Y[i] = row[width-1]; to != nil {
			b.Y[i] = to.Scaled(from.Unscaled(row[width-1]))
		}
	}
	return b
}

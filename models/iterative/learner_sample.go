package iterative

import (
	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/safetensors"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
)

// SampleRows returns the size of a small sample: a thousand rows, with at most 256 MB of features.
func SampleRows(features int) int { return max(1, min(1000, (64<<20)/features)) }

// SampleSpread returns the grid that scales targets, from a sample of rows whose last column is the target
// on the grid span.
func SampleSpread(sum *profile.Sum, span linear.TargetGrid) *linear.TargetGrid {
	x, n, width := sum.Sample()
	targets := make([]float32, n)
	for i := range targets {
		targets[i] = x[(i+1)*width-1]
	}
	return linear.SpreadGrid(targets, span)
}

// SampleFeatures returns the features of at most most rows of a sample, whose last column is the label.
// Unless to is nil, labels are targets, which are converted from the grid from to the grid to.
func SampleFeatures(sum *profile.Sum, m features.Map, from, to *linear.TargetGrid, most int) Block {
	x, n, width := sum.Sample()
	_, dim := m.Dims()
	n = min(n, most)
	b := Block{N: n, D: dim, Phi: make([]float32, n*dim), Y: make([]float32, n)}
	for i := range n {
		row := x[i*width : (i+1)*width]
		m.Apply(b.Phi[i*dim:], row[:width-1], 1)
		b.Y[i] = row[width-1]
		if to != nil {
			b.Y[i] = to.Scaled(from.Unscaled(row[width-1]))
		}
	}
	return b
}

// EncodeSample returns a file with the features of a sample, as an n×D array "features".
func EncodeSample(b Block) []byte {
	return safetensors.Encode(nil, safetensors.Of("features", b.Phi[:b.N*b.D], b.N, b.D))
}

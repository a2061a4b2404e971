package survey

import (
	"context"

	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/transforms"
)

func init() { transforms.RegisterSum[preprocess.LabelSums](beginTargets) }

// Targets is a pass that sums the labels of training rows, or counts the rows, for each level of each
// category. The encodings "target" and "count" use the result. The pass must have a Target. Its sum is
// preprocess.LabelSums.
type Targets struct {
	transforms.Pass
	CrossFit   preprocess.CrossFit   `json:"cross_fit"`
	Categories []preprocess.Category `json:"categories"`
	Weights    *profile.WeightGrid   `json:"weights,omitempty"` // of rows; nil if they have none
	Counts     bool                  `json:"counts,omitempty"`  // count rows, whatever their labels
}

// Empty returns the sums of no rows. It returns an error if they would take too much memory.
func (p *Targets) Empty() (*preprocess.LabelSums, error) {
	classes := 0
	if p.Target.Classes != nil && !p.Counts {
		classes = len(p.Target.Classes.Classes)
	}
	t, err := preprocess.NewLabelSums(p.CrossFit, classes, p.Categories)
	if err != nil {
		return nil, err
	}
	if p.Weights != nil {
		t.Unit = p.Weights.Unit
	}
	return t, nil
}

// beginTargets sums labels by the levels of categories.
func beginTargets(_ context.Context, _ *transforms.Reader, p *Targets) (transforms.Accumulator, error) {
	sum, err := p.Empty()
	if err != nil {
		return transforms.Accumulator{}, err
	}
	assigner := p.Assigner()
	var hashes []uint64
	var weights []int64
	return transforms.Accumulator{Sum: sum, Label: p.Target.Label(),
		Add: func(at profile.ShardStart, b *rowio.Block) (err error) {
			if hashes, err = assigner.Hashes(hashes[:0], at, b); err != nil {
				return err
			}
			if p.Weights != nil {
				weights = p.Weights.AppendWeights(weights[:0], b, 0, b.N)
			}
			for i, h := range hashes {
				label, w := 0, int64(1)
				if p.Weights != nil {
					w = weights[i]
				}
				switch grid := p.Target.Grid; {
				case p.Counts: // whatever the label
				case grid != nil:
					label = int(grid[0].Quantize(b.Y[i]))
				default:
					label = int(b.Y[i])
				}
				sum.Add(b.Row(i), h, label, w)
			}
			return nil
		}}, nil
}

package scoring

import (
	"math"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/paired"
	"github.com/bochner-ml/bochner/models/score"
)

// reliabilityBins is the number of bins that Score sorts probabilities into.
const reliabilityBins = 10

// ClassScores is the result of Score for a classifier. Its sums are exact.
type ClassScores struct {
	Hits score.Classes
	// Weighted counts rows by their weights; nil if they have none. If it is not nil, Ranking,
	// Slices and Probabilities are weighted, too.
	Weighted *score.Classes
	Ranking  score.Ranking
	Unseen   schema.LabelCounts // labels that are not classes of the model
	Slices   []score.Slices     // of the columns of Score.Slices
	Groups   []paired.Sum       // errors by groups; one sum, nil without groups
	// Probabilities of rows whose scores are finite; nil for a model without probabilities.
	Probabilities *score.Reliability
	Worst         *score.Worst     // nil if none were asked for
	Coverage      []score.Coverage // one element, the coverage of the sets; nil without sets
}

// add adds rows with their labels and the model's output for them. Labels below 0 are not
// classes of the model, and text returns their text. Each row counts as often as repeats says.
func (c *ClassScores) add(y []float64, output models.Applied, text func(float64) string, repeats []int64) error {
	truth := make([]int32, len(y))
	for i, y := range y {
		truth[i] = int32(y)
		if y < 0 {
			truth[i] = score.Unseen
			c.Unseen.Add([]byte(text(y)))
		}
		c.Hits.Add(int(truth[i]), int(output.Classes[i]), 1)
		if c.Weighted != nil {
			c.Weighted.Add(int(truth[i]), int(output.Classes[i]), repeats[i])
		}
	}
	order := output.Probabilities
	if order == nil {
		order = output.Scores
	}
	k := len(output.Scores) / max(len(y), 1)
	for i, t := range truth {
		c.Ranking.Add(int(t), output.Scores[i*k:(i+1)*k], order[i*k:(i+1)*k], repeats[i])
	}
	if c.Probabilities == nil {
		return nil
	}
	for i := range y {
		if !exact.AllFinite(output.Scores[i*k : (i+1)*k]) {
			continue
		}
		if err := c.Probabilities.Add(output.Probabilities[i*k:(i+1)*k], int(truth[i]), int(output.Likeliest[i]),
			repeats[i]); err != nil {
			return err
		}
	}
	return nil
}

// addWorst adds the rows of a block to the worst ones. They are ranked by log loss or, without probabilities, by
// the margin by which the score of another class is larger. Rows of unseen classes are left out.
func (c *ClassScores) addWorst(b *rowio.Block, output models.Applied) {
	k := len(output.Scores) / max(b.N, 1)
	for i, y := range b.Y {
		if y < 0 {
			continue
		}
		class, loss := int(y), 0.0
		if output.Probabilities != nil {
			loss = -math.Log(max(float64(output.Probabilities[i*k+class]), score.MinProbability))
		} else {
			loss = float64(output.Scores[i*k+int(output.Classes[i])]) - float64(output.Scores[i*k+class])
		}
		c.Worst.Add(loss, y, float64(output.Classes[i]), b.Row(i))
	}
}

// slice adds the rows of a block to the slices of a column.
func (c *ClassScores) slice(column int, b *rowio.Block, output models.Applied, by *sliced, repeats []int64) {
	k := len(output.Scores) / max(b.N, 1)
	for i, y := range b.Y {
		truth, probabilities := int(y), []float32(nil)
		if y < 0 {
			truth = score.Unseen
		}
		if output.Probabilities != nil {
			probabilities = output.Probabilities[i*k : (i+1)*k]
		}
		c.Slices[column].AddClass(by.text(column, b, i), truth, int(output.Classes[i]), output.Scores[i*k:(i+1)*k],
			probabilities, repeats[i])
	}
}

// Merge adds the rows of d, which must be scores of the same model and columns.
func (c *ClassScores) Merge(d *ClassScores) { wire.Merge(c, d) }

// Code codes the hits, the weighted hits, the ranking, the slices, the unknown labels, and the
// probabilities.
func (c *ClassScores) Code(w *wire.Coder) {
	c.Hits.Code(w)
	wire.Optional(w, &c.Weighted, func(weighted *score.Classes) {
		weighted.Code(w)
		w.Check(weighted.Like(&c.Hits))
	})
	c.Ranking.Code(w)
	wire.All(w, &c.Slices, math.MaxInt32)
	wire.All(w, &c.Groups, 1)
	c.Unseen.Code(w)
	wire.Optional(w, &c.Probabilities, func(r *score.Reliability) { r.Code(w) })
	wire.Optional(w, &c.Worst, func(r *score.Worst) { r.Code(w) })
	wire.All(w, &c.Coverage, 1)
}

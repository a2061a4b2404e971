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

// add adds the rows of a block with the model's output for them. Labels below 0 are not classes of the model, and
// text returns their text. Each row counts as often as repeats says.
func (c *ClassScores) add(b *rowio.Block, output models.Applied, text func(float64) string, by *sliced,
	repeats []int64) error {
	k := len(output.Scores) / max(b.N, 1)
	for i, y := range b.Y {
		scores, truth, class, n := output.Scores[i*k:(i+1)*k], int(y), int(output.Classes[i]), repeats[i]
		var probabilities []float32
		order := scores
		if output.Probabilities != nil {
			probabilities = output.Probabilities[i*k : (i+1)*k]
			order = probabilities
		}
		if y < 0 {
			truth = score.Unseen
			c.Unseen.Add([]byte(text(y)))
		}
		c.Hits.Add(truth, class, 1)
		if c.Weighted != nil {
			c.Weighted.Add(truth, class, n)
		}
		c.Ranking.Add(truth, scores, order, n)
		for g := range c.Groups {
			wrong := 0.0
			if class != truth {
				wrong = 1
			}
			c.Groups[g].Add(groupOf(b, i), n, []float64{0}, []float64{wrong})
		}
		for column := range by.columns {
			c.Slices[column].AddClass(by.text(column, b, i), truth, class, scores, probabilities, n)
		}
		if c.Worst != nil && y >= 0 {
			c.Worst.Add(badness(scores, probabilities, truth, class), y, float64(class), b.Row(i))
		}
		if c.Probabilities != nil && exact.AllFinite(scores) {
			if err := c.Probabilities.Add(probabilities, truth, int(output.Likeliest[i]), n); err != nil {
				return err
			}
		}
	}
	return nil
}

// badness ranks the worst rows: by log loss or, without probabilities, by the margin by which the score of the
// predicted class is larger than the true one's.
func badness(scores, probabilities []float32, truth, class int) float64 {
	if probabilities != nil {
		return -math.Log(max(float64(probabilities[truth]), score.MinProbability))
	}
	return float64(scores[class]) - float64(scores[truth])
}

// Code implements wire.Coded.
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

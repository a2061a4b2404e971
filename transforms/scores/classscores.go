package scores

import (
	"encoding/binary"
	"errors"

	"github.com/bochner-ml/bochner/io/labels"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/calibrate"
	"github.com/bochner-ml/bochner/models/score"
)

// reliabilityBins is the number of bins that Score sorts probabilities into.
const reliabilityBins = 10

// ClassScores is the result of Score for a classifier. Its sums are exact.
type ClassScores struct {
	Hits score.Classes
	// Weighted counts rows as often as their weights say, as Ranking, Slices and
	// Probabilities do then; nil if they have none.
	Weighted *score.Classes
	Ranking  score.Ranking
	Unseen   labels.Counts  // labels that are not classes of the model
	Slices   []score.Slices // of the columns of Score.Slices
	// Probabilities of rows whose scores are finite; nil for a model without probabilities.
	Probabilities *calibrate.Reliability
}

// add adds rows with their labels and the model's output for them. Labels below 0 are not
// classes of the model, and text returns their text. Each row counts as often as repeats says.
func (c *ClassScores) add(y []float64, said models.Applied, text func(float64) string, repeats []int64) error {
	truth := make([]int32, len(y))
	for i, y := range y {
		truth[i] = int32(y)
		if y < 0 {
			truth[i] = score.Unseen
			c.Unseen.Add([]byte(text(y)))
		}
		c.Hits.Add(int(truth[i]), int(said.Classes[i]))
		if c.Weighted != nil {
			c.Weighted.AddRows(int(truth[i]), int(said.Classes[i]), repeats[i])
		}
	}
	order := said.Probabilities
	if order == nil {
		order = said.Scores
	}
	k := len(said.Scores) / max(len(y), 1)
	for i, t := range truth {
		c.Ranking.AddRows(int(t), said.Scores[i*k:(i+1)*k], order[i*k:(i+1)*k], repeats[i])
	}
	if c.Probabilities == nil {
		return nil
	}
	for i := range y {
		if !models.Finite(said.Scores[i*k : (i+1)*k]) {
			continue
		}
		if err := c.Probabilities.AddRows(said.Probabilities[i*k:(i+1)*k], truth[i:i+1], said.Likeliest[i:i+1], repeats[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// slice adds the rows of a block to the slices of a column.
func (c *ClassScores) slice(column int, b *rows.Block, said models.Applied, by *sliced, repeats []int64) {
	k := len(said.Scores) / max(b.N, 1)
	for i, y := range b.Y {
		truth, probabilities := int(y), []float32(nil)
		if y < 0 {
			truth = score.Unseen
		}
		if said.Probabilities != nil {
			probabilities = said.Probabilities[i*k : (i+1)*k]
		}
		c.Slices[column].AddClass(by.text(column, b, i), truth, int(said.Classes[i]), said.Scores[i*k:(i+1)*k], probabilities, repeats[i])
	}
}

// Merge adds the rows of d, scores of the same model and columns.
func (c *ClassScores) Merge(d *ClassScores) {
	c.Hits.Merge(&d.Hits)
	if c.Weighted != nil {
		c.Weighted.Merge(d.Weighted)
	}
	c.Ranking.Merge(&d.Ranking)
	mergeSlices(c.Slices, d.Slices)
	c.Unseen.Merge(&d.Unseen)
	if c.Probabilities != nil {
		c.Probabilities.Merge(d.Probabilities)
	}
}

// MarshalBinary writes the length of the encoded hits (uint32, little-endian), the hits, the
// same of the weighted hits, of length 0 if there are none, the ranking, the slices, the
// unknown labels, and the probabilities, if there are any.
func (c *ClassScores) MarshalBinary() ([]byte, error) {
	hits, err := c.Hits.MarshalBinary()
	if err != nil {
		return nil, err
	}
	b := append(binary.LittleEndian.AppendUint32(nil, uint32(len(hits))), hits...)
	var weighted []byte
	if c.Weighted != nil {
		if weighted, err = c.Weighted.MarshalBinary(); err != nil {
			return nil, err
		}
	}
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(weighted))), weighted...)
	b, _ = c.Ranking.AppendBinary(b)
	b = appendSlices(b, c.Slices)
	if b, err = c.Unseen.AppendBinary(b); err != nil || c.Probabilities == nil {
		return b, err
	}
	probabilities, err := c.Probabilities.MarshalBinary()
	return append(b, probabilities...), err
}

// UnmarshalBinary reads what MarshalBinary writes.
func (c *ClassScores) UnmarshalBinary(b []byte) error {
	var d ClassScores
	hits, b, ok := measured(b)
	if !ok {
		return errDamaged
	}
	if err := d.Hits.UnmarshalBinary(hits); err != nil {
		return err
	}
	weighted, b, ok := measured(b)
	if !ok {
		return errDamaged
	}
	if len(weighted) > 0 {
		d.Weighted = new(score.Classes)
		if err := d.Weighted.UnmarshalBinary(weighted); err != nil {
			return err
		}
		if !d.Weighted.Like(&d.Hits) {
			return errDamaged
		}
	}
	rest, err := d.Ranking.Decode(b)
	if err != nil {
		return err
	}
	if d.Slices, rest, err = decodeSlices(rest); err != nil {
		return err
	}
	if rest, err = d.Unseen.Decode(rest); err != nil {
		return err
	}
	if len(rest) > 0 {
		d.Probabilities = new(calibrate.Reliability)
		if err := d.Probabilities.UnmarshalBinary(rest); err != nil {
			return err
		}
	}
	*c = d
	return nil
}

var errDamaged = errors.New("scores: class scores are damaged")

// measured returns the bytes at the beginning of b that follow their number (uint32,
// little-endian), and the rest.
func measured(b []byte) (part, rest []byte, ok bool) {
	if len(b) < 4 || uint64(len(b)-4) < uint64(binary.LittleEndian.Uint32(b)) {
		return nil, nil, false
	}
	n := 4 + int(binary.LittleEndian.Uint32(b))
	return b[4:n], b[n:], true
}

package shapley

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/features/stream"
	"github.com/bochner-ml/bochner/internal/exact"
)

const (
	// maxDraws is the largest number of background rows from which Sampled starts, with two orders each.
	// Above 128 columns there are fewer, but at least leastDraws: maxSteps bounds rows times columns.
	maxDraws   = 64
	leastDraws = 4
	maxSteps   = maxDraws * 128
	// maxSampled is the largest number of columns for Sampled: a colour image of 32×32 pixels.
	maxSampled = 3072
)

var (
	drawnRow   = stream.PurposeOf("shapley/row")
	drawnOrder = stream.PurposeOf("shapley/order")
)

// Sampled estimates effects on any score. Starting from a row of the background, columns take the values of
// the explained row one by one, in a random order and then in its reverse (Castro, Gómez and Tejada 2009;
// Mitchell et al. 2022). The effect of a column is the mean change of the score when it changes. Effects
// sum exactly to the score minus the base, the mean score of these background rows.
type Sampled struct {
	columns []Column
	dim     int
	rows    []float32 // the background rows
	orders  [][]int
	scores  []float64 // k scores for each of them
	base    []float64
	scorers sync.Pool // of Scorer
}

// Scorer returns the k scores of each of n rows of x. The result is valid until the next call. A Scorer may change x.
type Scorer func(x []float32, n int) []float32

// NewSampled returns a Sampled for rows of dim numbers with k scores. newScorer makes a Scorer, of which each
// concurrent call of Effects uses one.
func NewSampled(columns []Column, background []Distribution, dim, k int, seed uint64,
	newScorer func() Scorer) (*Sampled, error) {
	if len(columns) > maxSampled {
		return nil, fmt.Errorf("shapley: effects on these features are sampled, for at most %d columns; the rows have %d",
			maxSampled, len(columns))
	}
	draws := max(leastDraws, min(maxDraws, maxSteps/max(1, len(columns))))
	s := &Sampled{columns: columns, dim: dim, rows: make([]float32, draws*dim), base: make([]float64, k)}
	s.scorers.New = func() any { return newScorer() }
	for i := range draws {
		random := stream.New(seed, drawnRow, uint64(i))
		for g, c := range columns {
			u, v, at := random.Uniform(), background[g], 0
			for at < len(v.P)-1 && u > v.P[at] {
				u -= v.P[at]
				at++
			}
			copy(s.rows[i*dim+c.From:i*dim+c.To], v.X[at*(c.To-c.From):])
		}
		random = stream.New(seed, drawnOrder, uint64(i))
		order := make([]int, len(columns))
		for g := range order {
			j := int(random.Below(uint64(g + 1)))
			order[g] = order[j]
			order[j] = g
		}
		s.orders = append(s.orders, order)
	}
	for i, v := range newScorer()(slices.Clone(s.rows), draws) {
		if !exact.Finite(v) {
			return nil, errors.New("shapley: scores of training values are not finite")
		}
		s.scores = append(s.scores, float64(v))
		s.base[i%k] += float64(v) / float64(draws)
	}
	return s, nil
}

// walk stores in path the rows on the way from background row i to x, in which one column after another, in the given
// order, is taken from x. The last row is x itself.
func (s *Sampled) walk(path []float32, i int, order []int, x []float32) {
	for j := range order {
		to := path[j*s.dim : (j+1)*s.dim]
		copy(to, s.rows[i*s.dim:(i+1)*s.dim])
		for _, g := range order[:j+1] {
			c := s.columns[g]
			copy(to[c.From:c.To], x[c.From:c.To])
		}
	}
}

// Base returns the base of a score.
func (s *Sampled) Base(score Score) float64 { return sum(score, s.base) }

// Effects implements Explainer.
func (s *Sampled) Effects(dst []float64, x, outputs []float32, scores []Score) (stdErr float64) {
	scorer := s.scorers.Get().(Scorer)
	defer s.scorers.Put(scorer)
	columns, k, draws := len(s.columns), len(s.base), float64(len(s.orders))
	x = slices.Clone(x)
	squares, pair := make([]float64, len(dst)), make([]float64, len(dst))
	clear(dst)
	path, along := make([]float32, columns*s.dim), make([]float64, (columns+1)*k)
	for o, v := range outputs {
		along[columns*k+o] = float64(v)
	}
	for i, order := range s.orders {
		clear(pair)
		copy(along, s.scores[i*k:(i+1)*k])
		for range 2 {
			s.walk(path, i, order, x)
			for o, v := range scorer(path, columns-1) {
				along[k+o] = float64(v)
			}
			for n, score := range scores {
				before := sum(score, along[:k])
				for j, g := range order {
					now := sum(score, along[(j+1)*k:(j+2)*k])
					pair[n*columns+g] += (now - before) / 2
					before = now
				}
			}
			order = slices.Clone(order)
			slices.Reverse(order)
		}
		for j, v := range pair {
			dst[j] += v / draws
			squares[j] += float64(v * v)
		}
	}
	for j, v := range dst {
		variance := (squares[j]/draws - float64(v*v)) / (draws - 1)
		stdErr = max(stdErr, math.Sqrt(max(variance, 0)))
	}
	return stdErr
}

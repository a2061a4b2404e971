package shapley

import (
	"github.com/bochner-ml/bochner/features"
	fitted "github.com/bochner-ml/bochner/models/linear"
)

// additive are features that each depend on one column.
type additive struct {
	model *fitted.Model
	first int
	m     features.Map
	of    []int     // the column of each feature
	mean  []float64 // of each feature, over the background
}

func newAdditive(p part, steps []features.Recipe, of []int, base []float64) (*additive, error) {
	m, err := (features.Chain{Steps: steps}).New()
	if err != nil {
		return nil, err
	}
	a := &additive{model: p.model, first: p.first, m: m, of: of, mean: make([]float64, len(of))}
	numbers := numbersOf(of, len(p.columns))
	eachValue(p, m, func(g int, chance float64, phi []float32) {
		for _, j := range numbers[g] {
			a.mean[j] += float64(chance * float64(phi[j]))
		}
	})
	for k := range base {
		for j, v := range a.mean {
			base[k] += float64(v * a.weight(k, j))
		}
	}
	return a, nil
}

// numbersOf returns the indices of the numbers of each column, given the column of each number.
func numbersOf(of []int, columns int) [][]int {
	numbers := make([][]int, columns)
	for j, g := range of {
		numbers[g] = append(numbers[g], j)
	}
	return numbers
}

// eachValue calls f for each value of each column in the background, with its probability and the features
// that m gives a row whose other columns are 0.
func eachValue(p part, m features.Map, f func(g int, chance float64, y []float32)) {
	in, out := m.Dims()
	x, y := make([]float32, in), make([]float32, out)
	for g, c := range p.columns {
		n := c.To - c.From
		for i, chance := range p.background[g].P {
			copy(x[c.From:c.To], p.background[g].X[i*n:])
			m.Apply(y, x, 1)
			f(g, chance, y)
		}
		clear(x[c.From:c.To])
	}
}

func (a *additive) weight(output, feature int) float64 {
	return float64(a.model.W[output*a.model.D+a.first+feature])
}

func (a *additive) effects(dst []float64, x []float32, scores []Score, s *scratch) {
	s.y = grow(s.y, len(a.of))
	a.m.Apply(s.y, x, 1)
	columns := len(dst) / len(scores)
	for i, score := range scores {
		to := dst[i*columns : (i+1)*columns]
		for _, t := range score {
			for j, g := range a.of {
				if d := float64(s.y[j]) - a.mean[j]; d != 0 {
					to[g] += float64(float64(t.Factor*a.weight(t.Output, j)) * d)
				}
			}
		}
	}
}

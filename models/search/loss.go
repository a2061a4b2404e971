package search

import (
	"math"

	"github.com/bochner-ml/bochner/models/loss"
)

// factors are the multiples of scores that are tried in the softmax; see package score.
var factors = [...]float64{0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}

// judged has the losses of a fit on rows that it was not fitted to.
type judged struct {
	loss   []float64 // of each row times its weight
	weight float64   // of the rows
	wrong  float64   // weight of the rows with another class
}

// mean returns the weighted mean loss, +Inf without rows.
func (j *judged) mean() float64 {
	if len(j.loss) == 0 {
		return math.Inf(1)
	}
	var sum float64
	for _, v := range j.loss {
		sum += v
	}
	return sum / j.weight
}

// add adds the rows of another part.
func (j *judged) add(k *judged) {
	j.loss = append(j.loss, k.loss...)
	j.weight += k.weight
	j.wrong += k.wrong
}

// judge returns the losses of rows with those scores (row-major, one per output): squared errors of targets as
// fractions of their range, or log losses of classes with the best of the factors.
func (l *labels) judge(rows []int, scores []float32) *judged {
	j := &judged{loss: make([]float64, len(rows))}
	for _, i := range rows {
		j.weight += l.weight(i)
	}
	if l.grid != nil {
		for at, i := range rows {
			e := float64(scores[at]) - float64(l.scaled[i])
			j.loss[at] = float64(l.weight(i) * float64(e*e))
		}
		return j
	}
	k := l.outputs
	for at, i := range rows {
		row, best := scores[at*k:(at+1)*k], 0
		for c, s := range row {
			if s > row[best] {
				best = c
			}
		}
		if best != int(l.y[i]) {
			j.wrong += l.weight(i)
		}
	}
	least := math.Inf(1)
	losses := make([]float64, len(rows))
	for _, beta := range factors {
		var sum float64
		for at, i := range rows {
			losses[at] = float64(l.weight(i) * logLoss(scores[at*k:(at+1)*k], int(l.y[i]), beta))
			sum += losses[at]
		}
		if sum < least {
			least = sum
			copy(j.loss, losses)
		} else if sum > 2*least {
			break // convex in the factor
		}
	}
	if math.IsInf(least, 1) { // scores are not finite
		for at := range j.loss {
			j.loss[at] = math.Inf(1)
		}
	}
	return j
}

// logLoss returns −log p of the class, where p is the softmax of the scores times beta.
func logLoss(scores []float32, class int, beta float64) float64 {
	most := float64(scores[0])
	for _, s := range scores {
		most = max(most, float64(s))
	}
	return loss.Log(loss.SumExp(scores, most, beta)) - float64(beta*(float64(scores[class])-most))
}

// worse returns the mean loss of a minus the mean loss of b, for the same judged rows, and the standard error of
// the difference.
func worse(a, b *judged) (by, se float64) {
	n := float64(len(a.loss))
	var sum, squares float64
	for i, v := range a.loss {
		d := v - b.loss[i]
		sum += d
		squares += float64(d * d)
	}
	mean := sum / n
	variance := max(0, squares/n-float64(mean*mean))
	return sum / a.weight, math.Sqrt(variance/max(1, n-1)) * n / a.weight
}

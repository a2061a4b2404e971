package onnx

import (
	"math"
	"strconv"

	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
)

// scores adds the scores, given the features phi of the rows x.
func (g *Graph) scores(m *models.Model, phi, x string) string {
	l, s := m.Linear, m.Manifest.Segments
	all := g.product(phi, constant(g, l.W, l.K, l.D), l.B)
	if s == nil {
		return all
	}
	values := make([]float32, len(s.Of))
	w, b := make([]float32, 0, len(s.Of)*l.K*l.D), make([]float32, 0, len(s.Of)*l.K)
	for i, model := range s.Models() {
		values[i] = s.Of[i].Value
		w, b = append(w, model.W...), append(b, model.B...)
	}
	scores := g.product(phi, constant(g, w, len(b), l.D), b)
	scores = g.reshape(scores, -1, len(values), l.K)
	equal := g.op("Equal", g.columns(x, []int64{int64(s.Slot)}), row(g, values))
	three := g.op("Unsqueeze", equal, constant(g, []int64{2}, 1))
	zero := g.float(0)
	scores = g.op("Where", three, scores, zero)
	scores = g.add("ReduceSum", attrs{"keepdims": int64(0)}, scores, constant(g, []int64{1}, 1))
	anyScore := g.op("Greater", g.sum(g.cast(equal, Float)), zero)
	return g.op("Where", anyScore, scores, all)
}

// targets adds the predictions of a regression, or the coordinates of an embedding.
func (g *Graph) targets(m *models.Model, scores string) {
	names := m.Outputs()
	if m.Embeds() {
		g.each(scores, Value{Name: "coordinates", Type: Float}, names)
		return
	}
	var middle, half []float64
	for _, grid := range m.Manifest.TargetGrid {
		middle, half = append(middle, grid.Mid()), append(half, grid.Half())
	}
	y := g.op("Mul", g.cast(scores, Double), row(g, half))
	y = g.op("Add", y, row(g, middle))
	v := Value{Name: "prediction", Type: Double}
	if len(names) == 1 {
		names = []string{v.Name}
	} else {
		names = prefixed("prediction_", names)
	}
	g.each(y, v, names)
}

func prefixed(prefix string, names []string) (out []string) {
	for _, name := range names {
		out = append(out, prefix+name)
	}
	return out
}

// classify adds the class, probabilities and scores.
func (g *Graph) classify(m *models.Model, scores string) (err error) {
	man := m.Manifest
	var p, chosen string
	if man.Probabilities != nil {
		if p, err = g.probabilities(man.Probabilities, scores, len(man.Vocabulary.Classes)); err != nil {
			return err
		}
	}
	if t := man.Threshold; t != nil {
		chosen = g.decide(m, scores, p)
	} else {
		chosen = g.largest(man.Probabilities, scores, p)
	}
	number := g.int(0)
	flat := func(x string) string { return g.add("Gather", attrs{"axis": int64(1)}, x, number) }
	refused := flat(g.op("IsNaN", g.sum(g.op("Sub", scores, scores))))
	classes := man.Vocabulary.Classes
	label := Value{Name: "label", Type: String, About: "class"}
	if g.byColumn {
		label.Name = "prediction"
	}
	names, none := "", ""
	if numbers, ok := whole64(classes, man.Vocabulary.Numeric); ok {
		label.Type = Int64
		names, none = constant(g, numbers, len(numbers)), g.int(math.MinInt64)
	} else {
		names, none = g.texts(classes), g.texts([]string{""})
	}
	g.output(g.op("Where", refused, none, g.op("Gather", names, chosen)), label)
	if p != "" {
		g.each(p, Value{Name: "probabilities", Type: Float, About: "probability of each class"},
			prefixed("probability_", classes))
	}
	g.each(scores, Value{Name: "scores", Type: Float, About: "score of each class"}, prefixed("score_", classes))
	return nil
}

// whole64 returns the classes as integers if all are integers.
func whole64(classes []string, numeric bool) (numbers []int64, ok bool) {
	for _, c := range classes {
		v, err := strconv.ParseInt(c, 10, 64)
		if err != nil {
			return nil, false
		}
		numbers = append(numbers, v)
	}
	return numbers, numeric
}

// probabilities adds the probability of each class, computed in float64 and rounded.
func (g *Graph) probabilities(p *models.Probabilities, scores string, k int) (string, error) {
	s := g.cast(scores, Double)
	switch p.Kind {
	case models.Softmax:
		top := g.add("ReduceMax", attrs{"axes": []int64{1}}, s)
		s = g.unweighted(g.op("Exp", g.op("Sub", s, top)), p.Weights)
	case models.Logistic:
		s = g.unweighted(g.op("Sigmoid", s), p.Weights)
	case score.Platt:
		slope, offset := make([]float64, k), make([]float64, k)
		for c := range p.Curves {
			slope[c], offset[c] = p.Curves[c].Slope, p.Curves[c].Offset
		}
		s = g.op("Sigmoid", g.op("Add", g.op("Mul", s, row(g, slope)), row(g, offset)))
	case score.Isotonic:
		columns := make([]string, k)
		for c := range p.Curves {
			columns[c] = g.lines(g.columns(s, []int64{int64(c)}), p.Curves[c].Score, p.Curves[c].Probability)
		}
		s = g.concat(columns...)
	default:
		return "", unsupportedf("probabilities of the kind %s", p.Kind)
	}
	sum := g.sum(s)
	none := g.op("Equal", sum, g.double(0))
	s = g.op("Where", none, g.double(1/float64(k)), g.op("Div", s, sum))
	return g.cast(s, Float), nil
}

// unweighted divides p by the weights of the classes in the loss, if there are any.
func (g *Graph) unweighted(p string, weights []float64) string {
	if weights == nil {
		return p
	}
	return g.op("Div", p, row(g, weights))
}

// decide adds the index of the class, by the threshold if there is one.
func (g *Graph) decide(m *models.Model, scores, p string) string {
	positive := int64(m.Manifest.PositiveClass())
	value := ""
	if p != "" {
		value = g.pick(p, positive)
	} else {
		halves := g.op("Mul", g.cast(scores, Double), g.double(0.5))
		value = g.cast(g.op("Sub", g.pick(halves, positive), g.pick(halves, 1-positive)), Float)
	}
	enough := g.op("GreaterOrEqual", value, g.float(m.Manifest.Threshold.Value))
	return g.op("Where", enough, g.int(positive), g.int(1-positive))
}

// largest adds the index of the class with the largest probability; of several, the one with the largest
// score. Without probabilities the largest score decides.
func (g *Graph) largest(by *models.Probabilities, scores, p string) string {
	if p != "" {
		value := g.cast(p, Double)
		if by.Weights != nil {
			value = g.op("Mul", value, row(g, by.Weights))
		}
		most := g.op("Equal", value, g.add("ReduceMax", attrs{"axes": []int64{1}}, value))
		scores = g.op("Where", most, scores, g.float(float32(math.Inf(-1))))
	}
	return g.add("ArgMax", attrs{"axis": int64(1), "keepdims": int64(0)}, scores)
}

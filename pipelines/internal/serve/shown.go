package serve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// shownAnswer holds the data to show a prediction on the page.
type shownAnswer struct {
	What  string // name of the prediction
	Value string
	Bars  []bar
	Facts []fact        // how certain it is
	Why   []explanation // one for each explained output
}

// bar is a number with a horizontal bar.
type bar struct {
	Name, Value string
	Note        string
	At, Percent float64 // place and length of the bar
	Chosen      bool
	Down        bool // the number is negative
}

// fact is a name with a value.
type fact struct{ Name, Value, Note string }

// explanation divides a score among the columns.
type explanation struct {
	Title       string
	Total       string // name of the score
	Base, Score string
	Effects     []bar
	StdErr      string // standard error of sampled effects
}

const (
	maxBars             = 20
	maxEffects          = 10 // columns whose effects are shown
	maxExplainedTargets = 4  // explained targets
)

// predictionJSON is a prediction, decoded from a line of JSON.
type predictionJSON map[string]json.RawMessage

func (p predictionJSON) number(name string) (v float64, has bool) {
	return v, json.Unmarshal(p[name], &v) == nil
}

// values returns the numbers in an object member, nil without the member.
func (p predictionJSON) values(name string) (v map[string]float64) {
	_ = json.Unmarshal(p[name], &v) // v is nil without the member
	return v
}

// showAnswer returns the data to show a prediction, a line of JSON, for the row in the fields.
func (q *question) showAnswer(line []byte, fields []field) (*shownAnswer, error) {
	var all predictionJSON
	if err := json.Unmarshal(line, &all); err != nil {
		return nil, err
	}
	a := &shownAnswer{What: "Prediction", Value: plainText(all["prediction"]), Facts: q.facts(all)}
	scores := all.values("probabilities")
	switch {
	case q.model.Classifies():
		a.What = "Class"
		if scores == nil {
			scores = all.values("scores")
		}
	case a.Value == "": // of several targets, or an embedding
		scores = all.values("scores")
		var components []float64
		_ = json.Unmarshal(all["components"], &components) // nil without the member
		for i, v := range components {
			a.Bars = append(a.Bars, bar{Name: fmt.Sprintf("component %d", i+1), Value: short(v)})
		}
	default:
		scores = nil
	}
	names := q.model.Outputs()
	if q.model.Classifies() {
		slices.SortStableFunc(names, func(x, y string) int { return cmp.Compare(scores[y], scores[x]) })
	}
	for _, name := range names {
		v, has := scores[name]
		if !has || len(a.Bars) == maxBars {
			continue
		}
		b := bar{Name: name, Value: short(v), Chosen: name == a.Value, Note: q.intervalText(all, "prediction_"+name)}
		if q.probabilities {
			b.Percent, b.Value = 100*v, strconv.FormatFloat(100*v, 'f', 1, 64)+"%"
		}
		a.Bars = append(a.Bars, b)
	}
	a.Why = q.explanations(all, a.Value, fields)
	return a, nil
}

// plainText returns a JSON string or number as plain text.
func plainText(value json.RawMessage) (text string) {
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// signed formats a number with its sign. plus is the text before numbers that are not negative.
func signed(v float64, plus string) string {
	text := strconv.FormatFloat(math.Abs(v), 'g', 4, 64)
	switch {
	case v < 0:
		return "−" + text
	case v > 0:
		return plus + text
	}
	return text
}

// level formats the level of intervals in percent.
func (q *question) level() string { return short(100*q.certain.Interval) + "%" }

// intervalText formats the interval of a prediction, "" if there is none.
func (q *question) intervalText(all predictionJSON, name string) string {
	low, has := all.number(name + "_low")
	high, too := all.number(name + "_high")
	if !has || !too {
		return ""
	}
	return short(low) + " to " + short(high)
}

// facts describes how certain a prediction is.
func (q *question) facts(all predictionJSON) (facts []fact) {
	if in := q.intervalText(all, "prediction"); in != "" {
		facts = append(facts, fact{q.level() + " interval", in,
			"For " + q.level() + " of new rows like the training rows, the value is in the interval."})
	}
	if all["set"] != nil {
		var set []json.RawMessage
		_ = json.Unmarshal(all["set"], &set) // an array
		var classes []string
		for _, class := range set {
			classes = append(classes, plainText(class))
		}
		facts = append(facts, fact{q.level() + " set", strings.Join(classes, ", "),
			"For " + q.level() + " of new rows like the training rows, the class is in the set."})
	}
	if v, has := all.number("novelty"); has {
		facts = append(facts, fact{"Novelty", strconv.FormatFloat(v, 'g', 3, 64),
			"The mean of the training rows is 1. A value far above 1 means that few training rows are similar."})
	}
	return facts
}

// explanations returns the explanations of a prediction.
func (q *question) explanations(all predictionJSON, class string, fields []field) (explanations []explanation) {
	names := q.model.Outputs()
	suffixes := []string{""}
	if !q.model.Classifies() && len(names) > 1 {
		suffixes = names[:min(len(names), maxExplainedTargets)]
	}
	for _, suffix := range suffixes {
		w := explanation{Title: "What moved the prediction", Total: "prediction"}
		switch {
		case q.model.Classifies() && len(names) == 2:
			positive := q.model.Manifest.PositiveClass()
			w.Title = fmt.Sprintf("What moved the score of %s against %s", names[positive], names[1-positive])
			w.Total = "score"
		case q.model.Classifies():
			w.Title, w.Total = "What moved the score of "+class, "score"
		case suffix != "":
			w.Title, suffix = "What moved "+suffix, "_"+suffix
		}
		effects := all.values("effects" + suffix)
		if effects == nil {
			continue
		}
		base, _ := all.number("base" + suffix)
		score := base
		for i, c := range q.model.Columns() {
			e := effects[c.Name]
			score += e
			b := bar{Name: c.Name, Percent: e}
			if i < len(fields) {
				b.Note = cmp.Or(fields[i].Value, "(missing)")
			}
			w.Effects = append(w.Effects, b)
		}
		w.Base, w.Score, w.Effects = signed(base, ""), signed(score, ""), largest(w.Effects)
		if v, _ := all.number("effect_error" + suffix); v > 0 {
			w.StdErr = strconv.FormatFloat(v, 'g', 2, 64)
		}
		explanations = append(explanations, w)
	}
	return explanations
}

// largest returns the bars of the largest effects by Percent, and one for the sum of the others.
func largest(all []bar) []bar {
	slices.SortStableFunc(all, func(x, y bar) int { return cmp.Compare(math.Abs(y.Percent), math.Abs(x.Percent)) })
	if others := len(all) - maxEffects; others > 1 {
		rest := bar{Name: fmt.Sprintf("%d other columns", others)}
		for _, b := range all[maxEffects:] {
			rest.Percent += b.Percent
		}
		all = append(all[:maxEffects], rest)
	}
	largest := 0.0
	for _, b := range all {
		largest = max(largest, math.Abs(b.Percent))
	}
	for i := range all {
		b, e := &all[i], all[i].Percent
		b.Value, b.Down, b.At, b.Percent = signed(e, "+"), e < 0, 50, 0
		if largest > 0 {
			b.Percent = 50 * math.Abs(e) / largest
		}
		if b.Down {
			b.At -= b.Percent
		}
	}
	return all
}

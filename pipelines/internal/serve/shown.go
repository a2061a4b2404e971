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

// shown is a prediction as the page shows it.
type shown struct {
	What  string // of the prediction
	Value string
	Bars  []bar
	Facts []fact // how certain it is
	Why   []why  // for each output that is explained
}

// bar is a number with a bar.
type bar struct {
	Name, Value string
	Note        string
	At, Percent float64 // place and length of the bar
	Chosen      bool
	Down        bool // the number is negative
}

// fact is something about a prediction.
type fact struct{ Name, Value, Note string }

// why divides a score among the columns.
type why struct {
	Title       string
	Total       string // what the score is
	Base, Score string
	Effects     []bar
	StdErr      string // of effects that are sampled
}

const (
	mostBars    = 20
	mostEffects = 10 // columns whose effects are shown
	mostWhys    = 4  // targets
)

// said is a prediction, a line of JSON.
type said map[string]json.RawMessage

func (s said) number(name string) (v float64, has bool) {
	return v, json.Unmarshal(s[name], &v) == nil
}

// values returns the numbers of a member with names.
func (s said) values(name string) (v map[string]float64) {
	_ = json.Unmarshal(s[name], &v) // nil without the member
	return v
}

// shown returns what the page shows of a prediction, a line of JSON, for the row of the fields.
func (q *question) shown(line []byte, fields []field) (*shown, error) {
	var all said
	if err := json.Unmarshal(line, &all); err != nil {
		return nil, err
	}
	a := &shown{What: "Prediction", Value: plainText(all["prediction"]), Facts: q.facts(all)}
	of := all.values("probabilities")
	switch {
	case q.model.Classifies():
		a.What = "Class"
		if of == nil {
			of = all.values("scores")
		}
	case a.Value == "": // of several targets, or an embedding
		of = all.values("scores")
		var components []float64
		_ = json.Unmarshal(all["components"], &components) // none without the member
		for i, v := range components {
			a.Bars = append(a.Bars, bar{Name: fmt.Sprintf("component %d", i+1), Value: short(v)})
		}
	default:
		of = nil
	}
	names := q.model.Outputs()
	if q.model.Classifies() {
		slices.SortStableFunc(names, func(x, y string) int { return cmp.Compare(of[y], of[x]) })
	}
	for _, name := range names {
		v, has := of[name]
		if !has || len(a.Bars) == mostBars {
			continue
		}
		b := bar{Name: name, Value: short(v), Chosen: name == a.Value, Note: q.reach(all, "prediction_"+name)}
		if q.probabilities {
			b.Percent, b.Value = 100*v, strconv.FormatFloat(100*v, 'f', 1, 64)+"%"
		}
		a.Bars = append(a.Bars, b)
	}
	a.Why = q.whys(all, a.Value, fields)
	return a, nil
}

// plainText returns a text or a number of JSON as people write it.
func plainText(value json.RawMessage) (text string) {
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// signed returns a number with its sign; without plus, only if it is negative.
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

// level returns the level of intervals as a share.
func (q *question) level() string { return short(100*q.certain.Interval) + "%" }

// reach returns the interval of a prediction, if there is one.
func (q *question) reach(all said, name string) string {
	low, has := all.number(name + "_low")
	high, too := all.number(name + "_high")
	if !has || !too {
		return ""
	}
	return short(low) + " to " + short(high)
}

// facts returns how certain a prediction is.
func (q *question) facts(all said) (facts []fact) {
	if in := q.reach(all, "prediction"); in != "" {
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

// whys returns the explanations of a prediction.
func (q *question) whys(all said, class string, fields []field) (whys []why) {
	names := q.model.Outputs()
	suffixes := []string{""}
	if !q.model.Classifies() && len(names) > 1 {
		suffixes = names[:min(len(names), mostWhys)]
	}
	for _, of := range suffixes {
		w := why{Title: "What moved the prediction", Total: "prediction"}
		switch {
		case q.model.Classifies() && len(names) == 2:
			positive := q.model.Manifest.PositiveClass()
			w.Title = fmt.Sprintf("What moved the score of %s against %s", names[positive], names[1-positive])
			w.Total = "score"
		case q.model.Classifies():
			w.Title, w.Total = "What moved the score of "+class, "score"
		case of != "":
			w.Title, of = "What moved "+of, "_"+of
		}
		effects := all.values("effects" + of)
		if effects == nil {
			continue
		}
		base, _ := all.number("base" + of)
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
		if v, _ := all.number("effect_error" + of); v > 0 {
			w.StdErr = strconv.FormatFloat(v, 'g', 2, 64)
		}
		whys = append(whys, w)
	}
	return whys
}

// largest returns the bars of the largest effects, which are in Percent, and one of the sum of the others.
func largest(all []bar) []bar {
	slices.SortStableFunc(all, func(x, y bar) int { return cmp.Compare(math.Abs(y.Percent), math.Abs(x.Percent)) })
	if others := len(all) - mostEffects; others > 1 {
		rest := bar{Name: fmt.Sprintf("%d other columns", others)}
		for _, b := range all[mostEffects:] {
			rest.Percent += b.Percent
		}
		all = append(all[:mostEffects], rest)
	}
	most := 0.0
	for _, b := range all {
		most = max(most, math.Abs(b.Percent))
	}
	for i := range all {
		b, e := &all[i], all[i].Percent
		b.Value, b.Down, b.At, b.Percent = signed(e, "+"), e < 0, 50, 0
		if most > 0 {
			b.Percent = 50 * math.Abs(e) / most
		}
		if b.Down {
			b.At -= b.Percent
		}
	}
	return all
}

package paired

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Metric is a score by which two models are compared: a mean over rows, smaller is better.
type Metric string

// The metrics. All are means over rows except RMSE, the root of MSE.
const (
	Error   Metric = "error"    // share of the rows with a wrong class
	LogLoss Metric = "log_loss" // −log of the probability of the row's class
	Brier   Metric = "brier"    // squared distance of the probabilities from the indicator of the row's class
	MSE     Metric = "mse"      // squared error
	RMSE    Metric = "rmse"
	MAE     Metric = "mae" // absolute error
)

// allMetrics lists all metrics.
func allMetrics() []Metric { return []Metric{Error, LogLoss, Brier, MSE, RMSE, MAE} }

// Condition is what a challenger must show to be promoted, in words:
//
//	not worse by 0.2% at 95%
//	better at 95%
//	log_loss better by 1% at 99%
//
// A condition holds if its opposite is rejected with that confidence. So if the opposite is true, the
// condition holds with a probability of at most 1 − confidence.
type Condition struct {
	Metric Metric // "" means Error for classes and RMSE for numbers
	// Better requires that the challenger is better, at least by Amount, which may be 0. Otherwise it must
	// not be worse by Amount or more, and Amount is above 0.
	Better bool
	Amount float64
	// Percent is true if Amount is in percent: percentage points for Error, otherwise percent of the
	// champion's score. Without it, Amount is in the unit of the metric.
	Percent    bool
	Confidence float64 // in percent, at least 50 and below 100
}

// ParseCondition parses a condition. Spaces separate words; the space before % is optional.
func ParseCondition(text string) (Condition, error) {
	c, err := parseCondition(strings.Fields(strings.ReplaceAll(text, "%", " %")))
	if err != nil {
		return c, fmt.Errorf("%q: %w; conditions read like \"not worse by 0.2%% at 95%%\" or \"log_loss better at 99%%\"",
			text, err)
	}
	return c, nil
}

// significance returns the largest p-value at which the condition holds: 1 − confidence.
func (c Condition) significance() float64 { return (100 - c.Confidence) / 100 }

// parseCondition parses the words of a condition: [METRIC] not worse by N[%] at C%, better by N[%] at C%, or better
// at C%.
func parseCondition(w []string) (c Condition, err error) {
	take := func(want ...string) bool {
		if len(w) < len(want) || !slices.Equal(w[:len(want)], want) {
			return false
		}
		w = w[len(want):]
		return true
	}
	if len(w) > 0 && slices.Contains(allMetrics(), Metric(w[0])) {
		c.Metric, w = Metric(w[0]), w[1:]
	}
	bounded := true
	switch {
	case take("not", "worse", "by"): // the zero value of Better
	case take("better", "by"):
		c.Better = true
	case take("better"):
		c.Better, bounded = true, false
	default:
		return c, fmt.Errorf("want %s at %s", `"not worse by" or "better"`, at(w))
	}
	if bounded {
		if c.Amount, err = number(&w); err != nil {
			return c, err
		}
		c.Percent = take("%")
		if c.Amount == 0 {
			return c, errors.New("an amount of 0 says no more than \"better\"")
		}
	}
	if !take("at") {
		return c, fmt.Errorf("want \"at\" and the confidence at %s", at(w))
	}
	if c.Confidence, err = number(&w); err != nil {
		return c, err
	}
	if !take("%") || len(w) > 0 {
		return c, fmt.Errorf("want %% and the end at %s", at(w))
	}
	if c.Confidence < 50 || c.Confidence >= 100 {
		return c, fmt.Errorf("a confidence of %g%%; want 50 to below 100", c.Confidence)
	}
	return c, c.check()
}

// check returns an error if the amount does not fit the metric.
func (c Condition) check() error {
	switch {
	case c.Metric == RMSE && c.Amount > 0 && !c.Percent:
		return errors.New("an amount of rmse must be in percent; use mse for one in its unit")
	case c.Percent && c.Amount >= 100 && (c.Better || c.Metric == Error):
		return fmt.Errorf("%g%% is too much; want less than 100", c.Amount)
	case c.Amount >= 1 && !c.Percent && c.Metric == Error:
		return fmt.Errorf("an error rate of %g is too much; want less than 1, or a percentage", c.Amount)
	}
	return nil
}

// at describes the position of an error in the text.
func at(w []string) string {
	if len(w) == 0 {
		return "the end"
	}
	return strconv.Quote(w[0])
}

// number removes a number without sign or exponent from the words, and returns it.
func number(w *[]string) (float64, error) {
	if len(*w) == 0 {
		return 0, errors.New("want a number at the end")
	}
	text := (*w)[0]
	whole, fraction, point := strings.Cut(text, ".")
	digits := func(s string) bool {
		return s != "" && strings.Trim(s, "0123456789") == ""
	}
	if !digits(whole) || point && !digits(fraction) || len(text) > 20 {
		return 0, fmt.Errorf("%q is not a number such as 0.2", text)
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number such as 0.2", text)
	}
	*w = (*w)[1:]
	return v, nil
}

// String returns the condition as ParseCondition reads it.
func (c Condition) String() string {
	var b strings.Builder
	if c.Metric != "" {
		fmt.Fprintf(&b, "%s ", c.Metric)
	}
	plain := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	switch {
	case !c.Better:
		b.WriteString("not worse by ")
	case c.Amount > 0:
		b.WriteString("better by ")
	default:
		b.WriteString("better ")
	}
	if c.Amount > 0 {
		b.WriteString(plain(c.Amount))
		if c.Percent {
			b.WriteString("%")
		}
		b.WriteString(" ")
	}
	fmt.Fprintf(&b, "at %s%%", plain(c.Confidence))
	return b.String()
}

package results

import (
	"bytes"
	"fmt"
	"io"
)

// TrainAndTest describes the trained model and its test.
type TrainAndTest struct {
	*Train
	Test *TestScores `json:"test"`
}

// TestScores holds the scores of a model on rows that its training has not read. Evaluate is nil if the
// evaluation failed.
type TestScores struct {
	HeldOut string  `json:"held_out,omitempty"` // which rows of the data were held out
	Share   float64 `json:"share,omitempty"`
	*Evaluate
}

// WriteTo prints the result for people.
func (r *TrainAndTest) WriteTo(w io.Writer) (int64, error) {
	if r.Test.Evaluate == nil {
		return r.Train.WriteTo(w)
	}
	var b bytes.Buffer
	if _, err := r.Train.WriteTo(&b); err != nil {
		return 0, err
	}
	fmt.Fprintf(&b, "\ntest on rows that training has not read")
	if t := r.Test; t.HeldOut != "" {
		fmt.Fprintf(&b, " (%.3g%% of all; %s)", 100*float64(t.Rows.Read)/float64(t.Rows.Read+r.Train.Rows.Read),
			t.HeldOut)
	}
	b.WriteString(":\n")
	if _, err := r.Test.Evaluate.WriteTo(&b); err != nil {
		return 0, err
	}
	return b.WriteTo(w)
}

package tuning

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Share is a part of one, which a text may give in percent.
type Share float64

// String is the share in percent.
func (s Share) String() string { return percent(float64(s)) }

// MarshalText returns the share in percent; "" for 0.
func (s Share) MarshalText() ([]byte, error) {
	if s == 0 {
		return nil, nil
	}
	return []byte(strconv.FormatFloat(100*float64(s), 'g', 12, 64) + "%"), nil
}

// UnmarshalText reads 0.1%, 0.1% or 0.001.
func (s *Share) UnmarshalText(text []byte) error {
	word, by := strings.TrimSpace(string(text)), 1.0
	if word == "" {
		*s = 0
		return nil
	}
	if number, ok := strings.CutSuffix(word, "%"); ok {
		word, by = strings.TrimSpace(number), 100
	}
	v, err := strconv.ParseFloat(word, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("%q is not a share: want a number such as 0.1%% or 0.001", text)
	}
	*s = Share(v / by)
	return nil
}

func percent(share float64) string { return fmt.Sprintf("%.2g%%", 100*share) }

// Write prints the trials for people; root says that losses are printed as their roots.
func (r *SizeResult) Write(w io.Writer, root bool) {
	fmt.Fprintf(w, "size      %d features: %s\n", r.Features, r.Why)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	name := "held-out mse"
	if root {
		name = "held-out RMSE"
	}
	fmt.Fprintf(tw, "\tfeatures\tlambda\t%s\timprovement of mse\t± se\tseconds\t\t\n", name)
	for i, t := range r.Trials {
		loss, better, se, mark := "-", "-", "-", ""
		if t.Loss > 0 {
			v := t.Loss
			if root {
				v = math.Sqrt(v)
			}
			loss = fmt.Sprintf("%.6g", v)
			if i > 0 {
				better, se = fmt.Sprintf("%.2f%%", 100*t.Gain), fmt.Sprintf("%.2f%%", 100*t.StdErr)
			}
		}
		if t.Features == r.Features {
			mark = "<- chosen"
		}
		fmt.Fprintf(tw, "\t%d\t%g\t%s\t%s\t%s\t%.1f\t%s\t\n", t.Features, t.Lambda, loss, better, se, t.Seconds, mark)
	}
	tw.Flush()
	grid := ""
	if r.Once {
		grid = " --grid 8" // there was no time for 16
	}
	fmt.Fprintf(w, "          train with --features %d%s and the same recipe makes the same model\n",
		r.Features, grid)
	if len(r.Trials) > 1 && r.Trials[0].Loss > 0 {
		fmt.Fprintf(w,
			"          the held-out errors below are of the rows that chose the size: best of %d, hence optimistic\n",
			len(r.Trials))
	}
}

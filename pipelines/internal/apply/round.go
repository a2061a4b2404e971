package apply

import (
	"context"
	"math"
	"time"

	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms/fault"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// tally counts files and rows, and their latencies.
type tally struct {
	results.StreamCounts
	latencies latencies
	known     int // files that an earlier stream had done
}

// counts returns the counts with the quantiles of the latencies.
func (t *tally) counts() results.StreamCounts {
	t.P50, t.P99 = t.latencies.quantile(0.5), t.latencies.quantile(0.99)
	return t.StreamCounts
}

// finish sets the fields of r that are known after a round, which began at begun and has the counts c.
func (s *streamJob) finish(r *results.StreamRound, counts *tally, begun time.Time) {
	r.StreamCounts, r.Total = counts.counts(), s.total.counts()
	if r.Ended {
		r.StreamCounts = r.Total
	}
	r.Seconds = time.Since(begun).Seconds()
	r.RowsPerSecond = float64(r.Rows) / math.Max(r.Seconds, 1e-9)
	r.Model = s.model.Model(context.Background()).Manifest.SHA256
	stats := s.model.Stats()
	r.Reloads = stats.Swaps
	if stats.Err != nil {
		r.ReloadError = fault.Text(stats.Err)
	}
}

// add counts the result of a file.
func (t *tally) add(f scoring.FileResult) {
	switch {
	case f.Known:
		t.known++
		if f.Changed {
			t.Changed++
		}
		return
	case f.Retry != "":
		t.Retried++
		return
	case f.Bad != "":
		t.BadFiles++
	default:
		t.Files++
		t.Rows += f.Rows
		t.SetAside += f.SetAside
	}
	if f.Latency > 0 {
		t.latencies.add(f.Latency)
	}
}

// latencies is a histogram of times. The bounds of its cells grow by a tenth, from a millisecond to months.
type latencies [256]uint32

// growth is the ratio between the bounds of consecutive cells.
const growth = 1.1

func (l *latencies) add(d time.Duration) {
	cell := math.Ceil(math.Log(max(1, float64(d)/float64(time.Millisecond))) / math.Log(growth))
	l[min(int(cell), len(l)-1)]++
}

// quantile returns the upper bound in seconds of the cell with the quantile q, 0 if it is empty.
func (l *latencies) quantile(q float64) float64 {
	var n, below uint64
	for _, c := range l {
		n += uint64(c)
	}
	for i, c := range l {
		below += uint64(c)
		if n > 0 && float64(below) >= q*float64(n) {
			return math.Pow(growth, float64(i)) / 1000
		}
	}
	return 0
}

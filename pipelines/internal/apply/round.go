package apply

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/scores"
)

// StreamRound has the results of one round of files or messages, and totals since the stream began.
type StreamRound struct {
	StreamCounts
	Backlog       int          `json:"backlog"` // number of files without predictions, including those in Waiting
	Waiting       int          `json:"waiting"` // number of entries that cannot be read, such as broken links
	Old           int          `json:"old,omitempty"`
	Seconds       float64      `json:"seconds"`
	RowsPerSecond float64      `json:"rows_per_second"`
	Model         string       `json:"model"` // digest of the model in use
	Reloads       int64        `json:"reloads"`
	ReloadError   string       `json:"reload_error,omitempty"` // why the model of this name is not the one in use
	Total         StreamCounts `json:"total"`
	Ended         bool         `json:"ended,omitempty"`

	unit string // file or message
}

// StreamCounts counts files and rows. In a stream of messages, files are messages.
type StreamCounts struct {
	Files    int64 `json:"files"`     // with predictions
	BadFiles int64 `json:"bad_files"` // with a dead letter instead
	Retried  int64 `json:"retried"`   // to be tried again
	Rows     int64 `json:"rows"`      // with a prediction
	SetAside int64 `json:"set_aside"` // without a prediction
	Changed  int64 `json:"changed"`   // files that were changed after their predictions
	// P50 and P99 are quantiles of the time in seconds from the last write to a file until its predictions were
	// complete. They are up to a tenth too large, and 0 without files.
	P50 float64 `json:"latency_p50"`
	P99 float64 `json:"latency_p99"`

	latencies latencies
	known     int // files that an earlier stream had done
}

// finish sets the fields that are known after a round, which began at begun.
func (r *StreamRound) finish(s *streaming, begun time.Time) {
	if r.Ended {
		r.StreamCounts = s.total
	}
	r.P50, r.P99 = r.latencies.quantile(0.5), r.latencies.quantile(0.99)
	r.Total = s.total
	r.Total.P50, r.Total.P99 = s.total.latencies.quantile(0.5), s.total.latencies.quantile(0.99)
	r.Seconds = time.Since(begun).Seconds()
	r.RowsPerSecond = float64(r.Rows) / math.Max(r.Seconds, 1e-9)
	r.Model = s.model.Model(context.Background()).Manifest.SHA256
	stats := s.model.Stats()
	if r.Reloads = stats.Swaps; stats.Err != nil {
		r.ReloadError = transforms.FaultText(stats.Err)
	}
}

func (c *StreamCounts) add(f scores.FileResult) {
	switch {
	case f.Known:
		c.known++
		if f.Changed {
			c.Changed++
		}
		return
	case f.Retry != "":
		c.Retried++
		return
	case f.Bad != "":
		c.BadFiles++
	default:
		c.Files++
		c.Rows += f.Rows
		c.SetAside += f.SetAside
	}
	if f.Latency > 0 {
		c.latencies.add(f.Latency)
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
		if below += uint64(c); n > 0 && float64(below) >= q*float64(n) {
			return math.Pow(growth, float64(i)) / 1000
		}
	}
	return 0
}

// String describes the round in one line.
func (r StreamRound) String() string {
	c := r.StreamCounts
	text := fmt.Sprintf("%s, %s", report.Counted(int(c.Files), r.unit), report.Counted(int(c.Rows), "row"))
	if c.SetAside > 0 {
		text += fmt.Sprintf(", %s set aside", report.Groups(c.SetAside))
	}
	if c.BadFiles > 0 {
		text += ", " + report.Counted(int(c.BadFiles), "bad "+r.unit)
	}
	if c.Retried > 0 {
		text += fmt.Sprintf(", %s tried again", report.Groups(c.Retried))
	}
	if c.Changed > 0 {
		text += fmt.Sprintf(", %s changed after it was done", report.Counted(int(c.Changed), r.unit))
	}
	text += fmt.Sprintf("; backlog %d", r.Backlog)
	if r.Waiting > 0 {
		text += fmt.Sprintf(" (%d cannot be read yet)", r.Waiting)
	}
	text += fmt.Sprintf("; %s rows/s; latency p50 %.3g s, p99 %.3g s; model %.8s", report.Groups(int64(r.RowsPerSecond)),
		r.P50, r.P99, r.Model)
	if r.Reloads > 0 {
		text += fmt.Sprintf(", reloaded %d times", r.Reloads)
	}
	return text
}

// WriteTo prints the totals for people.
func (r *StreamRound) WriteTo(w io.Writer) (int64, error) {
	n, err := fmt.Fprintf(w, "stopped      after %v\npredictions  %s\n",
		(time.Duration(r.Seconds * float64(time.Second))).Round(time.Second/10), r)
	return int64(n), err
}

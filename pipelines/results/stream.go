package results

import (
	"fmt"
	"io"
	"time"

	"github.com/bochner-ml/bochner/pipelines/internal/report"
)

// StreamRound holds the results of one round of files or messages, and totals since the stream began.
type StreamRound struct {
	StreamCounts
	Backlog       int          `json:"backlog"`       // number of files without predictions, including those in Waiting
	Waiting       int          `json:"waiting"`       // number of entries that cannot be read, such as broken links
	Old           int          `json:"old,omitempty"` // number of files that are not read because of --max_age
	Seconds       float64      `json:"seconds"`       // duration of the round
	RowsPerSecond float64      `json:"rows_per_second"`
	Model         string       `json:"model"`                  // digest of the model in use
	Reloads       int64        `json:"reloads"`                // how often a new model has replaced the one in use
	ReloadError   string       `json:"reload_error,omitempty"` // why the model of this name is not the one in use
	Total         StreamCounts `json:"total"`
	// Ended is true in the last result. Its counts and Seconds are of the whole stream.
	Ended bool `json:"ended,omitempty"`

	Unit string `json:"-"` // file or message
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
}

// String describes the round in one line.
func (r StreamRound) String() string {
	c := r.StreamCounts
	text := fmt.Sprintf("%s, %s", report.Counted(int(c.Files), r.Unit), report.Counted(int(c.Rows), "row"))
	if c.SetAside > 0 {
		text += fmt.Sprintf(", %s set aside", report.Groups(c.SetAside))
	}
	if c.BadFiles > 0 {
		text += ", " + report.Counted(int(c.BadFiles), "bad "+r.Unit)
	}
	if c.Retried > 0 {
		text += fmt.Sprintf(", %s tried again", report.Groups(c.Retried))
	}
	if c.Changed > 0 {
		text += fmt.Sprintf(", %s changed after it was done", report.Counted(int(c.Changed), r.Unit))
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

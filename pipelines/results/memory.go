package results

import (
	"fmt"

	"github.com/bochner-ml/bochner/pipelines/engine"
)

// Memory has upper bounds on the memory of a training run, in bytes.
type Memory struct {
	PeakBytes    int64 `json:"bytes_peak"`    // of the process; of the driver if workers are other processes
	ProfileBytes int64 `json:"bytes_profile"` // of the first pass, without the process itself
	WorkerBytes  int64 `json:"bytes_worker"`  // of a reader: sums, blocks and the map
	SolveBytes   int64 `json:"bytes_solve"`   // of the worker that solves, or makes the next state
	// CarriedBytes is the size of the rows if they are few and passed to the solve instead of their sums.
	CarriedBytes int64 `json:"bytes_carried,omitempty"`
	// Stripes is the number of stripes into which sums are split. Each takes a pass over the rows. It is 1 unless
	// sums are too large.
	Stripes int `json:"stripes,omitempty"`
	// LeastBytes is the least engine.Engine.WorkerBytes that suffices, if the given one does not; otherwise 0.
	LeastBytes int64 `json:"bytes_worker_least,omitempty"`
	// RowBytes is the memory of all readers for each row. It is included above if the number of rows is known.
	RowBytes int64 `json:"bytes_row"`
}

// ExceedsWorker returns a note if a worker needs more memory than it may take, and otherwise "".
func (m Memory) ExceedsWorker(e engine.Engine) (note string) {
	if m.LeastBytes == 0 {
		return ""
	}
	return fmt.Sprintf("--worker_bytes %d cannot be kept: a worker needs at least %d bytes, in however many stripes; "+
		"use fewer --features", e.WorkerBytes, m.LeastBytes)
}

package spec

import (
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/models/ridge"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// A reader of stored rows holds a file of them for each fold, for any number of rows, and with --worker_bytes
// for fewer folds at a time.
func TestWorkerBytesBoundStoredRows(t *testing.T) {
	o := Options{Train: options.Train{Search: options.SearchNone,
		Prepare: options.Prepare{Kernel: &fourier.GaussianOptions{Features: 16384}}}}.WithDefaults()
	of := func(rows, workerBytes int64) results.Memory {
		f := Facts{Rows: rows, RowFacts: RowFacts{Dim: 20, Scaled: 20, Values: 20, Prepared: true}, Features: 16384,
			Outputs: 2}
		return o.Memory(f, engine.Engine{Runner: engine.Flink, WorkerBytes: workerBytes, Threads: 1}, 1)
	}
	few, many := of(12000, 0), of(16000, 0)
	if few.CarriedBytes == 0 || many.CarriedBytes <= few.CarriedBytes ||
		many.WorkerBytes != few.WorkerBytes || many.Stripes != 1 {
		t.Fatalf("12,000 rows: %+v\n16,000 rows: %+v", few, many)
	}
	if all := 2 * many.CarriedBytes; many.WorkerBytes > all {
		t.Errorf("a reader takes %d bytes, twice the rows are %d", many.WorkerBytes, all)
	}
	at := many.WorkerBytes
	for n := 2; n <= 5; n++ {
		m := of(16000, at)
		if m.CarriedBytes == 0 || m.Stripes < n || m.Stripes > 5 || m.WorkerBytes > at {
			t.Errorf("%d bytes allowed: %+v", at, m)
		}
		if n = m.Stripes; n < 5 {
			at = m.WorkerBytes
		}
	}
	// A fold is not divided: what does not fit is not made to fit.
	if m := of(16000, 1<<20); m.Stripes != 1 || m.WorkerBytes != many.WorkerBytes {
		t.Errorf("%+v", m)
	}
	if shape := (ridge.Shape{Dim: 16384, Outputs: 2}); !ridge.StoresRows(shape, 16000, ridge.AutoLambda()) {
		t.Error("the rows are not carried")
	}
}

package transforms

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Metric is something that workers count. Runners show it as a Beam counter of the
// namespace MetricsNamespace, with times in milliseconds.
type Metric int

// The metrics. Rows read are rows used and rows set aside. A pass in stripes reads rows several
// times: it counts them once, for the first stripe, but bytes and times for every stripe.
const (
	RowsRead Metric = iota
	RowsUsed
	RowsSetAside
	rowsRestored // rows read that a checkpoint covers, so that they are not read again
	RowsCached   // rows whose features an earlier round has cached, so that they are not read again
	FeaturesSaturated
	BytesRead

	// Times. Reading overlaps with the others, and the times of readers that run at the
	// same time are added.
	ReadTime  // reading and parsing rows
	MapTime   // mapping them to features
	AddTime   // summing their products, or computing other sums
	LearnTime // an iterative learner's work on blocks of features
	MergeTime // adding sums of several readers
	StoreTime // storing sums, and loading checkpoints
	SolveTime // loading sums and solving
	metrics
)

// MetricsNamespace is the namespace of the Beam counters.
const MetricsNamespace = "bochner"

var metricNames = [metrics]string{
	"rows_read", "rows_used", "rows_set_aside", "rows_restored", "rows_cached", "features_saturated", "bytes_read",
	"read_msec", "map_msec", "fold_msec", "learn_msec", "merge_msec", "store_msec", "solve_msec",
}

// String returns the name of the Beam counter.
func (m Metric) String() string { return metricNames[m] }

var counters = func() (c [metrics]beam.Counter) {
	for m, name := range metricNames {
		c[m] = beam.NewCounter(MetricsNamespace, name)
	}
	return c
}()

// totals are the metrics of a job in one process; times are in nanoseconds.
type totals [metrics]atomic.Int64

// Rows returns how many rows the job's DoFns in this process have processed, or found in checkpoints.
func (w *Worker) Rows() int64 {
	return w.totals[RowsRead].Load() + w.totals[RowsCached].Load() + w.ahead.Load()
}

// Ahead adds n to Rows, for rows that are done before their block is. The caller subtracts them shortly
// before the block ends, which counts them.
func (w *Worker) Ahead(n int) { w.ahead.Add(int64(n)) }

// Seconds returns the time that the job's DoFns in this process have spent, by stage:
// read, map, fold, learn, merge, store and solve.
func (w *Worker) Seconds() map[string]float64 {
	out := make(map[string]float64, metrics-ReadTime)
	for m := ReadTime; m < metrics; m++ {
		name := metricNames[m]
		out[name[:len(name)-len("_msec")]] = time.Duration(w.totals[m].Load()).Seconds()
	}
	return out
}

// Meter counts the work on one element, for its job and for the runner. It is safe for
// concurrent use.
type Meter struct {
	job     *totals
	values  totals
	repeats bool // another element reads the same rows, and counts them for the runner

	mu        sync.Mutex
	committed [metrics]int64 // values already added to Beam's counters
}

// NewMeter returns a meter of the worker's job.
func (w *Worker) NewMeter() *Meter { return &Meter{job: &w.totals} }

// Add adds n to a metric.
func (m *Meter) Add(metric Metric, n int64) {
	m.values[metric].Add(n)
	m.job[metric].Add(n)
}

// Clock starts to measure time. The returned function stops and adds the time to the metric.
func (m *Meter) Clock(metric Metric) (stop func()) {
	begun := time.Now()
	return func() { m.Add(metric, int64(time.Since(begun))) }
}

// Commit updates Beam's counters. The context is the element's, or derived from it.
func (m *Meter) Commit(ctx context.Context) {
	m.mu.Lock() // Beam's counters of one element are for one goroutine at a time
	defer m.mu.Unlock()
	for metric := range metrics {
		if m.repeats && metric <= RowsCached {
			continue
		}
		v := m.values[metric].Load()
		if metric >= ReadTime {
			v /= int64(time.Millisecond)
		}
		if n := v - m.committed[metric]; n != 0 {
			counters[metric].Inc(ctx, n)
			m.committed[metric] = v
		}
	}
}

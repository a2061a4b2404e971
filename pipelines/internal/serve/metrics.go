package serve

import (
	"math"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/drift"
)

// serverMetrics holds the metrics that the server updates.
type serverMetrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec   // by path and code
	seconds  *prometheus.HistogramVec // by path
	inFlight prometheus.Gauge
	rows     prometheus.Counter
	refused  prometheus.Counter
	missing  *prometheus.CounterVec // by column
	unseen   *prometheus.CounterVec
	reloads  *prometheus.CounterVec // by result
}

const namespace = "bochner"

func newServerMetrics() *serverMetrics {
	c := &serverMetrics{registry: prometheus.NewRegistry()}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
		c.registry.MustRegister(v)
		return v
	}
	c.requests = counter("requests_total", "Requests, by path and status.", "path", "code")
	c.rows = counter("rows_total", "Rows with a prediction.").WithLabelValues()
	c.refused = counter("rows_refused_total", "Rows that could not be used.").WithLabelValues()
	c.missing = counter("missing_values_total", "Missing values in rows with a prediction.", "column")
	c.unseen = counter("unseen_levels_total",
		"Category values in rows with a prediction that training has not seen.", "column")
	c.reloads = counter("reloads_total",
		"Lookups of the model: same, changed, or failed, which keeps the current model.", "result")
	c.seconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "request_seconds",
		Help:    "Time from the first byte of a request to the last of its answer, by path.",
		Buckets: []float64{.0002, .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10}}, []string{"path"})
	c.inFlight = prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "requests_in_flight",
		Help: "Requests without an answer yet."})
	c.registry.MustRegister(c.seconds, c.inFlight, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return c
}

// rowCounts counts the rows of a request.
type rowCounts struct {
	rows            int
	missing, unseen []int // missing values, and levels that training has not seen, by column
}

// reset begins to count the rows of a request, for a model with so many columns.
func (c *rowCounts) reset(columns int) {
	c.rows = 0
	c.missing = slices.Grow(c.missing[:0], columns)[:columns]
	c.unseen = slices.Grow(c.unseen[:0], columns)[:columns]
	clear(c.missing)
	clear(c.unseen)
}

// add counts the rows of a block.
func (c *rowCounts) add(s *servedModel, b *rowio.Block) {
	c.rows += b.N
	if !s.missing {
		return
	}
	for i := range b.N {
		row := b.Row(i)
		slot := 0
		for j := range s.types {
			t := &s.types[j]
			switch v := row[slot]; {
			case math.IsNaN(float64(v)):
				c.missing[j]++
			case t.Type == schema.Category && t.Buckets == 0 && int(v) == len(t.Levels):
				c.unseen[j]++
			}
			slot += t.Width()
		}
	}
}

// answered counts the rows of a request that has an answer.
func (m *serverMetrics) answered(s *servedModel, c *rowCounts) {
	m.rows.Add(float64(c.rows))
	for j := range s.types {
		if n := c.missing[j]; n > 0 {
			m.missing.WithLabelValues(s.types[j].Name).Add(float64(n))
		}
		if n := c.unseen[j]; n > 0 {
			m.unseen.WithLabelValues(s.types[j].Name).Add(float64(n))
		}
	}
}

// state has metrics that are computed when they are collected.
type state struct{ *server }

var (
	modelInfo = prometheus.NewDesc(namespace+"_model_info", "The model in use, by the digest of its manifest.",
		[]string{"digest"}, nil)
	driftSeen = prometheus.NewDesc(namespace+"_drift_rows", "Number of recent rows from which drift is computed.", nil, nil)
	driftMax  = prometheus.NewDesc(namespace+"_drift_largest",
		"The largest lower bound on how far a column has moved since training.", nil, nil)
	driftOf = prometheus.NewDesc(namespace+"_drift",
		"A lower bound on how far a column has moved since training, if it is above 0.",
		[]string{"column", "kind"}, nil)
)

// Describe implements prometheus.Collector.
func (s state) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{modelInfo, driftSeen, driftMax, driftOf} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (s state) Collect(to chan<- prometheus.Metric) {
	current := s.current.Load()
	if current == nil {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(modelInfo, 1, current.model.Manifest.SHA256)
	if current.statistics == nil {
		return
	}
	all := drift.NewCounts(current.statistics)
	for _, w := range s.workers {
		w.drift.addTo(all, current)
	}
	r := drift.CompareCounts(current.statistics, all, current.cluster, current.drift)
	gauge(driftSeen, float64(r.Rows))
	largest := 0.0
	for _, c := range r.Columns {
		largest = max(largest, c.AtLeast)
		gauge(driftOf, c.AtLeast, c.Name, string(c.Kind))
	}
	gauge(driftMax, largest)
}

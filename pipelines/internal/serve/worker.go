package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/io/jsonlio"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/transforms/scoring"
)

// requestOptions are the results that a request asks for besides predictions.
type requestOptions struct {
	scores, probabilities, explain bool
	certain                        scoring.Certainty
	csv                            bool // write CSV, not lines of JSON; from the header Accept
}

// optionNames holds the names of the options of requests.
var optionNames = []string{"scores", "probabilities", "interval", "novelty", "explain"}

// set sets an option from a JSON value. The error names the valid values.
func (o *requestOptions) set(name, value string) error {
	want, to := "true or false", map[string]any{"scores": &o.scores, "probabilities": &o.probabilities,
		"interval": &o.certain.Interval, "novelty": &o.certain.Novelty, "explain": &o.explain}[name]
	if name == "interval" {
		want = "a number above 0 and below 1, such as 0.9"
	}
	if value == "null" || json.Unmarshal([]byte(value), to) != nil {
		return errors.New(want)
	}
	return nil
}

// worker applies a model to the rows of one request at a time, and reuses its memory.
type worker struct {
	threshold *models.Threshold

	model  *servedModel
	input  *dataset.Input // of JSON objects
	tables map[requestOptions]*tableWriter
	blocks []*rowio.Block // the first used ones have the rows of the request
	used   int
	bad    []rowErr
	nBad   int
	counts rowCounts // of the last prediction

	drift driftWindow
}

// driftWindow counts the last rows: at least driftRows of them, once there have been as many.
type driftWindow struct {
	sync.Mutex
	model             *servedModel
	current, previous *drift.Counts // nil if the model has no statistics of its training rows
	rows              int           // rows in current
}

const driftRows = 20_000

// tableWriter writes tables of predictions.
type tableWriter struct {
	*scoring.Table
	out *boundedBuffer
	to  export.Writer
}

// boundedBuffer is an answer that is being written, up to a limit.
type boundedBuffer struct {
	bytes.Buffer
	limit int
}

var errTooLong = problemf(http.StatusRequestEntityTooLarge,
	"the answer would be too large; send fewer rows, or leave out options")

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}

// maxErrors is the largest number of rows whose errors are listed.
const maxErrors = 100

// use prepares the worker for a model.
func (w *worker) use(s *servedModel) {
	if w.model == s {
		return
	}
	w.model, w.tables = s, map[requestOptions]*tableWriter{}
	w.input = s.objects.InMemory(dataset.Request{Mode: dataset.SkipRow, Lines: true,
		Reject: func(row int64, reason string) { w.reject(rowErr{Row: row, Reason: reason}) }})
	d := &w.drift
	d.Lock()
	defer d.Unlock()
	d.model, d.current, d.previous, d.rows = s, nil, nil, 0
	if s.statistics != nil {
		d.current = drift.NewCounts(s.statistics)
	}
}

// add counts the rows of a block.
func (d *driftWindow) add(b *rowio.Block) {
	d.Lock()
	defer d.Unlock()
	if d.current == nil {
		return
	}
	if d.rows >= driftRows {
		d.current, d.previous, d.rows = drift.NewCounts(d.model.statistics), d.current, 0
	}
	d.current.Add(b, 0)
	d.rows += b.N
}

// addTo adds the counts to others, if they are for the same model.
func (d *driftWindow) addTo(all *drift.Counts, s *servedModel) {
	d.Lock()
	defer d.Unlock()
	if d.model != s || d.current == nil {
		return
	}
	all.Merge(d.current)
	if d.previous != nil {
		all.Merge(d.previous)
	}
}

// reject records a row that cannot be used.
func (w *worker) reject(e rowErr) {
	w.nBad++
	if len(w.bad) == maxErrors {
		return
	}
	for _, name := range w.model.names { // the reason begins with the name of the column
		if reason, ok := strings.CutPrefix(e.Reason, dataset.InColumn(name, "")); ok {
			e.Column, e.Reason = name, reason
			break
		}
	}
	w.bad = append(w.bad, e)
}

// objects reads rows that are JSON objects.
func (w *worker) objects(from source, maxRows int) error {
	rows := &limitedSource{source: from, limit: maxRows}
	objects, err := jsonlio.NewReader(rows, w.input)
	if err != nil {
		return err
	}
	err = w.read(w.input.Rows(objects), math.MaxInt)
	if rows.err != nil {
		return rows.err
	}
	return err
}

// csv reads rows in CSV.
func (w *worker) csv(ctx context.Context, text []byte, maxRows int) error {
	d, err := w.model.open(ctx, "csv", text)
	if err != nil {
		return err
	}
	r := d.ReadFrom(ctx, nil, d.Shards(math.MaxInt64 / 2)[0], dataset.Request{Mode: dataset.SkipRow, Lines: true,
		Reject: func(line int64, reason string) { w.reject(rowErr{Line: line, Reason: reason}) }})
	defer r.Close()
	return w.read(r, maxRows)
}

// read reads all rows into blocks.
func (w *worker) read(r *dataset.Reader, maxRows int) error {
	w.bad, w.nBad, w.used = nil, 0, 0
	for n := 0; ; w.used++ {
		if w.used == len(w.blocks) {
			w.blocks = append(w.blocks, new(rowio.Block))
		}
		b := w.blocks[w.used]
		if !r.Next(b) {
			break
		}
		n += b.N
		if n > maxRows {
			return tooManyRows(maxRows)
		}
	}
	switch {
	case r.Report().Fault != "":
		return problemf(http.StatusUnprocessableEntity, "%s", plainReason(r.Report().Fault))
	case w.nBad > 0:
		return badRows(w.bad, w.nBad)
	case w.used == 0:
		return problemf(http.StatusUnprocessableEntity, "there are no rows")
	}
	return nil
}

// explainable returns a problem if a request explains more rows than the limit, or more effects than fit into
// an answer.
func (w *worker) explainable(maxRows, maxBytes int) error {
	n := 0
	for _, b := range w.blocks[:w.used] {
		n += b.N
	}
	switch {
	case n > maxRows:
		return problemf(http.StatusRequestEntityTooLarge,
			"%d rows to explain; the limit is %d in a request; send them in several requests", n, maxRows)
	case n*len(w.model.names)*w.model.model.Width() > maxBytes/8:
		return errTooLong
	}
	return nil
}

// predict returns the predictions for the rows that were read, as lines of JSON, or as CSV with a header. The text is
// valid until the next call.
func (w *worker) predict(ctx context.Context, o requestOptions, maxBytes int) (text []byte, err error) {
	defer func() {
		if err != nil { // the writer may have buffered rows of this request
			delete(w.tables, o)
		}
	}()
	t, err := w.table(o, maxBytes)
	if err != nil {
		return nil, err
	}
	w.counts.reset(len(w.model.types))
	for _, b := range w.blocks[:w.used] {
		w.counts.add(w.model, b) // before missing values are filled in
		w.drift.add(b)           // also of requests that are refused later
		table, err := t.Block(ctx, b)
		if err != nil {
			return nil, err
		}
		if len(table.Bad) > 0 {
			w.bad, w.nBad = nil, 0
			for _, i := range table.Bad {
				w.reject(rowErr{Row: b.Lines[i], Reason: models.TooLarge})
			}
			return nil, badRows(w.bad, w.nBad)
		}
		if err := t.to.Write(table); err != nil {
			return nil, err
		}
	}
	if err := t.to.Close(); err != nil {
		return nil, err
	}
	return t.out.Bytes(), nil
}

// table returns the writer of tables, with an empty buffer except for a header.
func (w *worker) table(o requestOptions, maxBytes int) (*tableWriter, error) {
	t := w.tables[o]
	if t != nil && !o.csv {
		t.out.Reset()
		return t, nil
	}
	p := &scoring.Predict{Model: scoring.Model{Threshold: w.threshold}, Content: scoring.Content{Scores: o.scores,
		Probabilities: o.probabilities, Certainty: o.certain, Explain: o.explain}}
	made, err := p.Table(w.model.model)
	if err != nil { // only if a file of the model cannot be read
		slog.Error("serve: explaining", "cause", err)
		return nil, problemf(http.StatusInternalServerError, "the model cannot explain; the server's log has the cause")
	}
	t = &tableWriter{Table: made, out: &boundedBuffer{limit: maxBytes}}
	format := "jsonl"
	if o.csv {
		format = "csv"
	}
	file, err := t.File(format)
	if err != nil {
		return nil, err
	}
	t.to = file.New(t.out)
	w.tables[o] = t
	return t, nil
}

// free releases memory that few requests need.
func (w *worker) free() {
	const keep, maxTables = 2, 16  // keep is a number of blocks
	if len(w.tables) > maxTables { // requests had many different levels
		clear(w.tables)
	}
	if len(w.blocks) > keep {
		w.blocks = w.blocks[:keep:keep]
	}
	for o, t := range w.tables {
		if t.out.Cap() > 1<<20 {
			delete(w.tables, o)
		}
	}
}

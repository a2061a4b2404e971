package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/export"
	"github.com/bochner-ml/bochner/io/jsonlio"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/models/sums"
	"github.com/bochner-ml/bochner/transforms/scores"
)

// ask says what of a prediction is wanted.
type ask struct {
	scores, probabilities, explain bool
	certain                        scores.Certainty
	csv                            bool // as CSV, not as lines of JSON
}

// options are the names under which requests ask for more than predictions.
var options = []string{"scores", "probabilities", "interval", "novelty", "explain"}

// set takes an option, whose value is JSON. The error says what the value must be.
func (a *ask) set(name, value string) error {
	want, to := "true or false", map[string]any{"scores": &a.scores, "probabilities": &a.probabilities,
		"interval": &a.certain.Interval, "novelty": &a.certain.Novelty, "explain": &a.explain}[name]
	if name == "interval" {
		want = "a number above 0 and below 1, such as 0.9"
	}
	if value == "null" || json.Unmarshal([]byte(value), to) != nil {
		return errors.New(want)
	}
	return nil
}

// worker applies a model to the rows of one request at a time. Its memory is used again.
type worker struct {
	threshold *float32
	counted   *counted

	of     *served
	input  *dataset.Input // of JSON objects
	tables map[ask]*tabled
	blocks []*rows.Block // the first used of which hold the rows of the request
	used   int
	bad    []rowErr
	nBad   int

	drift driftWindow
}

// driftWindow counts the last rows, at least driftRows of them if there were as many.
type driftWindow struct {
	sync.Mutex
	of          *served
	now, before *sums.DriftCounts // nil if the model does not know its training rows
	rows        int               // of now
}

const driftRows = 20_000

// tabled writes tables of predictions.
type tabled struct {
	*scores.Table
	out *bounded
	to  export.Writer
}

// bounded is an answer that is being written, up to a limit.
type bounded struct {
	bytes.Buffer
	most int
}

var errTooLong = refused(http.StatusRequestEntityTooLarge,
	"the answer would be too large; send fewer rows, or leave out options")

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}

// mostErrors is the number of rows whose errors are listed.
const mostErrors = 100

// use prepares for a model.
func (w *worker) use(s *served) {
	if w.of == s {
		return
	}
	w.of, w.tables = s, map[ask]*tabled{}
	w.input = s.objects.InMemory(dataset.Request{Mode: dataset.SkipRow, Lines: true,
		Reject: func(row int64, reason string) { w.reject(rowErr{Row: row, Reason: reason}) }})
	d := &w.drift
	d.Lock()
	defer d.Unlock()
	d.of, d.now, d.before, d.rows = s, nil, nil, 0
	if s.statistics != nil {
		d.now = sums.NewDriftCounts(s.statistics)
	}
}

// add counts the rows of a block.
func (d *driftWindow) add(b *rows.Block) {
	d.Lock()
	defer d.Unlock()
	if d.now == nil {
		return
	}
	if d.rows >= driftRows {
		d.now, d.before, d.rows = sums.NewDriftCounts(d.of.statistics), d.now, 0
	}
	d.now.Add(b, 0)
	d.rows += b.N
}

// addTo adds the counts to others, if they are of the same model.
func (d *driftWindow) addTo(all *sums.DriftCounts, s *served) {
	d.Lock()
	defer d.Unlock()
	if d.of != s || d.now == nil {
		return
	}
	all.Merge(d.now)
	if d.before != nil {
		all.Merge(d.before)
	}
}

// reject notes a row that cannot be used.
func (w *worker) reject(e rowErr) {
	w.nBad++
	if len(w.bad) == mostErrors {
		return
	}
	for _, name := range w.of.names { // the reason begins with the name of the column
		if reason, is := strings.CutPrefix(e.Reason, dataset.InColumn(name, "")); is {
			e.Column, e.Reason = name, reason
			break
		}
	}
	w.bad = append(w.bad, e)
}

// objects reads rows that are objects of JSON.
func (w *worker) objects(from source) error {
	of := &failing{source: from}
	objects, err := jsonlio.NewReader(of, w.input)
	if err != nil {
		return err
	}
	err = w.read(w.input.Rows(objects), math.MaxInt)
	if of.err != nil {
		return of.err
	}
	return err
}

// failing keeps the error after which there are no rows.
type failing struct {
	source
	err error
}

func (f *failing) Next() ([]byte, error) {
	text, err := f.source.Next()
	if _, bad := errors.AsType[*rows.BadRow](err); err != nil && err != io.EOF && !bad {
		f.err = err
	}
	return text, err
}

// csv reads rows in CSV.
func (w *worker) csv(ctx context.Context, text []byte, most int) error {
	d, err := w.of.open(ctx, "csv", text)
	if err != nil {
		return err
	}
	r := d.ReadFrom(ctx, nil, d.Shards(math.MaxInt64 / 2)[0], dataset.Request{Mode: dataset.SkipRow, Lines: true,
		Reject: func(line int64, reason string) { w.reject(rowErr{Line: line, Reason: reason}) }})
	defer r.Close()
	return w.read(r, most)
}

// read reads all rows into blocks.
func (w *worker) read(r *dataset.Reader, most int) error {
	w.bad, w.nBad, w.used = nil, 0, 0
	for n := 0; ; w.used++ {
		if w.used == len(w.blocks) {
			w.blocks = append(w.blocks, new(rows.Block))
		}
		b := w.blocks[w.used]
		if !r.Next(b) {
			break
		}
		if n += b.N; n > most {
			return tooManyRows(most)
		}
	}
	switch {
	case r.Report().Fault != "":
		return refused(http.StatusUnprocessableEntity, "%s", plainReason(r.Report().Fault))
	case w.nBad > 0:
		return badRows(w.bad, w.nBad)
	case w.used == 0:
		return refused(http.StatusUnprocessableEntity, "there are no rows")
	}
	return nil
}

// explainable refuses to explain more rows than the limit, or with more effects than an answer holds.
func (w *worker) explainable(most, bytes int) error {
	n := 0
	for _, b := range w.blocks[:w.used] {
		n += b.N
	}
	switch {
	case n > most:
		return refused(http.StatusRequestEntityTooLarge,
			"%d rows to explain; the limit is %d in a request; send them in several requests", n, most)
	case n*len(w.of.names)*w.of.model.Width() > bytes/8:
		return errTooLong
	}
	return nil
}

// predict writes the predictions for the rows that were read: lines of JSON, or CSV with a header. It
// returns their number; the text is valid until the next call.
func (w *worker) predict(ctx context.Context, a ask, most int) (text []byte, n int, err error) {
	t, err := w.table(a, most)
	if err != nil {
		return nil, 0, err
	}
	for _, b := range w.blocks[:w.used] {
		w.count(b)
		table, err := t.Block(ctx, b)
		if err != nil {
			return nil, 0, err
		}
		if len(table.Bad) > 0 {
			w.bad, w.nBad = nil, 0
			for _, i := range table.Bad {
				w.reject(rowErr{Row: b.Lines[i], Reason: "the numbers are too large for the model"})
			}
			return nil, 0, badRows(w.bad, w.nBad)
		}
		if err := t.to.Write(table); err != nil {
			delete(w.tables, a) // it holds a part of the answer
			return nil, 0, err
		}
		n += b.N
	}
	if err := t.to.Close(); err != nil {
		delete(w.tables, a)
		return nil, 0, err
	}
	return t.out.Bytes(), n, nil
}

// table returns what writes the tables, with nothing written except for a header.
func (w *worker) table(a ask, most int) (*tabled, error) {
	t := w.tables[a]
	if t != nil && !a.csv {
		t.out.Reset()
		return t, nil
	}
	p := &scores.Predict{Model: scores.Model{Threshold: w.threshold}, Scores: a.scores, Probabilities: a.probabilities,
		Certainty: a.certain, Explain: a.explain}
	made, err := p.Table(w.of.model)
	if err != nil { // a file of the model cannot be read: all else is checked before
		slog.Error("serve: explaining", "cause", err)
		return nil, refused(http.StatusInternalServerError, "the model cannot explain; the server's log has the cause")
	}
	t = &tabled{Table: made, out: &bounded{most: most}}
	format := "jsonl"
	if a.csv {
		format = "csv"
	}
	file, err := t.File(format)
	if err != nil {
		return nil, err
	}
	t.to = file.New(t.out)
	w.tables[a] = t
	return t, nil
}

// count counts what the values of a block are, before missing ones are filled in.
func (w *worker) count(b *rows.Block) {
	w.counted.block(w.of, b)
	w.drift.add(b)
}

// free releases memory that few requests need.
func (w *worker) free() {
	const keep, mostTables = 2, 16  // keep is a number of blocks
	if len(w.tables) > mostTables { // intervals of many levels
		clear(w.tables)
	}
	if len(w.blocks) > keep {
		w.blocks = w.blocks[:keep:keep]
	}
	for a, t := range w.tables {
		if t.out.Cap() > 1<<20 {
			delete(w.tables, a)
		}
	}
}

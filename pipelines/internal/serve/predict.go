package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/pipelines/internal/apply"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// question is a request whose body has been read.
type question struct {
	*servedModel
	requestOptions
	reserved reservation
	read     func(*worker) error // reads the rows
}

// Content types of bodies.
const (
	typeJSON  = "application/json"
	typeLines = "application/x-ndjson"
	typeCSV   = "text/csv"
)

// setFromURL sets options from the parameters of the URL.
func (q *question) setFromURL(query url.Values) error {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(optionNames, name) {
			return problemf(http.StatusBadRequest, "the parameter %.40q is unknown; have %s", name,
				strings.Join(optionNames, ", "))
		}
		if len(query[name]) > 1 {
			return problemf(http.StatusBadRequest, "the parameter %s is given twice", name)
		}
		text := query.Get(name)
		value := text
		if truth, err := strconv.ParseBool(text); err == nil && name != "interval" { // accepts 1, too
			value = strconv.FormatBool(truth)
		}
		if want := q.set(name, value); want != nil {
			return problemf(http.StatusBadRequest, "the parameter %s is %.40q; want %s", name, text, want)
		}
	}
	return nil
}

// question reads a request. The caller's function parses a JSON body.
func (s *server) question(w http.ResponseWriter, r *http.Request,
	parse func(*question, []byte) (source, error)) (*question, error) {
	q := &question{servedModel: s.current.Load(), reserved: reservation{s: s}}
	body, err := s.body(w, r, &q.reserved)
	if err != nil {
		return q, err
	}
	if err := q.setFromURL(r.URL.Query()); err != nil {
		return q, err
	}
	maxRows := s.options.Limits.MaxRows
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case typeJSON, "":
		rows, err := parse(q, body)
		if err != nil {
			return q, err
		}
		q.read = func(w *worker) error { return w.objects(rows, maxRows) }
	case typeLines, "application/jsonl", "application/jsonlines":
		q.read = func(w *worker) error { return w.objects(lines.New(bytes.NewReader(body), lines.Options{}), maxRows) }
	case typeCSV:
		q.read = func(w *worker) error { return w.csv(r.Context(), body, maxRows) }
	default:
		return q, problemf(http.StatusUnsupportedMediaType, "Content-Type is %.60q; want %s, %s or %s", kind, typeJSON,
			typeLines, typeCSV)
	}
	return q, q.check()
}

// check returns a problem if the model cannot answer the question.
func (q *question) check() error {
	if q.probabilities && q.model.Manifest.Probabilities == nil {
		return problemf(http.StatusBadRequest,
			"the model has no probabilities; train a classifier with --calibrate platt to have them")
	}
	if q.explain && q.unexplained != nil {
		return problemf(http.StatusBadRequest, "%s", strings.TrimPrefix(q.unexplained.Error(), "models: "))
	}
	if err := apply.NeedCertainty(q.certain, q.model.Manifest, "", "the model"); err != nil {
		return problemf(http.StatusBadRequest, "%s", err)
	}
	return nil
}

// parseRows returns the rows of a body of /v1/predict: {"rows": […]}, an array, or one object.
func parseRows(q *question, body []byte) (source, error) {
	if strings.HasPrefix(strings.TrimLeft(string(body[:min(len(body), 100)]), " \t\r\n"), "[") {
		if err := syntax(body); err != nil {
			return nil, err
		}
		return newElements(body, q.names)
	}
	values, others, err := members(body, append(optionNames[:len(optionNames):len(optionNames)], "rows")...)
	if err != nil {
		return nil, err
	}
	array := values["rows"]
	if len(array) == 0 || array[0] != '[' { // "rows" may also be the name of a column
		return &single{text: body}, nil
	}
	if others {
		return nil, problemf(http.StatusBadRequest, `only "%s" may be added to "rows"`, strings.Join(optionNames, `", "`))
	}
	if err := q.setFromJSON(values); err != nil {
		return nil, err
	}
	return newElements(array, q.names)
}

// setFromJSON sets options from the members of a JSON object.
func (q *question) setFromJSON(values map[string]json.RawMessage) error {
	for _, name := range optionNames {
		if text, given := values[name]; given {
			if want := q.set(name, string(text)); want != nil {
				return problemf(http.StatusBadRequest, "%q must be %s", name, want)
			}
		}
	}
	return nil
}

// answer computes the predictions and returns them as CSV, or as the array of JSON that form makes of lines.
func (s *server) answer(ctx context.Context, q *question, form func(text []byte) []byte) (text []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Limits.Timeout)
	defer cancel()
	w, release, err := s.worker(ctx, q)
	if err != nil {
		return nil, err
	}
	defer release()
	crash := fault.Guard(func() error {
		text, err = s.compute(ctx, w, q, form)
		return nil
	})
	if crash != nil {
		w.model, w.blocks, w.used = nil, nil, 0 // drop state after a panic
		slog.ErrorContext(ctx, "serve: internal error", "cause", crash)
		return nil, problemf(http.StatusInternalServerError, "internal error; the server's log has the cause")
	}
	s.metrics.refused.Add(float64(w.nBad))
	w.nBad = 0
	return text, err
}

// compute reads the rows of a request and predicts them.
func (s *server) compute(ctx context.Context, w *worker, q *question, form func(text []byte) []byte) ([]byte, error) {
	w.use(q.servedModel)
	defer w.free()
	if err := q.read(w); err != nil {
		return nil, err
	}
	maxBytes := int(s.options.Limits.MaxMemory / 4)
	if q.explain {
		if err := w.explainable(s.options.Limits.MaxExplained, maxBytes); err != nil {
			return nil, err
		}
	}
	out, err := w.predict(ctx, q.requestOptions, maxBytes)
	switch {
	case errors.Is(err, context.Canceled):
		return nil, errClientGone
	case errors.Is(err, context.DeadlineExceeded):
		return nil, problemf(http.StatusRequestEntityTooLarge, "explaining the predictions takes longer than %v; send "+
			"fewer rows",
			s.options.Limits.Timeout)
	case err != nil:
		return nil, err
	}
	if err := q.reserved.take(int64(len(out) + 200)); err != nil {
		return nil, err
	}
	s.metrics.answered(q.servedModel, &w.counts)
	return form(out), nil
}

// worker waits for a free worker, which release takes back. Explanations take long, so they may not use all
// workers at once.
func (s *server) worker(ctx context.Context, q *question) (w *worker, release func(), err error) {
	release = func() { s.idle <- w }
	if q.explain {
		if s.explaining.Acquire(ctx, 1) != nil {
			return nil, nil, s.lateProblem(ctx)
		}
		release = func() {
			s.idle <- w
			s.explaining.Release(1)
		}
	}
	select {
	case w = <-s.idle:
		return w, release, nil
	case <-ctx.Done():
		if q.explain {
			s.explaining.Release(1)
		}
		return nil, nil, s.lateProblem(ctx)
	}
}

// lateProblem returns the error of a request whose context ended before a worker was free.
func (s *server) lateProblem(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return errClientGone
	}
	return problemf(http.StatusServiceUnavailable, "no worker was free in %v; try again later", s.options.Limits.Timeout)
}

// predict answers /v1/predict.
func (s *server) predict(w http.ResponseWriter, r *http.Request) error {
	q, err := s.question(w, r, parseRows)
	defer q.reserved.release()
	if err != nil {
		return err
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Accept"))
	q.csv = kind == typeCSV
	text, err := s.answer(r.Context(), q, func(text []byte) []byte {
		if q.csv {
			return bytes.Clone(text)
		}
		head := `{"model":"` + q.model.Manifest.SHA256 + `","predictions":[`
		return append(joinLines([]byte(head), text), "]}\n"...)
	})
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", typeJSON)
	if q.csv {
		h.Set("Content-Type", typeCSV+"; charset=utf-8")
	}
	h.Set("Bochner-Model", q.model.Manifest.SHA256)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // ignore errors of clients that have gone
	return nil
}

// joinLines appends lines of JSON as the elements of an array.
func joinLines(dst, text []byte) []byte {
	from := len(dst)
	dst = append(dst, bytes.TrimSuffix(text, []byte("\n"))...)
	for i, c := range dst[from:] {
		if c == '\n' { // strings contain none, because JSON escapes them
			dst[from+i] = ','
		}
	}
	return dst
}

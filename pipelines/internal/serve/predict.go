package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/io/lines"
	"github.com/bochner-ml/bochner/transforms"
)

// question is a request whose body was read.
type question struct {
	*served
	ask
	held held
	read func(*worker) error // reads the rows
}

// Types of bodies.
const (
	typeJSON  = "application/json"
	typeLines = "application/x-ndjson"
	typeCSV   = "text/csv"
)

// wants takes the parameters of an address.
func (q *question) wants(query url.Values) (err error) {
	known := map[string]*bool{"scores": &q.scores, "probabilities": &q.probabilities}
	for name := range query {
		to, text := known[name], query.Get(name)
		if to == nil {
			return refused(http.StatusBadRequest, "the parameter %.40q is unknown; have probabilities and scores", name)
		}
		if *to, err = strconv.ParseBool(text); err != nil {
			return refused(http.StatusBadRequest, "the parameter %s is %.40q; want true or false", name, text)
		}
	}
	return nil
}

// question reads a request, whose JSON is read by a function of the caller.
func (s *Server) question(w http.ResponseWriter, r *http.Request,
	parse func(q *question, body []byte) (source, error)) (*question, error) {
	q := &question{served: s.now.Load(), held: held{s: s}}
	body, err := s.body(w, r, &q.held)
	if err != nil {
		return q, err
	}
	if err := q.wants(r.URL.Query()); err != nil {
		return q, err
	}
	most := s.o.Limits.Rows
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case typeJSON, "":
		rows, err := parse(q, body)
		if err != nil {
			return q, err
		}
		q.read = func(w *worker) error { return w.objects(rows) }
	case typeLines, "application/jsonl", "application/jsonlines":
		rows := &limited{source: lines.New(bytes.NewReader(body), lines.Options{End: -1}), most: most}
		q.read = func(w *worker) error { return w.objects(rows) }
	case typeCSV:
		q.read = func(w *worker) error { return w.csv(r.Context(), body, most) }
	default:
		return q, refused(http.StatusUnsupportedMediaType, "Content-Type is %.60q; want %s, %s or %s", kind, typeJSON,
			typeLines, typeCSV)
	}
	return q, q.check()
}

// check refuses questions that the model has no answer to.
func (q *question) check() error {
	if q.probabilities && q.model.Manifest.Probabilities == nil {
		return refused(http.StatusBadRequest,
			"the model has no probabilities; a classifier that was trained with --calibrate has some")
	}
	return nil
}

// rows returns the rows of a body of /v1/predict: {"rows": […]}, an array, or one object.
func (s *Server) rows(q *question, body []byte) (source, error) {
	if strings.HasPrefix(strings.TrimLeft(string(body[:min(len(body), 100)]), " \t\r\n"), "[") {
		if err := syntax(body); err != nil {
			return nil, err
		}
		return newElements(body, q.names, s.o.Limits.Rows)
	}
	found, others, err := members(body, "rows", "scores", "probabilities")
	if err != nil {
		return nil, err
	}
	array := found["rows"]
	if len(array) == 0 || array[0] != '[' { // a column may have any name
		return &single{text: body}, nil
	}
	if others {
		return nil, refused(http.StatusBadRequest, `next to "rows" there can be "scores" and "probabilities", nothing else`)
	}
	if err := q.asked(found); err != nil {
		return nil, err
	}
	return newElements(array, q.names, s.o.Limits.Rows)
}

// asked takes what the members of an object ask for besides predictions.
func (q *question) asked(found map[string]json.RawMessage) error {
	for name, to := range map[string]*bool{"scores": &q.scores, "probabilities": &q.probabilities} {
		text, given := found[name]
		if given && string(text) != "true" && string(text) != "false" {
			return refused(http.StatusBadRequest, "%q must be true or false", name)
		}
		*to = *to && !given || string(text) == "true"
	}
	return nil
}

// answer computes the predictions, and returns the text that form makes of them: an array of JSON, or CSV.
func (s *Server) answer(ctx context.Context, q *question, form func(text []byte) []byte) (text []byte, err error) {
	var w *worker
	late := time.NewTimer(s.o.Limits.Timeout)
	defer late.Stop()
	select {
	case w = <-s.idle:
	case <-ctx.Done():
		return nil, refused(http.StatusServiceUnavailable, "the client is gone")
	case <-late.C:
		return nil, refused(http.StatusServiceUnavailable, "no worker was free in %v; try again later", s.o.Limits.Timeout)
	}
	defer func() { s.idle <- w }()
	crash := transforms.Guard(func() error {
		w.use(q.served)
		defer w.free()
		if err = q.read(w); err != nil {
			return nil
		}
		var lines []byte
		if lines, _, err = w.predict(ctx, q.ask, int(s.o.Limits.Memory/4)); err != nil {
			return nil
		}
		if err = q.held.take(int64(len(lines) + 200)); err == nil {
			text = form(lines)
		}
		return nil
	})
	if crash != nil {
		w.of, w.blocks, w.used = nil, nil, 0 // whatever they are now
		slog.ErrorContext(ctx, "serve: internal error", "cause", crash)
		return nil, refused(http.StatusInternalServerError, "internal error; the server's log has the cause")
	}
	s.counted.refused.Add(float64(w.nBad))
	w.nBad = 0
	return text, err
}

// predict answers /v1/predict.
func (s *Server) predict(w http.ResponseWriter, r *http.Request) error {
	q, err := s.question(w, r, s.rows)
	defer q.held.release()
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
		return append(joined([]byte(head), text), "]}\n"...)
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
	_, _ = w.Write(text) // a client that is gone is told nothing
	return nil
}

// joined appends lines of JSON as the elements of an array.
func joined(dst, lines []byte) []byte {
	from := len(dst)
	dst = append(dst, bytes.TrimSuffix(lines, []byte("\n"))...)
	for i, c := range dst[from:] {
		if c == '\n' { // texts have none: JSON escapes them
			dst[from+i] = ','
		}
	}
	return dst
}

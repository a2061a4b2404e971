package serve

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/io/schema"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	pageStyle    string
	pageTemplate = template.Must(template.New("page").Parse(pageText))
	// The policy allows no scripts, and only the style in the page itself.
	pagePolicy = func() string {
		sum := sha256.Sum256([]byte(pageStyle))
		return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	}()
)

// page holds the data of the template.
type page struct {
	Style   template.CSS
	Task    string
	Digest  string
	Columns int
	Fields  []field
	Row     string // a row as JSON, instead of Fields if there are too many columns
	Problem string
	Answer  *shownAnswer
	Curl    string
}

// field is a field of the form, for a column.
type field struct {
	Name, Value, Hint string
	Key               string   // name of the field in the form
	Options           []string // values to choose from; nil for a text field
	Suggest           bool     // Options are suggestions; other texts are allowed
	Decimal           bool     // phones show a keyboard with digits
	Missing           bool     // the value may be empty
	Problem           string
}

const (
	maxFields    = 200  // largest number of columns with fields
	maxChoices   = 40   // largest number of levels in a selection list
	maxSuggested = 1000 // largest number of suggested levels
)

// page answers with a form for a row, and with the prediction for a row that was filled in.
func (s *server) page(w http.ResponseWriter, r *http.Request) error {
	q := &question{servedModel: s.current.Load(), reserved: reservation{s: s}}
	defer q.reserved.release()
	m := q.model.Manifest
	p := &page{Style: template.CSS(pageStyle), Task: string(m.Task), Digest: m.SHA256, Columns: len(q.names)}
	if len(q.types) <= maxFields {
		p.Fields = q.fields()
	} else {
		p.Row = q.typicalRow()
	}
	code := http.StatusOK
	if r.Method == http.MethodPost {
		body, err := s.body(w, r, &q.reserved)
		if err != nil {
			return err
		}
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return problemf(http.StatusBadRequest, "the body is not a form")
		}
		if code, err = s.fill(r, q, p, form); err != nil {
			return err
		}
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, p); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(code)
	_, _ = w.Write(out.Bytes()) // ignore errors of clients that have gone
	return nil
}

// fill adds the values of a form and the prediction for them to the page. It returns the status.
func (s *server) fill(r *http.Request, q *question, p *page, form url.Values) (int, error) {
	row := []byte(strings.TrimSpace(form.Get("row")))
	if p.Row == "" {
		values := make([]json.RawMessage, len(p.Fields))
		for i := range p.Fields {
			f := &p.Fields[i]
			f.Value = strings.TrimSpace(form.Get(f.Key))
			values[i] = valueOf(&q.types[i], f.Value)
			if c := &q.types[i]; f.Suggest && f.Value != "" && !slices.Contains(c.Levels, f.Value) {
				f.Hint = "not seen in training"
			}
		}
		row = object(nil, q.names, values)
	} else if p.Row = string(row); syntax(row) != nil {
		p.Problem = problemOf(syntax(row)).Detail
		return http.StatusBadRequest, nil
	}
	p.Curl = curl(r, q.askAll(len(p.Fields) > 0), s.token != nil, row)
	q.read = func(w *worker) error {
		if row[0] != '[' {
			return w.objects(&single{text: row}, 1)
		}
		rows, err := newElements(slices.Concat([]byte("["), row, []byte("]")), q.names)
		if err != nil {
			return err
		}
		return w.objects(rows, 1)
	}
	text, err := s.answer(r.Context(), q, bytes.Clone)
	if err != nil {
		bad := problemOf(err)
		if bad.Status != http.StatusUnprocessableEntity {
			return 0, err
		}
		p.Problem = bad.Detail
		for _, e := range bad.Errors {
			if i := slices.Index(q.names, e.Column); i >= 0 && i < len(p.Fields) {
				p.Fields[i].Problem, p.Problem = e.Reason, "The row cannot be used: see the field "+e.Column+"."
			}
		}
		return bad.Status, nil
	}
	p.Answer, err = q.showAnswer(text, p.Fields)
	return http.StatusOK, err
}

// askAll sets the options that the page shows, and returns them as a query.
func (q *question) askAll(explain bool) string {
	q.scores, q.probabilities, q.certain = true, q.model.Manifest.Probabilities != nil, q.certainty()
	q.explain = explain && q.unexplained == nil && !q.model.Embeds()
	query := "?scores=true"
	if q.probabilities {
		query = "?probabilities=true"
	}
	if q.certain.Interval > 0 {
		query += fmt.Sprint("&interval=", q.certain.Interval)
	}
	if q.certain.Novelty {
		query += "&novelty=true"
	}
	if q.explain {
		query += "&explain=true"
	}
	return query
}

// valueOf returns a value of a form in JSON: numbers and booleans as such if they look like them, and empty
// values as null.
func valueOf(c *schema.Column, text string) json.RawMessage {
	plain := c.Type == schema.Number || text == "true" || text == "false"
	switch {
	case text == "":
		return json.RawMessage("null")
	case plain && json.Valid([]byte(text)) && !strings.ContainsAny(text[:1], `"[{n`):
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // cannot fail
	return quoted
}

// curl returns the command that makes the same request.
func curl(r *http.Request, query string, token bool, row []byte) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	quoted := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
	text := "curl " + quoted(scheme+"://"+r.Host+"/v1/predict"+query) + " \\\n  -H 'Content-Type: application/json' \\\n"
	if token {
		text += "  -H \"Authorization: Bearer $TOKEN\" \\\n"
	}
	return text + "  -d " + quoted(string(row))
}

// fields returns the fields of the form, with typical values.
func (s *servedModel) fields() []field {
	all := make([]field, len(s.types))
	for i, slot := range s.slots() {
		c := &s.types[i]
		f := field{Name: c.Name, Key: "c" + strconv.Itoa(i+1), Value: s.typical(i, slot), Missing: s.missing}
		switch c.Type {
		case schema.Category:
			f.Options, f.Suggest = c.Levels[:min(len(c.Levels), maxSuggested)], len(c.Levels) > maxChoices
			f.Hint = fmt.Sprintf("category of %d levels", len(c.Levels))
			if c.Buckets > 0 {
				f.Hint = "category"
			}
		case schema.Boolean:
			f.Options = []string{"true", "false"}
		case schema.Time:
			f.Hint = "time in the layout  " + c.Layout
		default:
			f.Hint, f.Decimal = "number", true
			if st := s.statistics; st != nil && st.Rows > st.Columns[slot].Missing {
				f.Hint = fmt.Sprintf("number, %s to %s in training", s.number(slot, st.Columns[slot].Min),
					s.number(slot, st.Columns[slot].Max))
			}
		}
		all[i] = f
	}
	return all
}

// slots returns the position in a row of the first value of each column.
func (s *servedModel) slots() (slots []int) {
	at := 0
	for i := range s.types {
		slots = append(slots, at)
		at += s.types[i].Width()
	}
	return slots
}

// number formats a value of a row in the units of the data.
func (s *servedModel) number(slot int, v float32) string {
	if c := s.like.Centre; c != nil {
		return short(float64(v) + c[slot])
	}
	shortest, _ := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
	return string(schema.AppendFloat(nil, shortest))
}

// typical returns a typical value of a column as text: the median or the most frequent level, "" if unknown.
func (s *servedModel) typical(column, slot int) string {
	st, c := s.statistics, &s.types[column]
	if st == nil {
		return ""
	}
	if c.Type == schema.Category {
		if st.Levels == nil || len(c.Levels) == 0 {
			return ""
		}
		counts := st.Levels[slot][:len(c.Levels)]
		return c.Levels[slices.Index(counts, slices.Max(counts))]
	}
	if slot >= len(st.Deciles) || len(st.Deciles[slot]) < 5 {
		return ""
	}
	median := st.Deciles[slot][4]
	switch c.Type {
	case schema.Boolean:
		return strconv.FormatBool(median >= 0.5)
	case schema.Time:
		return time.Unix(int64(median)*86400, 0).UTC().Add(12 * time.Hour).Format(dates[c.Layout])
	}
	return s.number(slot, median)
}

// dates holds the layouts of package time for the layouts of times.
var dates = map[string]string{
	"iso": time.DateOnly, "d.m.y": "02.01.2006", "m/d/y": "01/02/2006", "d/m/y": "02/01/2006", "y/m/d": "2006/01/02",
	"d-m-y": "02-01-2006", "m-d-y": "01-02-2006", "y-m-d": time.DateOnly, "d mon y": "2 Jan 2006", "mon d y": "Jan 2 2006",
	schema.DigitsLayout: "20060102", "h:m": "15:04",
}

// typicalRow returns a row of typical values in JSON.
func (s *servedModel) typicalRow() string {
	values := make([]json.RawMessage, len(s.types))
	for i, slot := range s.slots() {
		values[i] = valueOf(&s.types[i], s.typical(i, slot))
	}
	if s.like.Table == nil && len(s.like.Columns) == 0 { // columns have no names
		text, _ := json.Marshal(values) // each is JSON
		return string(text)
	}
	return string(object(nil, s.names, values))
}

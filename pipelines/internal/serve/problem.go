package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// problem is the reason why a request has no answer, in the form of RFC 9457.
type problem struct {
	Title  string   `json:"title"` // text of the status
	Status int      `json:"status"`
	Detail string   `json:"detail"`
	Errors []rowErr `json:"errors,omitempty"` // the first rows that cannot be used
	// Rows is the number of rows that cannot be used.
	Rows int `json:"rows,omitempty"`
}

// rowErr is the reason why a row cannot be used.
type rowErr struct {
	Row    int64  `json:"row,omitempty"`  // from 1
	Line   int64  `json:"line,omitempty"` // of a body with lines, instead of Row
	Column string `json:"column,omitempty"`
	Reason string `json:"reason"`
}

func (p *problem) Error() string { return p.Detail }

// newProblem returns a problem with a detail but no rows.
func newProblem(status int, format string, args ...any) *problem {
	return &problem{Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

func tooManyRows(most int) *problem {
	return newProblem(http.StatusRequestEntityTooLarge, "more than %d rows; send them in several requests", most)
}

// problemOf returns the problem to report for an error.
func problemOf(err error) *problem {
	if p, is := errors.AsType[*problem](err); is {
		return p
	}
	return newProblem(http.StatusUnprocessableEntity, "%s", plainReason(err.Error()))
}

// badRows returns the problem for rows that cannot be used.
func badRows(all []rowErr, n int) *problem {
	p := newProblem(http.StatusUnprocessableEntity, "")
	first := all[0]
	at := fmt.Sprintf("row %d", first.Row)
	if first.Line > 0 {
		at = fmt.Sprintf("line %d", first.Line)
	}
	if first.Column != "" {
		at += fmt.Sprintf(", column %q", first.Column)
	}
	p.Detail, p.Errors, p.Rows = at+": "+first.Reason, all, n
	return p
}

// write answers a request with the problem.
func (p *problem) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	switch p.Status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusRequestEntityTooLarge:
		w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	body, _ := json.Marshal(p)
	w.WriteHeader(p.Status)
	w.Write(append(body, '\n')) // ignore errors of clients that have gone
}

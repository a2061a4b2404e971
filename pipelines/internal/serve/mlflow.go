package serve

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// forms holds the members of which a request to MLflow's scoring server has exactly one.
var forms = []string{"dataframe_split", "dataframe_records", "instances", "inputs"}

// invocations answers requests like MLflow's scoring server.
func (s *server) invocations(w http.ResponseWriter, r *http.Request) error {
	q, err := s.question(w, r, parseFrame)
	defer q.reserved.release()
	if err != nil {
		return err
	}
	text, err := s.answer(r.Context(), q, func(text []byte) []byte {
		return append(joinLines([]byte(`{"predictions":[`), unwrapPredictions(text)), "]}\n"...)
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", typeJSON)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // ignore errors of clients that have gone
	return nil
}

// unwrapPredictions returns lines with only the value of each prediction, if the objects have no other member.
func unwrapPredictions(lines []byte) []byte {
	const before, after = `{"prediction":`, "}"
	first, _, _ := bytes.Cut(lines, []byte("\n"))
	var only map[string]json.RawMessage
	if json.Unmarshal(first, &only) != nil || len(only) != 1 || only["prediction"] == nil {
		return lines
	}
	out := lines[:0] // in place, because the output is shorter
	for line := range bytes.Lines(lines) {
		line = bytes.TrimSuffix(bytes.TrimSpace(line), []byte(after))
		out = append(append(out, line[len(before):]...), '\n')
	}
	return out
}

// parseFrame returns the rows in a body of /invocations.
func parseFrame(q *question, body []byte) (source, error) {
	values, others, err := members(body, slices.Concat(forms, []string{"params", "signature_name"})...)
	if err != nil {
		return nil, err
	}
	if params := values["params"]; params != nil {
		added, unknown, err := members(params, optionNames...)
		switch {
		case err != nil:
			return nil, err
		case unknown:
			return nil, problemf(http.StatusBadRequest, `only "%s" may be in "params"`, strings.Join(optionNames, `", "`))
		}
		if err := q.setFromJSON(added); err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(values, func(name string, _ json.RawMessage) bool { return !slices.Contains(forms, name) })
	if len(values) != 1 || others {
		return nil, problemf(http.StatusBadRequest, "the body must have one of the members %s; only params may be added",
			strings.Join(forms, ", "))
	}
	for form, value := range values {
		switch {
		case form == "dataframe_split":
			return splitFrame(value)
		case value[0] == '{' && form != "dataframe_records":
			columns, _, err := members(value, q.names...)
			if err != nil {
				return nil, err
			}
			return newColumnar(columns)
		}
		return newElements(value, q.names)
	}
	panic("unreachable")
}

// splitFrame returns the rows of a data frame in which the columns are named once.
func splitFrame(value json.RawMessage) (source, error) {
	values, _, err := members(value, "columns", "data")
	if err != nil {
		return nil, err
	}
	var columns []string
	if err := json.Unmarshal(values["columns"], &columns); err != nil || len(columns) == 0 {
		return nil, problemf(http.StatusBadRequest, `"dataframe_split" must have "columns", an array of names`)
	}
	return newElements(values["data"], columns)
}

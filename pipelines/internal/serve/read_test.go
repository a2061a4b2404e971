package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
)

// texts returns all that a source has, and the error after which it has no more.
func texts(s source) (all []string, err error) {
	for {
		text, err := s.Next()
		switch _, bad := errors.AsType[*rowio.BadRow](err); {
		case err == io.EOF:
			return all, nil
		case bad:
			all = append(all, "bad: "+err.Error())
		case err != nil:
			return all, err
		default:
			all = append(all, string(text))
		}
	}
}

func TestElementsAreObjectsOrValuesInOrder(t *testing.T) {
	names := []string{"a", `"b"`}
	e, err := newElements([]byte(`[{"a": 1}, [1, "x"], [ ], [1, 2, 3], 7, [[1], {"k": null}]]`), names)
	if err != nil {
		t.Fatal(err)
	}
	got, err := texts(e)
	want := []string{`{"a": 1}`, `{"a":1,"\"b\"":"x"}`, "bad: has 0 instead of 2 values, one for each column",
		"bad: has more than 2 values, one for each column", "7", `{"a":[1],"\"b\"":{"k": null}}`}
	if err != nil || len(got) != len(want) {
		t.Fatalf("%q %v", got, err)
	}
	for i := range want {
		if !strings.Contains(got[i], strings.TrimPrefix(want[i], "bad: ")) {
			t.Errorf("%d: %q, want %q", i, got[i], want[i])
		}
	}
	if e, err = newElements([]byte(`[1, 2, 3]`), names); err == nil {
		got, err = texts(&limitedSource{source: e, limit: 2})
	}
	if p := problemOf(err); len(got) != 2 || p.Status != 413 {
		t.Errorf("%q %v", got, p)
	}
}

func TestColumnsBecomeRows(t *testing.T) {
	columnsOf := func(text string) ([]string, error) {
		found, _, err := members([]byte(text), "a", "b")
		if err != nil {
			return nil, err
		}
		c, err := newColumnar(found)
		if err != nil {
			return nil, err
		}
		return texts(&limitedSource{source: c, limit: 3})
	}
	got, err := columnsOf(`{"b": ["x", null], "a": [1e3, 2.50], "c": 7}`)
	if diff := cmp.Diff([]string{`{"a":1e3,"b":"x"}`, `{"a":2.50,"b":null}`}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for text, status := range map[string]int{
		`{"a": [1, 2], "b": [1]}`: 400, `{"a": [1], "b": [1, 2]}`: 400, `{"a": 1, "b": [1]}`: 400,
		`{"a": [1, 2, 3, 4], "b": [1, 2, 3, 4]}`: 413,
	} {
		if _, err := columnsOf(text); err == nil || problemOf(err).Status != status {
			t.Errorf("%s: %v, want %d", text, err, status)
		}
	}
}

func TestSinglePredictionsAreUnwrapped(t *testing.T) {
	for lines, want := range map[string]string{
		"{\"prediction\":\"}\"}\n{\"prediction\":\"a\"}\n":     "\"}\"\n\"a\"\n",
		"{\"prediction\":1.5}\n":                               "1.5\n",
		"{\"prediction\":1.5,\"scores\":{\"y\":1.5}}\n":        "{\"prediction\":1.5,\"scores\":{\"y\":1.5}}\n",
		"{\"prediction_a\":1,\"prediction_b\":2}\n":            "{\"prediction_a\":1,\"prediction_b\":2}\n",
		"{\"components\":[1,2]}\n{\"components\":[1,2]}\n":     "{\"components\":[1,2]}\n{\"components\":[1,2]}\n",
		"{\"prediction\":\"\\n\"}\n{\"prediction\":\"x\\\"\"}": "\"\\n\"\n\"x\\\"\"\n",
	} {
		if got := string(unwrapPredictions([]byte(lines))); got != want {
			t.Errorf("%q: %q, want %q", lines, got, want)
		}
	}
}

func TestFormValuesBecomeJSON(t *testing.T) {
	for text, want := range map[string]string{
		"": "null", "1.5": "1.5", "-1e3": "-1e3", "01": `"01"`, "abc": `"abc"`, "null": `"null"`, "[1]": `"[1]"`, `"`: `"\""`,
		"true": "true", "1,5": `"1,5"`, "</script>": `"\u003c/script\u003e"`,
	} {
		if got := string(valueOf(&schema.Column{Type: schema.Number}, text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := string(valueOf(&schema.Column{Type: schema.Category}, "07")); got != `"07"` {
		t.Errorf("a category: %s", got)
	}
}

// Any body gives the rows that encoding/json gives, and none ends the program.
func FuzzRowsOfABody(f *testing.F) {
	for _, text := range []string{`{"rows":[{"a":1},{"a":2}]}`, `[[1],[2]]`, `{"a":1}`, `{"rows":[1]`, `{"rows":[{"a":[1,{}]}]} x`,
		`[`, `null`, `{"rows":null}`, "[\n1 , \"]\" ]", `{"rows":[],"scores":1}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		q := &question{servedModel: &servedModel{names: []string{"a"}}}
		from, err := parseRows(q, body)
		var twin any
		valid := json.Unmarshal(body, &twin) == nil
		if err != nil {
			if p := problemOf(err); p.Status != 400 {
				t.Fatalf("%q: %v", body, p)
			}
			return
		}
		if !valid {
			t.Fatalf("%q is not JSON, and was taken", body)
		}
		if m, ok := twin.(map[string]any); ok {
			twin = m["rows"]
			if from.Line() == 1 {
				return // one object, as it is
			}
		}
		got, err := texts(&limitedSource{source: from, limit: 100})
		want, ok := twin.([]any)
		if !ok || err == nil && len(got) != len(want) || err != nil && len(want) <= 100 {
			t.Fatalf("%q: %q %v, want %v", body, got, err, want)
		}
		for i := range got {
			if _, list := want[i].([]any); list || strings.HasPrefix(got[i], "bad: ") {
				continue
			}
			var value any
			if err := json.Unmarshal([]byte(got[i]), &value); err != nil || cmp.Diff(want[i], value) != "" {
				t.Fatalf("%q: row %d is %s", body, i, got[i])
			}
		}
	})
}

func TestProblemsNameRowAndColumn(t *testing.T) {
	p := badRows([]rowErr{{Row: 2, Column: "age", Reason: `"x" is not a number`}, {Row: 3, Reason: "y"}}, 2)
	if p.Detail != `row 2, column "age": "x" is not a number` || p.Rows != 2 || p.Status != 422 {
		t.Errorf("%+v", p)
	}
	if got := plainReason("csvio: " + requestName + ": missing column " + strconv.Quote("a")); got != `missing column "a"` {
		t.Error(got)
	}
	var b boundedBuffer
	b.limit = 3
	if _, err := b.Write([]byte("1234")); problemOf(err).Status != 413 || !bytes.Equal(b.Bytes(), nil) {
		t.Error(err, b.String())
	}
}

package export

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/safetensors"
)

// write returns the files of a table, by suffix.
func write(t *testing.T, format string, columns []Column, b *Block) map[string][]byte {
	t.Helper()
	files, err := Files(format, columns)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		var buf bytes.Buffer
		w := f.New(&buf)
		if err := errors.Join(w.Write(b), w.Close()); err != nil {
			t.Fatal(err)
		}
		out[f.Suffix] = buf.Bytes()
	}
	return out
}

func TestRowsWithoutValuesKeepTheirPlace(t *testing.T) {
	said := Column{Name: "prediction", Header: []string{"prediction"}, Levels: []string{"a,b", `"c"`}}
	line := Column{Name: "line", Header: []string{"line"}, Always: true}
	scores := Column{Name: "scores", Header: []string{"s1", "s2"}, Keys: []string{"1", `"2"`}}
	class, lines, values := []int32{0, 0, 1}, []int64{7, 8, 9}, []float32{.5, 1, 2, 3, -1e-7, 4}
	for name, c := range map[string]struct {
		format  string
		columns []Column
		values  []any
		want    []string
	}{
		"csv alone": {"csv", []Column{said}, []any{class}, []string{"prediction", `"a,b"`, `""`, `"""c"""`}},
		"csv": {"csv", []Column{line, said, scores}, []any{lines, class, values},
			[]string{"line,prediction,s1,s2", `7,"a,b",0.5,1`, "8,,,", `9,"""c""",-1e-07,4`}},
		"jsonl": {"jsonl", []Column{line, said, scores}, []any{lines, class, values}, []string{
			`{"line":7,"prediction":"a,b","scores":{"1":0.5,"\"2\"":1}}`, `{"line":8,"prediction":null}`,
			`{"line":9,"prediction":"\"c\"","scores":{"1":-1e-07,"\"2\"":4}}`}},
	} {
		files := write(t, c.format, c.columns, &Block{N: 3, Values: c.values, Bad: []int{1}})
		got := strings.Split(strings.TrimSuffix(string(files["."+c.format]), "\n"), "\n")
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestEveryFormatHoldsTheSameTable(t *testing.T) {
	x, y := []float32{1, .1, -3, 4e20}, []int32{1, 0}
	columns := []Column{{Name: "features", Header: []string{"f1", "f2"}, List: true},
		{Name: "labels", Header: []string{"label"}, Levels: []string{"no", "yes"}}}
	b := &Block{N: 2, Values: []any{x, y}}

	npy := write(t, "npy", columns, b)
	for suffix, want := range map[string][]any{
		".npy":        {"'<f4', 'fortran_order': False, 'shape': (2, 2)", x},
		"-labels.npy": {"'<i4', 'fortran_order': False, 'shape': (2,)", y},
	} {
		numbers, _ := binary.Append(nil, binary.LittleEndian, want[1])
		if got := npy[suffix]; !bytes.Contains(got, []byte(want[0].(string))) || !bytes.Equal(got[128:], numbers) {
			t.Errorf("%s: %q", suffix, got)
		}
	}
	data := write(t, "safetensors", columns, b)[".safetensors"]
	f, err := safetensors.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := safetensors.Values[float32](f, "features"); err != nil || !slices.Equal(v, x) {
		t.Errorf("safetensors: %v %v", v, err)
	}
	if v, err := safetensors.Values[float64](f, "labels"); err != nil || !slices.Equal(v, []float64{1, 0}) {
		t.Errorf("safetensors labels: %v %v", v, err)
	}
	records, err := csv.NewReader(bytes.NewReader(write(t, "csv", columns, b)[".csv"])).ReadAll()
	if err != nil || !slices.Equal(slices.Concat(records...),
		[]string{"f1", "f2", "label", "1", "0.1", "yes", "-3", "4e+20", "no"}) {
		t.Errorf("csv: %q %v", records, err)
	}
	var row struct {
		Features []float32
		Labels   string
	}
	first, _, _ := bytes.Cut(write(t, "jsonl", columns, b)[".jsonl"], []byte{'\n'})
	if err := json.Unmarshal(first, &row); err != nil || !slices.Equal(row.Features, x[:2]) || row.Labels != "yes" {
		t.Errorf("jsonl: %s %v", first, err)
	}
}

func TestSetsAreTextsOrArrays(t *testing.T) {
	names := []string{"a|b", `c\`, "d,e"}
	b := &Block{N: 4, Values: []any{&Sets{Ends: []int{2, 2, 2, 5}, Items: []int32{0, 2, 0, 1, 2}}}, Bad: []int{1}}
	columns := []Column{{Name: "set", Header: []string{"set"}, Levels: names}}
	for format, want := range map[string]string{
		"csv": "set\n\"a\\|b|d,e\"\n\"\"\n\"\"\n\"a\\|b|c\\\\|d,e\"\n",
		"jsonl": `{"set":["a|b","d,e"]}` + "\n" + `{"set":null}` + "\n" + `{"set":[]}` + "\n" +
			`{"set":["a|b","c\\","d,e"]}` + "\n",
	} {
		if got := string(write(t, format, columns, b)["."+format]); got != want {
			t.Errorf("%s: %s, want %s", format, got, want)
		}
	}
	columns[0].Levels, columns[0].Numeric = []string{"1", "2.5", "3"}, true
	if got := string(write(t, "jsonl", columns, b)[".jsonl"]); !strings.HasPrefix(got, `{"set":[1,3]}`) {
		t.Error(got)
	}
}

func TestWriterRejectsInvalidTables(t *testing.T) {
	if _, err := Files("xls", nil); err == nil || !strings.Contains(err.Error(), "csv, jsonl, npy, safetensors") {
		t.Errorf("an unknown format: %v", err)
	}
	columns := []Column{{Name: "features", Header: []string{"f1"}, List: true}}
	files, _ := Files("npy", columns)
	w, b := files[0].New(&bytes.Buffer{}), &Block{N: 1, Values: []any{[]float32{1}}}
	if err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(b); err == nil {
		t.Error("a second block is written after an array of the first one's shape")
	}
	if err := files[0].New(&bytes.Buffer{}).Write(&Block{N: 1, Values: []any{[]string{"a"}}}); err == nil {
		t.Error("an array of texts is written")
	}
}

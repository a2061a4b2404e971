package jsonlio

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/internal/testing/datasettest"
	_ "github.com/bochner-ml/bochner/io/csvio"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
)

func open(t testing.TB, o dataset.Options, texts ...string) (*dataset.Dataset, error) {
	t.Helper()
	for _, text := range texts {
		o.Files = append(o.Files, datasettest.File(t, []byte(text)))
	}
	return dataset.Open(context.Background(), o)
}

func TestRowsAreTheValuesOfKeys(t *testing.T) {
	text := "{\"a\": 1, \"b\": 2.5e0, \"y\": \"cat\"}\r\n\n" +
		" { \"b\" :-3,\"a\":\" 0.1 \" , \"y\": \"d\\u00f6g\\n\\ud83d\\ude00\" } \n" +
		"{\"a\": null, \"b\": 1, \"y\": 0}\n" +
		"{\"a\": 4, \"y\": 1}\n" +
		"{\"a\": true, \"b\": 1, \"y\": 1}\n" +
		"{\"a\": \"x\", \"b\": 1, \"y\": 1}\n" +
		"{\"a\": 1, \"b\": 1, \"a\": 1, \"y\": 1}\n" +
		"{\"a\": 1, \"b\": 1e99, \"y\": 1}\n" +
		"{\"a\": 1, \"b\": 1}\n" +
		"{\"a\": 1, \"b\": 01, \"y\": 1}\n" +
		"[1, 2, 3]\n" +
		"{\"a\": 1, \"b\": 1, \"y\": 1} {}\n" +
		"{\"a\": 16777217, \"b\": 0.30000001192092896, \"y\": true}"
	d, err := open(t, dataset.Options{Label: "y"}, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{1 << 20, 64, 7} {
		used, aside := datasettest.Read(t, d, size)
		if diff := cmp.Diff([]string{"[1 2.5]:cat", "[0.1 -3]:dög\n😀", "[1.6777216e+07 0.3]:true"}, used); diff != "" {
			t.Errorf("shards of %d bytes: %s", size, diff)
		}
		want := []string{
			`4:1: column "a": is missing`, `5:2: column "b": is missing`, `6:1: column "a": "true" is not a number`,
			`7:1: column "a": "x" is not a number`,
			`8:1: column "a": occurs twice`, `9:2: column "b": "1e99" is infinite`, `10: has no label`,
			`11: is not a JSON object (want a value at character 15)`,
			`12: is not a JSON object`, `13: is not a JSON object (text after the object at character 26)`,
		}
		if !slices.EqualFunc(aside, want, strings.HasPrefix) {
			t.Errorf("shards of %d bytes: %s", size, strings.Join(aside, "\n"))
		}
	}
}

func TestUnreadableObjectDoesNotHideTheFormat(t *testing.T) {
	for first, aside := range map[string]string{
		`{"a": NaN, "y": 1}`:               `1:1: column "a": is missing`,
		`{"a": Infinity, "y": 1}`:          `1:1: column "a": "Infinity" is not a number`,
		"\ufeff" + `{"a": 1, "y": NaN}`:    `1: has no label`,
		`{"a": 1, "y": 1,}`:                `1: is not a JSON object (want a key in quotes`,
		"{\"a\": \"Z\xfcrich\", \"y\": 1}": `1:1: column "a": "Z\xfcrich" is not UTF-8 (byte 2 is 0xFC); convert the file to UTF-8`,
	} {
		d, err := open(t, dataset.Options{Label: "y"}, first+"\n{\"a\": 2, \"y\": 3}\n")
		if err != nil {
			t.Errorf("%s: %v", first, err)
			continue
		}
		used, bad := datasettest.Read(t, d, 1<<20)
		if d.Schema.Format != "jsonl" || !slices.Equal(used, []string{"[2]:3"}) || len(bad) != 1 ||
			!strings.HasPrefix(bad[0], aside) {
			t.Errorf("%s: %s: %q, set aside %q", first, d.Schema.Format, used, bad)
		}
	}
}

func TestByteOrderMarksOfJoinedFilesAreIgnored(t *testing.T) {
	one := "\ufeff" + `{"a": 1, "y": 3}` + "\r\n"
	d, err := open(t, dataset.Options{Label: "y"}, one+one+"\r\n"+one)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{1 << 20, 7} {
		if used, bad := datasettest.Read(t, d, size); !slices.Equal(used, []string{"[1]:3", "[1]:3", "[1]:3"}) ||
			len(bad) > 0 {
			t.Errorf("shards of %d bytes: %q, set aside %q", size, used, bad)
		}
	}
}

func TestColumnsAreTheKeysOfAllObjects(t *testing.T) {
	for _, c := range []struct {
		name  string
		texts []string
		want  string
	}{
		{"order of the keys", []string{`{"b":1,"a":2}`}, "b a"},
		{"keys that some lack", []string{`{"b":1,"z":2}` + "\n" + `{"b":1,"a":0,"z":2}`}, "b a z"},
		{"in two files", []string{`{"b":1,"z":2}`, `{"b":1,"a":0,"z":2}`}, "b a z"},
		{"the other way round", []string{`{"b":1,"a":0,"z":2}`, `{"b":1,"z":2}`}, "b a z"},
		{"open order", []string{`{"b":1,"x":2}`, `{"b":1,"c":0}`}, "b c x"},
		{"disagreement", []string{`{"b":1,"a":2}`, `{"a":1,"b":0}`}, "a b"},
		{"disagreement after a key", []string{`{"k":1,"b":1,"a":2}`, `{"a":1,"b":0}`}, "k a b"},
	} {
		d, err := open(t, dataset.Options{}, c.texts...)
		if err != nil || strings.Join(d.Schema.Columns, " ") != c.want {
			t.Errorf("%s: %v, %v", c.name, d, err)
		}
	}
}

func TestNestedAndUnknownColumnsAreNamed(t *testing.T) {
	nested := `{"a":1,"b":2}` + "\n" + `{"a":1,"b":{"c":[1]}}`
	late := `{"a":1,"b":2}` + "\n" + strings.Repeat(`{"a":1,"b":3}`+"\n", 80_000) + `{"a":1,"b":2,"z":3}` + "\n" +
		`{"a":1,"b":[]}` + "\n"
	for _, c := range []struct {
		text  string
		o     dataset.Options
		want  string
		aside []string
	}{
		{nested, dataset.Options{},
			`line 2: column "b" is nested, or has lists of different lengths, or lists of values other than numbers, which is not supported; flatten it, or drop the column`, nil},
		{nested, dataset.Options{Drop: []string{"b"}}, "", nil},
		{nested, dataset.Options{Label: "c"}, `label: no column "c"`, nil},
		{`{"a":1}`, dataset.Options{Label: "a"}, `the label is the only column`, nil},
		{late, dataset.Options{}, "", []string{`80002: has the key "z", which is not at the beginning of a file`,
			`80003:2: column "b": is an object or an array`}},
		{late, dataset.Options{Columns: []string{"a"}}, "", nil},
	} {
		d, err := open(t, c.o, c.text)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.30s, %+v: %v", c.text, c.o, err)
		} else if err == nil {
			if _, aside := datasettest.Read(t, d, 1<<18); !slices.EqualFunc(aside, c.aside, strings.HasPrefix) {
				t.Errorf("%.30s, %+v: %q", c.text, c.o, aside)
			}
		}
	}
}

func TestModelFindsItsColumns(t *testing.T) {
	train, err := open(t, dataset.Options{Label: "y", Roles: dataset.Roles{ID: "id"}}, `{"id":"p","a":1,"b":2,"y":0}`)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"id":"q","b":5,"new":{},"a":4}`: "[4 5]#q",
		`{"b":5,"a":4}`:                   "[4 5]",
		"b,x,id,a\n5,6,q,4":               "[4 5]#q",
	} {
		d, err := open(t, dataset.Options{Like: &train.Schema}, text)
		if err != nil {
			t.Fatal(err)
		}
		if used, _ := datasettest.Read(t, d, 1<<20); !slices.Equal(used, []string{want}) {
			t.Errorf("%s: %q, want %s", text, used, want)
		}
	}
	if _, err := open(t, dataset.Options{Like: &train.Schema}, `{"a":1,"y":0}`); err == nil ||
		!strings.Contains(err.Error(), "missing column b; have a, y") {
		t.Error(err)
	}
}

func TestListsAreColumns(t *testing.T) {
	text := `{"e":[1, -2.5e0 ,null],"z":7,"y":0}` + "\n" + ` {"e": [4,5,6],"z":8,"y":1}` + "\n"
	aside := `{"e":[1,2],"z":7,"y":0}` + "\n" + `{"e":[1,2,3,4],"z":7,"y":0}` + "\n" + `{"e":5,"z":7,"y":0}` + "\n" +
		`{"e":[1,Infinity,3],"z":7,"y":0}` + "\n" + `{"e":null,"z":7,"y":0}` + "\n" + `{"e":[1,2,3],"e_0":4,"z":7,"y":0}` + "\n" +
		`{"e":[1,[2],3],"z":7,"y":0}`
	d, err := open(t, dataset.Options{Label: "y"}, text)
	if err != nil {
		t.Fatal(err)
	}
	d.Schema.SetTable(&schema.Table{Columns: []schema.Column{{Name: "e_0", Type: schema.Number},
		{Name: "e_1", Type: schema.Number}, {Name: "e_2", Type: schema.Number}, {Name: "z", Type: schema.Number}}})
	if used, bad := datasettest.Read(t, d, 7); !slices.Equal(used, []string{"[1 -2.5 NaN 7]:0", "[4 5 6 8]:1"}) || len(bad) > 0 {
		t.Errorf("%q, set aside %q", used, bad)
	}
	if d, err := open(t, dataset.Options{Like: &d.Schema}, `{"e":null,"z":7}`); err != nil {
		t.Error(err)
	} else if used, _ := datasettest.Read(t, d, 7); !slices.Equal(used, []string{"[NaN NaN NaN 7]"}) {
		t.Errorf("without a list: %q", used)
	}
	if d, err = open(t, dataset.Options{Like: &d.Schema}, strings.Repeat(`{"e":[1,2,3],"z":1}`+"\n", 60_000)+aside); err != nil {
		t.Fatal(err)
	}
	_, bad := datasettest.Read(t, d, 1<<18)
	want := []string{`60001:1: column "e_0": has a list of 2 values, want 3`, `60002:1: column "e_0": has a list of 4 values, want 3`,
		`60003:1: column "e_0": is not a list of 3 numbers`, `60004:2: column "e_1": "Infinity"`, `60006:1: column "e_0": occurs twice`,
		`60007:1: column "e_0": is not a list of 3 numbers`}
	if !slices.EqualFunc(bad, want, strings.HasPrefix) {
		t.Errorf("set aside %q, want %q", bad, want)
	}
	for text, want := range map[string]string{
		`{"e":[1,2],"y":1}` + "\n" + `{"e":4,"y":1}`:       `line 1: column "e" is nested, or has lists of different lengths`,
		`{"e":[1,2],"y":1}` + "\n" + `{"e":[1,2,3],"y":1}`: `column "e" is nested, or has lists of different lengths`,
		`{"e":["1","2"],"y":1}`:                            `column "e" is nested`,
		`{"e":[1,2],"e_1":3,"y":1}`:                        `column "e_1" is also an element of the list "e"; rename one`,
	} {
		if _, err := open(t, dataset.Options{}, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.50s: %v, want %s", text, err, want)
		}
	}
	for _, files := range [][]string{{text, `{"z":1,"y":2}`}, {`{"z":1,"y":2}`, text}} {
		if d, err := open(t, dataset.Options{}, files...); err != nil || strings.Join(d.Schema.Columns, " ") != "e_0 e_1 e_2 z y" {
			t.Errorf("%v, %v", d.Schema.Columns, err)
		}
	}
	if d, err := open(t, dataset.Options{Drop: []string{"e"}}, text); err != nil || strings.Join(d.Schema.Columns, " ") != "z y" {
		t.Error(err)
	}
}

func TestFieldsAreReadByTheirTypes(t *testing.T) {
	d, err := open(t, dataset.Options{Label: "y"},
		`{"n":"?","c":"b","t":true,"d":"2024-02-29","y":1}`+"\n"+`{"n":2,"c":7,"y":2}`)
	if err != nil {
		t.Fatal(err)
	}
	d.Schema.SetTable(&schema.Table{Rules: schema.Rules{Missing: []string{"?"}},
		Columns: []schema.Column{{Name: "n", Type: schema.Number},
			{Name: "c", Type: schema.Category, Levels: []string{"7", "b"}}, {Name: "t", Type: schema.Boolean}, {Name: "d",
				Type: schema.Time, Layout: "iso"}}})
	used, aside := datasettest.Read(t, d, 1<<20)
	if diff := cmp.Diff([]string{"[NaN 1 1 19782 2 3 0]:1", "[2 0 NaN NaN NaN NaN NaN]:2"}, used); diff != "" ||
		len(aside) > 0 {
		t.Errorf("%s\n%q", diff, aside)
	}
}

// twin reads an object with encoding/json.
func twin(line []byte) (keys []string, values []any, ok bool) {
	dec := json.NewDecoder(strings.NewReader(string(line)))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, false
	}
	for dec.More() {
		k, err := dec.Token()
		if err != nil {
			return nil, nil, false
		}
		var v any
		if dec.Decode(&v) != nil {
			return nil, nil, false
		}
		keys, values = append(keys, k.(string)), append(values, v)
	}
	return keys, values, json.Valid(line)
}

func FuzzObjectsAreReadLikeEncodingJSON(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1,"b\n":"\u00e4\ud800x\"","c":[{"d":"]"}],"e":null}`,
		`{ "a" : -0.5E+3 , "t":true,"f":false}`, `{"a":1,}`, `{"a" 1}`, `{"a":1e}`, `{"a":"\x"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		keys, values, ok := twin(line)
		if !ok || strings.ContainsAny(string(line), "\n") || strings.Contains(string(line), "\ufffd") ||
			!json.Valid([]byte(strings.ToValidUTF8(string(line), "?"))) {
			return // the scanner passes invalid UTF-8 on
		}
		var s scanner
		var m member
		if reason := s.open(line); reason != "" {
			t.Fatalf("%q: %s", line, reason)
		}
		for i := 0; ; i++ {
			more, reason := s.next(&m)
			if reason != "" || more != (i < len(keys)) {
				t.Fatalf("%q, member %d: %v, %s", line, i, more, reason)
			}
			if !more {
				return
			}
			want, kind := "", text
			switch v := values[i].(type) {
			case string:
				want = v
			case json.Number:
				want, kind = string(v), number
			case bool:
				kind = truth
				want = "false"
				if v {
					want = "true"
				}
			case nil:
				want, kind = "null", null
			default:
				want, kind = string(m.text), nested
				if list, ok := v.([]any); ok && !slices.ContainsFunc(list, func(e any) bool {
					_, number := e.(json.Number)
					return !number && e != nil
				}) {
					kind = m.kind
					if m.kind == nested || m.n != len(list) {
						t.Fatalf("%q, member %d: a list of %d, want %d", line, i, m.n, len(list))
					}
				}
			}
			if got := strings.ToValidUTF8(string(m.text), "\ufffd"); m.kind != kind || got != want &&
				strings.ToValidUTF8(want, "\ufffd") == want && !strings.Contains(want, "\ufffd") {
				t.Fatalf("%q, member %d: %d %q, want %d %q", line, i, m.kind, got, kind, want)
			}
		}
	})
}

func FuzzJSONLines(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":2}` + "\n" + `{"b":1,"c":[1]}` + "\n{}\n[]"))
	f.Add([]byte(`{"a":[1,2.5,null],"b":2}` + "\n" + `{"a":[1 , 2],"b":1}` + "\n" + `{"a":[1,2,3],"a_1":1}`))
	f.Add([]byte(`{"a":1,"y":"x"}` + "\r\n" + `{"a":NaN,"y":"\u0000"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		datasettest.Fuzz(t, text, dataset.Options{Format: "jsonl"})
		datasettest.Fuzz(t, text, dataset.Options{Format: "jsonl", Label: "-1"})
	})
}

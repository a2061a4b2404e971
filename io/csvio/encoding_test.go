package csvio

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
)

func TestTextsThatAreNotUTF8AreRejected(t *testing.T) {
	const text = "x,city\n1,Z\xfcrich\n2,Bern\n"
	l, _, err := readLayout(strings.NewReader(text), layoutHints{})
	if err != nil {
		t.Fatal(err)
	}
	l.Label, l.Features = 1, []int{0}
	all, err := read(open(strings.NewReader(text), l))
	if err != nil || len(all) != 2 || !strings.Contains(all[0].Bad, `"city": "Z\xfcrich" is not UTF-8 (byte 2 is 0xFC)`) ||
		!strings.Contains(all[0].Bad, "--encoding latin1") || all[1].Label != "Bern" {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestLatin1IsReadAsUTF8(t *testing.T) {
	for _, name := range latin1Names {
		var e Encoding
		if err := e.UnmarshalText([]byte(strings.ToUpper(name))); err != nil {
			t.Fatal(err)
		}
		const text = "n\xe9,prix\nZ\xfcrich,5\n\x8010,6\n\"\xa3\"\"1\",7\n"
		l, _, err := readLayout(strings.NewReader(text), layoutHints{Encoding: e})
		if err != nil || l.Columns[0] != "né" {
			t.Fatalf("%+v, %v", l, err)
		}
		l.Label, l.Features = 0, []int{1}
		all, err := read(open(strings.NewReader(text), l))
		if err != nil || len(all) != 3 || all[0].Label != "Zürich" || all[1].Label != "€10" || all[2].Label != `£"1` {
			t.Errorf("%s: %+v, %v", name, all, err)
		}
	}
	if err := new(Encoding).UnmarshalText([]byte("utf-16")); err == nil || !strings.Contains(err.Error(), "iconv") {
		t.Errorf("utf-16: %v", err)
	}
	if (&Layout{Comma: ',', Encoding: "x"}).Validate() == nil {
		t.Error("an unknown encoding is valid")
	}
}

func TestWeightsAndIdentifiersAreUTF8EvenIfTheyAreNotRead(t *testing.T) {
	l := Layout{Comma: ',', TableLayout: dataset.TableLayout{Columns: []string{"x", "w", "id", "other"}, Label: -1,
		Features: []int{0}, Roles: map[schema.Role]int{schema.Weight: 1, schema.ID: 2}}}
	got, err := read(open(strings.NewReader("1,2,a,\xff\n2,\xff,b,\n3,1,\xff,\n"), l))
	if err != nil || len(got) != 3 || got[0].Bad != "" || !strings.Contains(got[1].Bad, `column "w"`) ||
		!strings.Contains(got[2].Bad, `column "id"`) {
		t.Errorf("%+v, %v", got, err)
	}
}

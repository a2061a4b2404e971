package records_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/records"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
)

// house is a type of a user.
type house struct {
	ID    int     `bochner:",key"`
	Area  float64 `bochner:"area"`
	Rooms *int64  `beam:"rooms"`
	Kind  string  `bochner:"kind"`
	Price float32 `bochner:"price,label"`
	Seen  uint8   `bochner:",weight"`
	Note  []byte  `bochner:"-"`
	Other []byte
}

func houses() (*dataset.Schema, records.Options) {
	t := &schema.Table{Rules: schema.Rules{Missing: schema.DefaultMissing}, Columns: []schema.Column{
		{Name: "kind", Type: schema.Category, Levels: []string{"flat", "house"}},
		{Name: "area", Type: schema.Number},
		{Name: "rooms", Type: schema.Number},
	}}
	s := &dataset.Schema{Format: "csv", Centre: []float64{0, 10, 0}}
	s.SetTable(t)
	return s, records.Options{Label: schema.ParseTarget, LabelColumns: []string{"price"}, Weighted: true,
		WeightColumn: "seen"}
}

// read reads items, and returns the block and the reasons by item.
func read(t *testing.T, r *records.Reader, items ...any) (*rowio.Block, map[int]string) {
	t.Helper()
	var values []reflect.Value
	for _, item := range items {
		values = append(values, reflect.ValueOf(item))
	}
	b, bad := new(rowio.Block), map[int]string{}
	if err := r.Read(b, values, func(i int, reason string) { bad[i] = reason }); err != nil {
		t.Fatal(err)
	}
	return b, bad
}

func TestStructsAndRowsAreReadAlike(t *testing.T) {
	two, none := int64(2), math.NaN()
	s, o := houses()
	r := records.New(s, o)
	b, bad := read(t, r,
		house{Area: 50.1, Rooms: &two, Kind: " flat", Price: 0.1, Seen: 1},
		house{Area: 70, Kind: "", Price: 3, Seen: 2},
		records.Row{Values: []float64{1, 2, 3}, Label: "4", Weight: 1},
		house{Area: 70, Kind: "flat", Price: 3},
		records.Row{Numbers: map[string]float64{"area": 50.1, "rooms": none, "seen": 3, "extra": 1},
			Texts: map[string]string{"kind": "house", "price": "5"}},
		records.Row{Texts: map[string]string{"area": "5,1", "rooms": "", "kind": "house", "price": "5"}, Weight: 1},
		records.Row{Numbers: map[string]float64{"area": 1}, Texts: map[string]string{"kind": "house"}, Weight: 1},
		records.Row{Values: []float64{1, 2}, Label: "4", Weight: 1},
		records.Row{Values: []float64{0, 20, 3}, Weight: 1},
	)
	nan := float32(math.NaN())
	centred := func(v float64) float32 { return float32(v - 10) }
	want := []float32{
		0, centred(50.1), 2,
		nan, 60, nan,
		2, -8, 3, // 1 is not a level
		1, centred(50.1), nan,
	}
	same := cmp.Comparer(func(a, b float32) bool { return a == b || a != a && b != b })
	if d := cmp.Diff(want, b.X, same); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]float64{0.1, 3, 4, 5}, b.Y); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]float64{1, 2, 1, 3}, b.Weights); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int64{1, 2, 3, 5}, b.Lines); d != "" {
		t.Error(d)
	}
	for item, reason := range map[int]string{3: dataset.NoWeight, 5: `column "area": "5,1" is not a number`,
		6: `column "rooms": is not in the row`, 7: "has 2 values, want 3", 8: dataset.NoLabel} {
		if !strings.HasPrefix(bad[item], reason) {
			t.Errorf("item %d: %q, want %q", item, bad[item], reason)
		}
	}
	if len(bad) != 5 {
		t.Errorf("set aside: %v", bad)
	}
}

func TestPlainNumbersMayBeMissingOnlyWhereTheModelSaysSo(t *testing.T) {
	s := &dataset.Schema{Dim: 2, Columns: []string{"x", "y"}}
	row := records.Row{Values: []float64{1, math.NaN()}}
	if b, bad := read(t, records.New(s, records.Options{}), row, records.Row{Values: []float64{3, 4}}); b.N != 1 ||
		bad[0] != `column "y": is missing` || b.X[1] != 4 {
		t.Errorf("%d rows, %v", b.N, bad)
	}
	if b, bad := read(t, records.New(s, records.Options{Missing: true}), row); b.N != 1 || len(bad) > 0 ||
		b.X[1] == b.X[1] {
		t.Errorf("%d rows, %v", b.N, bad)
	}
}

func TestRowsWithoutNamesHaveAllValues(t *testing.T) {
	type picture struct {
		Pixels []float32 `bochner:",values"`
	}
	r := records.New(&dataset.Schema{Dim: 2}, records.Options{})
	b, bad := read(t, r, picture{[]float32{0.1, 2}}, picture{nil},
		records.Row{Numbers: map[string]float64{"c1": 1, "c2": 1}})
	if b.N != 1 || b.X[0] != 0.1 || bad[1] != "has 0 values, want 2" || !strings.Contains(bad[2], "have no names") {
		t.Errorf("%d rows, %v", b.N, bad)
	}
}

func TestTypesThatCannotBeRowsAreRejected(t *testing.T) {
	s, o := houses()
	s2 := *s
	s2.Table = nil
	s2.Columns = []string{"area"}
	for want, item := range map[string]any{
		"want Row or a struct": 3,
		`no field for the column "kind" (did you mean "Kind"?); tag one with ` +
			"`bochner:\"kind\"`": struct{ Kind string }{},
		"two fields for the column": struct {
			A float64 `bochner:"a"`
			B float64 `beam:"a"`
		}{},
		"want key, label, weight or values": struct {
			A float64 `bochner:"a,id"`
		}{},
		"two fields with the tag": struct {
			A string `bochner:",key"`
			B string `bochner:",key"`
		}{},
		"cannot be of the type []string": struct {
			A []string `bochner:",key"`
		}{},
		"want []float32": struct {
			A []string `bochner:",values"`
		}{},
		"cannot be a column": struct {
			Kind []string `bochner:"kind"`
		}{},
		"no field for the label": struct {
			A []float64 `bochner:",values"`
		}{},
	} {
		err := records.New(s, o).Read(new(rowio.Block), []reflect.Value{reflect.ValueOf(item)}, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v, want %q", item, err, want)
		}
	}
}

func TestKeysAreTexts(t *testing.T) {
	three := 3
	for _, c := range []struct {
		row  any
		want string
	}{
		{records.Row{Key: "k"}, "k"},
		{house{ID: -7}, "-7"},
		{struct{ A string }{"a"}, ""},
		{struct {
			A *int `bochner:",key"`
		}{&three}, "3"},
		{struct {
			A *int `bochner:",key"`
		}{}, ""},
		{struct {
			A shade `bochner:",key"`
		}{3}, "3"}, // as JSON has it
	} {
		d, err := records.TypeOf(reflect.TypeOf(c.row))
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Key(reflect.ValueOf(c.row)); got != c.want {
			t.Errorf("%T: %q, want %q", c.row, got, c.want)
		}
	}
}

// prices is a type with two targets.
type prices struct {
	Area  float64 `bochner:"area"`
	Rent  float32 `bochner:"rent"`
	Price *int    `beam:"price"`
}

func TestSeveralTargetsAreColumnsByName(t *testing.T) {
	s := &dataset.Schema{Format: "csv", Dim: 1, Columns: []string{"area"}}
	r := records.New(s, records.Options{Label: schema.ParseTarget, LabelColumns: []string{"price", "rent"}})
	n := 7
	b, bad := read(t, r,
		prices{Area: 1, Rent: 2.5, Price: &n},
		prices{Area: 1, Rent: 2.5},
		records.Row{Values: []float64{3}, Numbers: map[string]float64{"rent": 4}, Texts: map[string]string{"price": "5"}},
		records.Row{Values: []float64{3}, Label: "1", Numbers: map[string]float64{"rent": 4}},
	)
	if d := cmp.Diff([]float64{7, 2.5, 5, 4}, b.Y); d != "" || len(bad) != 2 ||
		!strings.Contains(bad[1], `column "price"`) || !strings.Contains(bad[3], `column "price"`) {
		t.Errorf("%v %s", bad, d)
	}
	type without struct {
		Area float64 `bochner:"area"`
		Rent float64 `bochner:"rents"`
	}
	err := r.Read(b, []reflect.Value{reflect.ValueOf(without{})}, nil)
	if err == nil || !strings.Contains(err.Error(), `no field for the target "price"`) {
		t.Error(err)
	}
}

type shade int

func (shade) MarshalText() ([]byte, error) { return []byte("dark"), nil }

func (shade) String() string { return "dark" }

type left struct{ Area, Price float64 }

type outer struct {
	left `bochner:"-"`
	Far  float64
}

// A row is a line of JSON with its columns in order, its label and its weight, and nothing else.
func TestRowsAreLinesOfJSON(t *testing.T) {
	type row struct {
		ID    string   `bochner:",key"`
		Area  float64  `bochner:"area"`
		Rooms *int64   `beam:"rooms"`
		Kind  string   `bochner:"kind"`
		Far   *float32 `bochner:"far"`
		Times int      `bochner:",weight"`
		Price float64  `bochner:"price,label"`
		Note  []byte
	}
	far := float32(0.1)
	for _, c := range []struct {
		row  any
		want string
	}{
		{row{ID: "a", Area: 1.5, Kind: "x}\"", Far: &far, Times: 2, Price: 3},
			`{"area":1.5,"rooms":null,"kind":"x}\"","far":0.1,"price":3,"Times":2}`},
		{row{Area: math.NaN(), Price: math.Inf(1)}, `{"area":null,"rooms":null,"kind":"","far":null,"price":null,"Times":0}`},
		{records.Row{Key: "k", Numbers: map[string]float64{"b": 1, "a": 2}, Texts: map[string]string{"c": ""}, Label: "l"},
			`{"a":2,"b":1,"c":"","label":"l"}`},
		{records.Row{Values: []float64{1}}, ""},
		{struct{ Shade shade }{1}, `{"Shade":1}`}, // as readers take it
		{struct {
			*left `bochner:"-"`
			Area  int
		}{Area: 2}, `{"Area":2}`},
		{struct {
			outer `bochner:"-"`
			Kind  string
		}{Kind: "x"}, `{"Kind":"x"}`},
	} {
		of, err := records.TypeOf(reflect.TypeOf(c.row))
		if err != nil {
			t.Fatal(err)
		}
		got, err := of.JSON(reflect.ValueOf(c.row))
		if string(got) != c.want+"\n" && c.want != "" || (err == nil) != (c.want != "") {
			t.Errorf("%+v is %s, %v; want %s", c.row, got, err, c.want)
		}
	}
}

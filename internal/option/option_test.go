package option

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

type form uint8

func (f form) MarshalText() ([]byte, error) { return []byte([]string{"paired", "offset"}[f]), nil }
func (f *form) UnmarshalText(text []byte) error {
	i := slices.Index([]string{"paired", "offset"}, string(text))
	if i < 0 {
		return errors.New("want paired or offset")
	}
	*f = form(i)
	return nil
}

func (form) Help() (string, []string) { return "Form of the features.", []string{"paired", "offset"} }

type width struct {
	Width string  `flag:"width" help:"Width of the kernel."`
	Gamma float64 `flag:"gamma" help:"Instead of a width."`
}

type pick string

type every struct {
	width
	Name     string        `flag:"name"`
	Yes      bool          `flag:"yes"`
	Count    int           `flag:"count"`
	Bytes    int64         `flag:"bytes"`
	Seed     uint64        `flag:"seed"`
	Rate     float64       `flag:"rate" help:"Learning rate."`
	Weights  []string      `flag:"weights"`
	Time     time.Duration `flag:"time"`
	Form     form          `flag:"form"`
	Pick     pick          `flag:"pick" values:"top,draw"`
	Internal int           // no option
	private  float64
}

func find(t *testing.T, list []*Option, name string) *Option {
	t.Helper()
	i := slices.IndexFunc(list, func(o *Option) bool { return o.Name == name })
	if i < 0 {
		t.Fatalf("no option %q", name)
	}
	return list[i]
}

func TestOptionsAreTheTaggedFieldsInOrder(t *testing.T) {
	v := every{width: width{Width: "median"}, Rate: 0.25, Weights: []string{"a,b", "c"}, Time: 90 * time.Second}
	want := []Option{
		{Tag: Tag{Name: "width", Help: "Width of the kernel."},
			Default: "median"}, {Tag: Tag{Name: "gamma", Help: "Instead of a width."}, Default: "0"},
		{Tag: Tag{Name: "name"}}, {Tag: Tag{Name: "yes"}, Default: "false"}, {Tag: Tag{Name: "count"},
			Default: "0"}, {Tag: Tag{Name: "bytes"}, Default: "0"}, {Tag: Tag{Name: "seed"}, Default: "0"},
		{Tag: Tag{Name: "rate", Help: "Learning rate."}, Default: "0.25"}, {Tag: Tag{Name: "weights"},
			Default: `"a,b",c`}, {Tag: Tag{Name: "time"}, Default: "1m30s"},
		{Tag: Tag{Name: "form", Help: "Form of the features."}, Default: "paired", Values: []string{"paired", "offset"}},
		{Tag: Tag{Name: "pick"}, Values: []string{"top", "draw"}},
	}
	got := List(&v)
	if len(got) != len(want) {
		t.Fatalf("%d options, want %d", len(got), len(want))
	}
	types := strings.Fields("string float64 string bool int int64 uint64 float64 stringSlice duration string string")
	for i, o := range got {
		if o.Name != want[i].Name || o.Help != want[i].Help || o.Default != want[i].Default ||
			!slices.Equal(o.Values, want[i].Values) || o.Type() != types[i] || o.String() != o.Default || o.Given() {
			t.Errorf("option %d is %q (%s), help %q, default %q, values %q, given %v; want %+v, %s", i, o.Name, o.Type(), o.Help,
				o.Default, o.Values, o.Given(), want[i], types[i])
		}
	}
}

func TestOptionNamesItsField(t *testing.T) {
	const pkg = "github.com/bochner-ml/bochner/internal/option"
	list := List(new(every))
	for name, want := range map[string]string{"width": pkg + ".width.Width", "name": pkg + ".every.Name"} {
		if got := find(t, list, name).Field; got != want {
			t.Errorf("%s is the field %s, want %s", name, got, want)
		}
	}
}

func TestEveryTypeIsSetFromText(t *testing.T) {
	var v every
	list := List(&v)
	for _, s := range [][2]string{
		{"width", "7"}, {"gamma", "1e-3"}, {"name", "a name"}, {"yes", "true"}, {"count", "-3"}, {"bytes", "0x10"}, {"seed",
			"18446744073709551615"},
		{"rate", "2"}, {"weights", `"x,y",z`}, {"weights", "w"}, {"time", "1h"}, {"form", "offset"}, {"pick", "top"},
	} {
		o := find(t, list, s[0])
		if err := o.Set(s[1]); err != nil {
			t.Errorf("%s: %v", s[0], err)
		}
		if !o.Given() {
			t.Errorf("%s was not given", s[0])
		}
	}
	want := every{width{"7", 1e-3}, "a name", true, -3, 16, 1<<64 - 1, 2, []string{"x,y", "z", "w"}, time.Hour, 1,
		"top", 0, 0}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("have %+v\nwant %+v", v, want)
	}
}

func TestTextThatDoesNotFitIsAnError(t *testing.T) {
	var v every
	for _, s := range [][3]string{
		{"yes", "maybe", `"maybe" is neither true nor false`}, {"count", "1.5", `"1.5" is not a whole number`}, {"bytes",
			"9223372036854775808", "that fits into 64 bits"},
		{"seed", "-1", `"-1" is not a whole number from 0 up`}, {"rate", "fast", `"fast" is not a number`}, {"time", "90",
			`"90" is not a duration such as 90s or 2h`},
		{"weights", `"a`, "is not a list"}, {"form", "both", "want paired or offset"},
	} {
		o := find(t, List(&v), s[0])
		if err := o.Set(s[1]); err == nil || !strings.Contains(err.Error(), s[2]) {
			t.Errorf("--%s %s: %v; want %q", s[0], s[1], err, s[2])
		}
		if o.Given() {
			t.Errorf("--%s %s counts as given", s[0], s[1])
		}
	}
}

func TestOptionOfSeveralStructsIsListedOnceAndSetInAll(t *testing.T) {
	type matern struct {
		width
		Nu float64 `flag:"nu"`
	}
	type maxout struct {
		Q int `flag:"q"`
	}
	a, b, c := &width{Width: "median"}, &matern{width: width{Width: "scale"}, Nu: 1.5}, &maxout{Q: 4}
	var g Group
	g.Add("gaussian", a)
	g.Add("matern", b)
	g.Add("maxout", c)
	if len(g.Options) != 4 {
		t.Fatalf("%d options, want width, gamma, nu, q", len(g.Options))
	}
	w := find(t, g.Options, "width")
	if w.Default != "median" || !slices.Equal(w.Owners, []string{"gaussian", "matern"}) {
		t.Errorf("width: default %q, owners %q", w.Default, w.Owners)
	}
	if err := w.Set("7"); err != nil || a.Width != "7" || b.Width != "7" {
		t.Errorf("%v; widths %q and %q", err, a.Width, b.Width)
	}
	if o := g.Misplaced("matern"); o != nil {
		t.Errorf("%s is misplaced", o.Name)
	}
	if o := g.Misplaced("maxout"); o != w {
		t.Errorf("misplaced is %v, want width", o)
	}
}

func TestStructsThatCannotBeListedPanic(t *testing.T) {
	for want, add := range map[string]func(g *Group){
		"does not point to a struct": func(g *Group) { g.Add("", every{}) },
		"cannot be a field of type []bool": func(g *Group) {
			g.Add("", &struct {
				X []bool `flag:"x"`
			}{})
		},
		"cannot be a field of type option.kind": func(g *Group) {
			g.Add("", &struct {
				X kind `flag:"x"`
			}{})
		},
		"cannot be a field of type int": func(g *Group) {
			g.Add("", &struct {
				x int `flag:"x"`
			}{})
		},
		"two fields of the name x": func(g *Group) {
			g.Add("", &struct {
				X, Y int `flag:"x"`
			}{})
		},
		"x is a int of a and a string of b": func(g *Group) {
			g.Add("a", &struct {
				X int `flag:"x"`
			}{})
			g.Add("b", &struct {
				X string `flag:"x"`
			}{})
		},
	} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.Contains(r.(string), want) {
					t.Errorf("panic %v, want %q", r, want)
				}
			}()
			add(new(Group))
		}()
	}
}

type kind int

func TestErrorBeginsWithTheNameOfTheOption(t *testing.T) {
	err := Errorf("features", "must be at least 1 (have %d)", 0)
	if got := err.Error(); got != "features must be at least 1 (have 0)" {
		t.Error(got)
	}
	if e, ok := errors.AsType[*Error](err); !ok || e.Option != "features" || e.Unwrap() == nil {
		t.Errorf("%#v", err)
	}
}

func TestBytesAreNumbersOrSizes(t *testing.T) {
	var v struct {
		Keep int64 `flag:"keep_bytes" unit:"bytes"`
	}
	o := List(&v)[0]
	for text, want := range map[string]int64{"0": 0, "-1": -1, "8000000000": 8e9, "8GB": 8e9, "1.5 gb": 15e8,
		"512MiB": 512 << 20, "1k": 1000, "9223372036854775807": math.MaxInt64} {
		if err := o.Set(text); err != nil || v.Keep != want {
			t.Errorf("%q: %d, %v, want %d", text, v.Keep, err, want)
		}
	}
	for _, text := range []string{"", "x", "8XB", "-8GB", "9EiB", "99999999999999999999"} {
		v.Keep = 1
		if err := o.Set(text); err == nil || !strings.Contains(err.Error(), "is not a number of bytes such as") ||
			v.Keep != 1 {
			t.Errorf("%q: %d, %v", text, v.Keep, err)
		}
	}
}

func TestWrongNamesTheFault(t *testing.T) {
	for _, c := range []struct{ kind, text, want string }{
		{"int", "x", `"x" is not a whole number`},
		{"uint64", "-1", `"-1" is not a whole number from 0 up`},
		{"float64", "x", `"x" is not a number`},
		{"bool", "maybe", `"maybe" is neither true nor false`},
		{"duration", "60", `"60" is not a duration such as 90s or 2h`},
		{"int", "3", ""},
		{"string", "x", ""},
	} {
		err := Wrong(c.kind, c.text)
		if got := fmt.Sprint(err); got != c.want && !(err == nil && c.want == "") {
			t.Errorf("%s %q: %s, want %q", c.kind, c.text, got, c.want)
		}
	}
}

// nested holds the structs of a job, as the flags of a command have them.
type nested struct {
	Data struct {
		Format string   `flag:"format" default:"auto" help:"Format: {values}." values:"auto,csv"`
		Weight string   `flag:"weight" group:"Columns" placeholder:"COLUMN"`
		Drop   []string `flag:"drop"`
		Each   []any    `group:""`
		Text   struct {
			Label string `flag:"label"`
		} `group:""`
	} `group:"Data" omit:"Drop,Text.Label"`
	Unseen struct {
		X int `flag:"unseen"`
	}
	Log string
}

func TestStructTagsApplyToTheirOptions(t *testing.T) {
	var v nested
	v.Data.Each = []any{&width{Width: "7"}}
	var got []string
	for _, o := range List(&v) {
		got = append(got, fmt.Sprintf("%s in %s, %q, %q, %s", o.Name, o.Group, o.Placeholder, o.Default, o.Help))
	}
	want := []string{
		`format in Data, "", "auto", Format: auto, csv.`, `weight in Columns, "COLUMN", "", `,
		`width in Data, "", "7", Width of the kernel.`, `gamma in Data, "", "0", Instead of a width.`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	defer func() {
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "has no field Seed to omit") {
			t.Errorf("panic %v", r)
		}
	}()
	List(&struct {
		Data width `group:"" omit:"Seed"`
	}{})
}

func TestListsWordsAndUnitsAreSetFromText(t *testing.T) {
	var v struct {
		Lambda  []float64 `flag:"lambda,common"`
		Budgets []int     `flag:"budgets" default:"64,256"`
		Lower   bool      `flag:"case" values:"keep,lower"`
		Window  int       `flag:"window,hidden" unit:"days"`
		Gate    string    `flag:"gate" list:"joined" default:"better"`
		Limit   *float64  `flag:"limit"`
	}
	list := List(&v)
	for _, c := range []struct{ name, start, text, want, typ string }{
		{"lambda", "auto", "1e-3, 0.5,2", "0.001,0.5,2", "string"}, {"lambda", "auto", "", "auto", "string"},
		{"lambda", "auto", "x", `"x" is not a number`, "string"}, {"lambda", "auto", "1,", `"" is not a number`, "string"},
		{"lambda", "auto", "1,auto", `"auto" is not a number`, "string"},
		{"budgets", "64,256", "8", "8", "string"}, {"budgets", "64,256", "1.5", `"1.5" is not a whole number`, "string"},
		{"case", "keep", "lower", "lower", "string"}, {"case", "keep", "upper", "want keep or lower", "string"},
		{"window", "", "90d", "90d", "string"}, {"window", "", "7", "7d", "string"}, {"window", "", "0",
			"is not a number of days; write it as 90d", "string"},
		{"gate", "better", "auc>=0.9", "auc>=0.9", "string"}, {"gate", "better", "rmse<=3", "auc>=0.9,rmse<=3", "string"},
		{"limit", "", "0.25", "0.25", "float64"}, {"limit", "", "x", `"x" is not a number`, "float64"},
	} {
		o := find(t, list, c.name)
		err := o.Set(c.text)
		if got := o.String(); o.Default != c.start || o.Type() != c.typ || err == nil && got != c.want || err != nil &&
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: default %q, %s %q, %v; want %q, %s %q", c.name, c.text, o.Default, o.Type(), got, err, c.start,
				c.typ, c.want)
		}
	}
	if !list[0].Common || list[0].Hidden || list[3].Common || !list[3].Hidden {
		t.Error("common and hidden differ from the tags")
	}
}

package tuning

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/schema"
)

// Categories whose values few rows share are encoded by counts if they would make rows long. Encodings that the
// user sets stay.
func TestTextsThatFewRowsShareAreCounted(t *testing.T) {
	levels := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("%05d", i))
		}
		return out
	}
	table := func() *schema.Table {
		return &schema.Table{Columns: []schema.Column{
			{Name: "rare", Type: schema.Category, Levels: levels(60)}, {Name: "often", Type: schema.Category,
				Levels: levels(40)},
			{Name: "hashed", Type: schema.Category, Buckets: 4096}, {Name: "set", Type: schema.Category, Buckets: 4096,
				Encode: "onehot"},
			{Name: "number", Type: schema.Number},
		}}
	}
	for _, c := range []struct {
		o      preprocess.ColumnOptions
		rows   int64
		length int
		want   []string
	}{
		{preprocess.ColumnOptions{}, 100, 100, []string{"rare"}},
		{preprocess.ColumnOptions{}, 100, longest + 1, []string{"rare", "hashed"}},
		{preprocess.ColumnOptions{}, 120, longest + 1, []string{"hashed"}},
		{preprocess.ColumnOptions{}, 120, longest, nil},
		{preprocess.ColumnOptions{Encode: preprocess.OneHotEncoding}, 100, longest + 1, nil},
	} {
		of := table()
		got, undo := Shorten(of, c.o, c.rows, c.length)
		if !slices.Equal(got, c.want) || (undo == nil) != (c.want == nil) {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
		for _, column := range of.Columns {
			want := column.Name == "set" && column.Encode == "onehot" || column.Name != "set" &&
				(column.Encode == "count") == slices.Contains(c.want, column.Name)
			if !want {
				t.Errorf("%+v: column %s is encoded by %q", c, column.Name, column.Encode)
			}
		}
		if undo == nil {
			continue
		}
		undo()
		for i, column := range of.Columns {
			if column.Encode != table().Columns[i].Encode {
				t.Errorf("%+v: column %s is still encoded by %q", c, column.Name, column.Encode)
			}
		}
	}
}

// Few rows get fewer features, unless the number is set.
func TestFewRowsGetFewerFeatures(t *testing.T) {
	for _, c := range []struct {
		kernels    []kernel.Options
		rows       int64
		size, want int
	}{
		{Families(), 128, 4096, 2048},
		{Families(), 129, 4096, 4096},
		{Families(), 0, 4096, 4096}, // unknown
		{Families(), 128, 512, 512},
		{[]kernel.Options{&fourier.GaussianOptions{Features: 3000}}, 128, 3000, 3000},
	} {
		if got := Features(c.kernels, c.rows, c.size); got != c.want {
			t.Errorf("%d rows, %d features: %d, want %d", c.rows, c.size, got, c.want)
		}
	}
}

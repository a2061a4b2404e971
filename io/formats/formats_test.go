package formats_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/dataset"
	_ "github.com/bochner-ml/bochner/io/formats"
	"github.com/bochner-ml/bochner/io/rowio"
)

// The example's format works like the formats of this module: it is recognised by its content and read in
// shards of any size, and its bad rows have line numbers.
func TestRegisteredFormatIsReadLikeAllOthers(t *testing.T) {
	text := "@yes 1 2\n@no -3 0.5\n@yes 4\n@no 5 six\n@no 7 8\n"
	name := filepath.Join(t.TempDir(), "rows")
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(context.Background(), dataset.Options{Files: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	if d.Schema.Format != "marks" || d.Schema.Dim != 2 || !slices.Contains(dataset.Names(), "marks") {
		t.Errorf("%+v", d.Schema)
	}
	for _, size := range []int64{1, 7, 1 << 20} {
		var got []string
		var reports []dataset.Report
		for _, s := range d.Shards(size) {
			var labels []string
			r := d.Read(context.Background(), s, func(text []byte) (float64, string) {
				labels = append(labels, string(text))
				return 0, ""
			}, dataset.SkipRow)
			var b rowio.Block
			for r.Next(&b) {
				for i := range b.N {
					got = append(got, fmt.Sprint(labels[i], b.Row(i)))
				}
			}
			reports = append(reports, r.Report())
			r.Close()
		}
		if want := []string{"yes[1 2]", "no[-3 0.5]", "no[7 8]"}; !slices.Equal(got, want) {
			t.Errorf("shards of %d bytes: %q, want %q", size, got, want)
		}
		if _, again := dataset.Tile(reports); len(again) > 0 {
			t.Errorf("shards of %d bytes leave a gap", size)
		}
		var aside []string
		for _, r := range reports {
			for _, s := range r.SetAside {
				aside = append(aside, strings.TrimPrefix(s.Position(), name)+": "+s.Reason)
			}
		}
		if want := []string{`:3: is not @LABEL and 2 numbers`, `:4:3: "six" is not a number`}; !slices.Equal(aside, want) {
			t.Errorf("shards of %d bytes: set aside %q, want %q", size, aside, want)
		}
	}
}

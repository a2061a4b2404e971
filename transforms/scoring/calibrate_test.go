package scoring

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/identity"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/transforms"
)

// Calibrations count the rows of the first fold by their hash, with the scores that the weights give them, for
// every cut of the rows.
func TestCalibrationsCountTheScoresOfTheFirstFold(t *testing.T) {
	ctx := context.Background()
	const seed, k, n = 3, 4, 200
	want := score.NewHalvedCounts(2)
	text := "a,b,y\n"
	for i := range n {
		x, y := []float32{float32(i) / 8, float32(i%7) - 3}, i%2
		text += fmt.Sprintf("%g,%g,%d\n", x[0], x[1], y)
		if hash := profile.RowHash(seed, x); hash%k == 0 {
			want[score.Half(hash/k)].Add([]float32{x[0] + 1, 2 * x[1]}, y, 1)
		}
	}
	if m := want.Both().Rows(); m < 20 || m > 90 || !want.Divided() {
		t.Fatalf("%d rows in the first fold", m)
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "rows.csv")
	if err := storage.WriteFile(ctx, name, []byte(text)); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(ctx, dataset.Options{Files: []string{name}, Label: "y"})
	if err != nil {
		t.Fatal(err)
	}
	recipe, err := features.Seal(identity.Recipe{In: 2, Bound: 100})
	if err != nil {
		t.Fatal(err)
	}
	weights := filepath.Join(dir, "weights")
	sum, err := transforms.StoreWeights(ctx, weights,
		&linear.Model{K: 2, D: 2, W: []float32{1, 0, 0, 2}, B: []float32{1, 0}})
	if err != nil {
		t.Fatal(err)
	}
	count := func(size int64, readers int, sum string) (*score.HalvedCounts, error) {
		p := &Calibration{
			Pass: transforms.Pass{
				Data: *d, Shards: d.Shards(size), Mode: dataset.FailFast, Seed: seed,
				Target: &transforms.Labeling{Classes: schema.NewVocabulary([]string{"0", "1"})},
			},
			HeldOut: HeldOut{Folds: k, Recipe: recipe, Outputs: 2, Weights: weights, SHA256: sum},
		}
		uri, err := transforms.StorePass(ctx, dir, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, "counts")
		graph, s := beam.NewPipelineWithRoot()
		counts, _ := transforms.Sum(s, transforms.Scan{Pass: uri, Readers: readers, Threads: 1}, p)
		transforms.Write(s, out, counts)
		if _, err := beam.Run(ctx, "direct", graph); err != nil {
			return nil, err
		}
		data, err := storage.ReadState(ctx, out, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		c := new(score.HalvedCounts)
		return c, wire.Unmarshal(c, data)
	}
	for _, cut := range []struct {
		size    int64
		readers int
	}{{1 << 20, 1}, {500, 3}} {
		if got, err := count(cut.size, cut.readers, sum); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: %d rows counted, want %d: %v", cut, got.Both().Rows(), want.Both().Rows(), err)
		}
	}
	if _, err := count(1<<20, 1, strings.Repeat("0", 64)); err == nil ||
		!strings.Contains(err.Error(), "is damaged: its checksum does not match") {
		t.Errorf("weights other than the pass's: %v", err)
	}
}

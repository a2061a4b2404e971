package scoring

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
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

// All fits score each row of the first fold by its hash, for every cut of the rows. Targets are put on the
// scale of scores.
func TestTrialsScoreTheFirstFoldByEveryFit(t *testing.T) {
	ctx := context.Background()
	const seed, k, n = 3, 4, 200
	grid := linear.Grids{{Low: -1, High: 3}}
	classes, targets, losses := score.NewTrials(2), score.NewTrials(3), score.NewLogLosses(2)
	text := "a,b,y\n"
	for i := range n {
		x, y := []float32{float32(i) / 8, float32(i%7) - 3}, i%2
		text += fmt.Sprintf("%g,%g,%d\n", x[0], x[1], y)
		if profile.RowHash(seed, x)%k == 0 {
			classes.AddClass(y, []float32{x[0] + 1, 2 * x[1], x[1], x[0]}, 1, 0)
			losses.Add(y, []float32{x[0] + 1, 2 * x[1], x[1], x[0]}, 1)
			targets.AddTargets([]float64{(float64(y) - 1) / 2}, []float32{x[0] + 1, 2 * x[1], x[1]}, 1, 0)
		}
	}
	if m := classes.Rows(); m < 20 || m > 90 {
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
	all := &linear.Model{K: 4, D: 2, W: []float32{1, 0, 0, 2, 0, 1, 1, 0}, B: []float32{1, 0, 0, 0}}
	for _, c := range []struct {
		want          *score.Trials
		fits, outputs int
		target        *transforms.Labeling
		losses        *score.LogLosses
	}{
		{classes, 2, 2, &transforms.Labeling{Classes: schema.NewVocabulary([]string{"0", "1"})}, nil},
		{classes, 2, 2, &transforms.Labeling{Classes: schema.NewVocabulary([]string{"0", "1"})}, losses},
		{targets, 3, 1, &transforms.Labeling{Grid: grid}, nil},
	} {
		weights := filepath.Join(dir, fmt.Sprint("weights", c.fits))
		rows := c.fits * c.outputs
		sum, err := transforms.StoreWeights(ctx, weights, &linear.Model{K: rows, D: 2, W: all.W[:2*rows], B: all.B[:rows]})
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []struct {
			size    int64
			readers int
		}{{1 << 20, 1}, {500, 3}} {
			p := &Trials{
				Pass: transforms.Pass{Data: *d, Shards: d.Shards(cut.size), Mode: dataset.FailFast, Seed: seed,
					Target: c.target},
				HeldOut: HeldOut{Folds: k, Recipe: recipe, Outputs: c.outputs, Fits: c.fits, Weights: weights, SHA256: sum},
				LogLoss: c.losses != nil,
			}
			uri, err := transforms.StorePass(ctx, dir, p, nil)
			if err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(dir, "trials")
			graph, s := beam.NewPipelineWithRoot()
			trials, _ := transforms.Sum(s, transforms.Scan{Pass: uri, Readers: cut.readers, Threads: 1}, p)
			transforms.Write(s, out, trials)
			if _, err := beam.Run(ctx, "direct", graph); err != nil {
				t.Fatal(err)
			}
			data, err := storage.ReadState(ctx, out, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			var scored TrialScores
			err = wire.Unmarshal(&scored, data)
			got := &scored.Trials
			if err != nil || !reflect.DeepEqual(got, c.want) || !reflect.DeepEqual(scored.Losses, c.losses) {
				t.Errorf("%d fits, %+v: %+v, want %+v: %v", c.fits, cut, got, c.want, err)
			}
		}
	}
}

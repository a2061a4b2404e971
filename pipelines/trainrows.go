package pipelines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	"github.com/cespare/xxhash/v2"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/records"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/transforms/fault"
	"github.com/bochner-ml/bochner/transforms/rows"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[*sampleLineFn]())
	beam.RegisterDoFn(reflect.TypeFor[*drawRecipeFn]())
	beam.RegisterType(reflect.TypeFor[lowestFn]())
	beam.RegisterType(reflect.TypeFor[lowest]())
	beam.RegisterFunction(await)
}

// TrainRowsOptions holds the options of TrainRows.
type TrainRowsOptions struct {
	// Dir is the directory in which three are created: recipe, a model of the sample, by whose recipe
	// later rows can be summed; sums; and models.
	Dir string
	// Sample is how many rows the recipe is drawn from; 0 is 20,000. All rows are summed.
	Sample int
	Task   models.Task // classification or regression; "" decides from the labels
	Lambda []float64   // values of λ to choose from; none is auto
	// Features is the number of Gaussian features; 0 lets the training choose kernel and number.
	Features int
	Room     float64  // how far targets may be beyond the sample's, as a multiple of their range; 0 is 1
	Seed     uint64   // of the recipe; 0 is a seed like any other
	Classes  []string // classes that rows may have and the sample may lack
	Shards   int      // see rows.Recipe.Shards
	Threads  int      // see rows.Recipe.Threads
}

// TrainRows trains on a bounded PCollection of rows, without an existing model. It draws a recipe
// from a sample of all rows. Hashes of the rows decide which are in the sample, so their order does
// not matter. Then it sums the rows of each window by the recipe, and fits a model to each window,
// as FitStored does. It returns a PCollection<WindowModel>, and a PCollection<rows.Rejected> with the
// rows that cannot be used and the windows that no model can be fitted to.
//
// Rows are structs with a label, or rows.Row with values by name and a Label. Rows whose class is
// neither in the sample nor in Classes, or whose target is beyond Room, are rejected. TrainRows
// panics if the element type cannot be such a row, if it has a field that no column can be, such as a
// time.Time, without the tag `bochner:"-"`, if elements are pairs of a key and a row, or if Sample is
// negative.
func TrainRows(s beam.Scope, o TrainRowsOptions, all beam.PCollection) (fitted, rejected beam.PCollection) {
	s = s.Scope("pipelines.TrainRows")
	if o.Sample < 0 {
		panic(fmt.Sprintf("pipelines: TrainRows: Sample must be at least 0 (have %d)", o.Sample))
	}
	o.Sample = cmp.Or(o.Sample, 20_000)
	o.Room = cmp.Or(o.Room, 1)
	if typex.IsKV(all.Type()) {
		panic("pipelines: TrainRows takes rows that have their keys as a field")
	}
	rowType, err := records.TypeOf(all.Type().Type())
	if err == nil {
		err = rowType.CheckColumns()
	}
	if err != nil {
		panic("pipelines: " + err.Error())
	}
	draw := &drawRecipeFn{Options: o}
	draw.Label, draw.Weight = rowType.Columns()
	if draw.Label == "" {
		panic(fmt.Sprintf("pipelines: %s has no label; tag a field with `bochner:\",label\"`", all.Type()))
	}
	// The recipe is the same in all windows.
	lines := beam.ParDo(s, new(sampleLineFn), beam.WindowInto(s, window.NewGlobalWindows(), all))
	recipe := beam.ParDo(s, draw, beam.Combine(s, lowestFn{o.Sample}, lines))
	r := rows.Recipe{Dir: storage.Join(o.Dir, "recipe"), Classes: o.Classes, Shards: o.Shards, Threads: o.Threads}
	sums := rows.Sum(s, r, beam.ParDo(s, await, all, beam.SideInput{Input: recipe}))
	fitted, without := FitStored(s, storage.Join(o.Dir, "models"), rows.Store(s, r, storage.Join(o.Dir, "sums"), sums))
	return fitted, beam.Flatten(s, sums.Rejected, without)
}

// await emits rows once the recipe, its side input, exists.
func await(row beam.X, _ func(*string) bool, emit func(beam.X)) { emit(row) }

// sampleLineFn writes each row as a line of JSON after its hash, in 16 hexadecimal digits.
type sampleLineFn struct{ rowType *records.Type }

func (f *sampleLineFn) ProcessElement(row beam.X) (string, error) {
	v := reflect.ValueOf(row)
	if f.rowType == nil {
		var err error
		if f.rowType, err = records.TypeOf(v.Type()); err != nil {
			return "", err
		}
	}
	line, err := f.rowType.JSON(v)
	return fmt.Sprintf("%016x%s", xxhash.Sum64(line), line), fault.Wrap(fault.Data, err)
}

// lowestFn combines lines into the first Limit of them in order: the rows with the smallest hashes.
type lowestFn struct{ Limit int }

type lowest struct{ Lines []string }

func (f lowestFn) CreateAccumulator() lowest { return lowest{} }

func (f lowestFn) AddInput(a lowest, line string) lowest {
	a.Lines = append(a.Lines, line)
	if len(a.Lines) >= 2*f.Limit {
		return f.ExtractOutput(a)
	}
	return a
}

func (f lowestFn) MergeAccumulators(a, b lowest) lowest {
	return f.ExtractOutput(lowest{slices.Concat(a.Lines, b.Lines)})
}

func (f lowestFn) ExtractOutput(a lowest) lowest {
	slices.Sort(a.Lines)
	return lowest{a.Lines[:min(f.Limit, len(a.Lines))]}
}

// drawRecipeFn trains a model on the sample and emits its directory.
type drawRecipeFn struct {
	Options       TrainRowsOptions
	Label, Weight string
}

func (f *drawRecipeFn) ProcessElement(ctx context.Context, sample lowest) (dir string, err error) {
	temp, err := os.MkdirTemp("", "bochner-rows-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	var text strings.Builder
	for _, line := range sample.Lines {
		text.WriteString(line[16:])
	}
	data := filepath.Join(temp, "rows.jsonl")
	if err := os.WriteFile(data, []byte(text.String()), 0o600); err != nil {
		return "", err
	}
	o := options.Train{Lambda: options.Lambda{Path: f.Options.Lambda}, Prepare: options.Prepare{
		Data: dataset.Options{Files: []string{data}, Format: "jsonl", As: "sample of rows", Label: f.Label,
			Roles: dataset.Roles{Weight: f.Weight}},
		Task: f.Options.Task, Room: f.Options.Room, Seed: f.Options.Seed, MaxBadFraction: 1,
	}}
	if f.Options.Features > 0 {
		o.Kernel = &fourier.GaussianOptions{Features: f.Options.Features}
	}
	o.Model = storage.Join(f.Options.Dir, "recipe")
	_, err = Train(ctx, o)
	if errors.Is(err, fs.ErrExist) {
		existing, failed := existingModel(ctx, o.Model, func(dir string) error {
			same := o
			same.Model = dir
			_, err := Train(ctx, same)
			return err
		})
		switch {
		case errors.Is(failed, models.ErrBadModel):
			return "", fault.Wrap(fault.Model, failed)
		case failed != nil:
			return "", fault.Wrap(fault.Data, failed)
		case existing != nil:
			return o.Model, nil
		}
		err = fmt.Errorf("the recipe is of other rows; choose another directory: %w", err)
	}
	return o.Model, fault.Wrap(fault.Data, err)
}

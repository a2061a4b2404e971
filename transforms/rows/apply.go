package rows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/records"
	"github.com/bochner-ml/bochner/io/rowio"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/fault"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[*applyFn]())
	beam.RegisterDoFn(reflect.TypeFor[*applyKeyedFn]())
}

// applyFn applies a model to rows.
type applyFn struct {
	transforms.Fn
	Name      string
	Every     int64 // Model.Every, in nanoseconds
	Featurize bool
	Keep      bool // emit rows with their predictions
	Score     bool // read labels and compare them with predictions

	state *applying
}

// applyKeyedFn is applyFn for pairs of a key and a row.
type applyKeyedFn struct{ applyFn }

// applying is the state of an applyFn.
type applying struct {
	collector
	handle *models.Handle
	task   transforms.Task

	// Of the model that was used last.
	model   *models.Model
	records *records.Reader
	applier models.Applier
	block   rowio.Block
	phi     []float32
}

// Setup loads the model, unless the process has it.
func (f *applyFn) Setup(ctx context.Context) error {
	f.Fn.Setup()
	h, err := models.OpenHandle(ctx, f.Name, time.Duration(f.Every))
	if err != nil {
		return fault.Wrap(fault.Model, err)
	}
	f.state = &applying{handle: h}
	return nil
}

// Teardown releases the model.
func (f *applyFn) Teardown() {
	if f.state != nil {
		f.state.handle.Close()
	}
	f.Fn.Teardown()
}

func (f *applyFn) StartBundle(_ context.Context, _ func(result)) {
	f.state.reset() // the last bundle may have failed
	f.state.task = transforms.NewTask(f.Fn)
}

func (f *applyFn) ProcessElement(ctx context.Context, pane beam.PaneInfo, w beam.Window, at beam.EventTime,
	row beam.X, emit func(result)) error {
	return f.add(ctx, nil, row, placeIn(pane, w, at), emit)
}

func (f *applyKeyedFn) ProcessElement(ctx context.Context, pane beam.PaneInfo, w beam.Window, at beam.EventTime,
	key beam.X, row beam.Y, emit func(result)) error {
	return f.add(ctx, key, row, placeIn(pane, w, at), emit)
}

func (f *applyFn) add(ctx context.Context, key, row any, at *place, emit func(result)) error {
	b := f.state
	if err := b.add(key, row, at); err != nil {
		return err
	}
	if len(b.items) < rowio.MaxRows {
		return nil
	}
	return f.flush(ctx, emit)
}

func (f *applyFn) FinishBundle(ctx context.Context, emit func(result)) error {
	err := f.flush(ctx, emit)
	f.state.task.Commit(ctx)
	return err
}

// flush applies one model to all collected rows.
func (f *applyFn) flush(ctx context.Context, emit func(result)) error {
	b := f.state
	defer b.reset()
	if len(b.items) == 0 {
		return nil
	}
	if m := b.handle.Model(ctx); m != b.model {
		if err := b.use(m, !f.Featurize, f.Score); err != nil {
			return fault.Wrap(fault.Model, err)
		}
	}
	in, _ := b.model.Map.Dims()
	for from, step := 0, rowio.RowsPerBlock(in); from < len(b.items); from += step {
		if err := f.apply(from, min(from+step, len(b.items)), emit); err != nil {
			return err
		}
	}
	b.task.Commit(ctx)
	return nil
}

// use prepares for another model. fill allows it to fill in missing values; labeled is true if labels are read.
func (b *applying) use(m *models.Model, fill, labeled bool) error {
	s := new(dataset.Schema)
	if o := m.Manifest.Input.Options; len(o) > 0 {
		if err := json.Unmarshal(o, s); err != nil {
			return fmt.Errorf("rows: input options of the model: %w", err)
		}
	} else {
		s.Dim, s.Columns = m.Manifest.Input.Dim, m.Manifest.Input.Columns
	}
	b.model = m
	o := records.Options{Missing: fill && m.Manifest.Fill() != nil}
	if labeled {
		if m.Embeds() {
			return errors.New("rows: the model is an embedding, which predicts no labels, so it has no scores")
		}
		o.Label, o.LabelColumns = schema.ParseTarget, m.Manifest.Input.Labels
		if len(o.LabelColumns) == 0 {
			o.LabelColumns = []string{m.Manifest.Input.Label}
		}
		if m.Classifies() {
			o.Label = func(token []byte) (float64, string) {
				if i, known := m.Manifest.Vocabulary.Index(token); known {
					return float64(i), ""
				}
				return score.Unseen, ""
			}
		}
	}
	b.records = records.New(s, o)
	b.applier = models.Applier{Model: m, Map: func(phi, x []float32, n int) []float32 {
		return b.task.Apply(m.Map, phi, x, n)
	}}
	return nil
}

// apply emits the results of the rows from first to end−1.
func (f *applyFn) apply(first, end int, emit func(result)) error {
	b := f.state
	reject := func(i int, reason string) {
		emit(result{Prediction: Prediction{Key: b.keys[first+i]}, Reason: reason, at: b.at[first+i]})
		b.task.Add(transforms.RowsSetAside, 1)
	}
	b.task.Add(transforms.RowsRead, int64(end-first))
	stop := b.task.Clock(transforms.ReadTime)
	err := b.records.Read(&b.block, b.items[first:end], reject)
	stop()
	if err != nil {
		return fault.Wrap(fault.Data, err)
	}
	if f.Featurize {
		f.features(first, emit, reject)
		return nil
	}
	output := b.applier.Apply(b.block.X, b.block.N)
	k := b.model.Linear.K
	outputs := b.model.Manifest.Vocabulary
	for i, line := range b.block.Lines {
		scores := output.Scores[i*k : (i+1)*k]
		if !exact.AllFinite(scores) {
			reject(int(line)-1, models.TooLarge)
			continue
		}
		at := first + int(line) - 1
		p := Prediction{Key: b.keys[at], Scores: append([]float32(nil), scores...), Model: b.model.Manifest.SHA256}
		switch {
		case output.Classes != nil:
			p.Class = outputs.Classes[output.Classes[i]]
		default:
			p.Values = append(p.Values, output.Targets[i*k:(i+1)*k]...)
		}
		if output.Probabilities != nil {
			p.Probabilities = append(p.Probabilities, output.Probabilities[i*k:(i+1)*k]...)
		}
		r := result{Prediction: p, at: b.at[at]}
		if f.Keep {
			r.row = b.items[at].Interface()
		}
		if f.Score {
			r.Losses = lossesOf(output, i, k, b.block.Labels(i))
		}
		emit(r)
		b.task.Add(transforms.RowsUsed, 1)
	}
	return nil
}

// lossesOf returns the losses of row i, with k outputs and the labels y.
func lossesOf(output models.Applied, i, k int, y []float64) (losses []float64) {
	if output.Classes == nil {
		for c, y := range y {
			losses = append(losses, output.Targets[i*k+c]-y)
		}
		return losses
	}
	losses = []float64{1}
	if int(output.Classes[i]) == int(y[0]) {
		losses[0] = 0
	}
	if output.Probabilities != nil {
		loss, _ := score.ProbabilityLosses(output.Probabilities[i*k:(i+1)*k], int(y[0]))
		losses = append(losses, float64(loss))
	}
	return losses
}

// features emits the features of the rows of the block.
func (f *applyFn) features(first int, emit func(result), reject func(int, string)) {
	b := f.state
	_, d := b.model.Map.Dims()
	for i, step := 0, rowio.RowsPerFeatureBlock(d); i < b.block.N; i += step {
		n := min(step, b.block.N-i)
		b.phi = b.task.Apply(b.model.Map, b.phi, b.block.X[i*b.block.D:], n)
		for r := range n {
			item, phi := int(b.block.Lines[i+r])-1, b.phi[r*d:(r+1)*d]
			if !exact.AllFinite(phi) {
				reject(item, models.TooLarge)
				continue
			}
			at := first + item
			emit(result{Prediction: Prediction{Key: b.keys[at], Model: b.model.Manifest.SHA256},
				Features: append([]float32(nil), phi...), at: b.at[at]})
			b.task.Add(transforms.RowsUsed, 1)
		}
	}
}

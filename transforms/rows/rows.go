package rows

import (
	"fmt"
	"reflect"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"

	"github.com/bochner-ml/bochner/io/records"
	"github.com/bochner-ml/bochner/transforms"
)

// Row is a row of a table with its key, for rows that have no type of their own.
type Row = records.Row

// Model says which model to apply.
type Model struct {
	// Name is the directory of the model, on disk or a place such as gs://bucket/model if the
	// program imports the package of its scheme (io/storage/gcs); or an alias of a directory of
	// models, as gs://bucket/models@champion.
	Name string
	// Every is how often a process looks the name up again. It changes to another model between
	// two blocks of rows. If the new model is damaged, the old one stays in use. 0 means never.
	Every time.Duration
	// Threads compute one block; 0 is 1. Results do not depend on it.
	Threads int
}

// Prediction is what a model predicts for a row.
type Prediction struct {
	Key string // of the row
	// Class is the predicted class of a classifier; "" of other models.
	Class string
	// Values are the targets of a regression, in the units of the training data, or the
	// coordinates of an embedding; nil of a classifier.
	Values []float64
	// Scores has one number for each of models.Model.Outputs.
	Scores []float32
	// Probabilities has one number for each of models.Model.Outputs; nil if the model has none.
	Probabilities []float32
	// Model is the digest of the model: models.Manifest.SHA256.
	Model string
}

// Features are the features of a row.
type Features struct {
	Key    string // of the row
	Values []float32
	Model  string // digest of the model whose map they are of
}

// Rejected is a row that cannot be used.
type Rejected struct {
	Key    string // of the row
	Reason string
}

// Predict applies a model to rows. It returns a PCollection<Prediction>, and a
// PCollection<Rejected> of the rows that have no prediction. It panics if m.Name is "" or elements cannot be
// rows.
func Predict(s beam.Scope, m Model, rows beam.PCollection) (predictions, rejected beam.PCollection) {
	s = s.Scope("rows.Predict")
	return beam.ParDo2(s, splitPredictions, m.apply(s, applyFn{}, rows))
}

// WithPredictions is like Predict, but also returns the rows. For rows of a type T it returns a
// PCollection<KV<T, Prediction>>, and a PCollection<Rejected> of the rows that have no prediction. If
// the elements are pairs of a key and a row, the key is in the prediction. It panics as Predict does.
func WithPredictions(s beam.Scope, m Model, rows beam.PCollection) (pairs, rejected beam.PCollection) {
	s = s.Scope("rows.WithPredictions")
	all := m.apply(s, applyFn{Keep: true}, rows)
	t := rows.Type()
	if typex.IsKV(t) {
		t = t.Components()[1]
	}
	return beam.ParDo2(s, &pairFn{Type: beam.EncodedType{T: t.Type()}}, all,
		beam.TypeDefinition{Var: beam.XType, T: t.Type()})
}

// Featurize computes the features of rows with the feature map of the model. It returns a
// PCollection<Features>, and a PCollection<Rejected> of the rows that have none. It panics as
// Predict does.
func Featurize(s beam.Scope, m Model, rows beam.PCollection) (features, rejected beam.PCollection) {
	s = s.Scope("rows.Featurize")
	return beam.ParDo2(s, splitFeatures, m.apply(s, applyFn{Featurize: true}, rows))
}

// apply returns a PCollection<result>.
func (m Model) apply(s beam.Scope, f applyFn, rows beam.PCollection) beam.PCollection {
	if m.Name == "" {
		panic("rows: no model: set Model.Name to its directory")
	}
	f.Fn, f.Name, f.Every = fn(m.Name, m.Threads), m.Name, int64(m.Every)
	if keyed(rows) {
		return beam.ParDo(s, &applyKeyedFn{f}, rows)
	}
	return beam.ParDo(s, &f, rows)
}

// fn returns the Fn that DoFns on rows embed. DoFns with the same name share a worker in a process.
func fn(name string, threads int) transforms.Fn {
	return transforms.Fn{Scan: transforms.Scan{Pass: "rows:" + name + "/", Readers: 1, Threads: max(1, threads)}}
}

// keyed reports whether elements are pairs of a key and a row. It panics if they cannot be rows.
func keyed(col beam.PCollection) bool {
	t := col.Type()
	if !typex.IsKV(t) {
		checkRowType(t.Type())
		return false
	}
	key, row := t.Components()[0], t.Components()[1]
	switch key.Type().Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
	default:
		panic(fmt.Sprintf("rows: keys of the type %s, want strings, booleans or integers", key))
	}
	checkRowType(row.Type())
	return true
}

// checkRowType panics unless values of the type can be rows.
func checkRowType(t reflect.Type) {
	if _, err := records.TypeOf(t); err != nil {
		panic("rows: " + err.Error())
	}
}

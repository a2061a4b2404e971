package models

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/ridge"
)

// waves is a recipe of the tests: feature j of a row is cos of its first number,
// j + 1 times.
type waves struct {
	In  int `json:"in"`
	Out int `json:"out"`
}

func init() { features.Register("test.waves", features.Decode[waves]) }

func (r waves) Validate() error {
	if r.In < 1 || r.Out < 1 {
		return errors.New("waves: no size")
	}
	return nil
}
func (r waves) Dims() (in, out int)           { return r.In, r.Out }
func (r waves) New() (features.Map, error)    { return r, r.Validate() }
func (r waves) Kernel(x, z []float32) float64 { return 0 }
func (r waves) Apply(dst, x []float32, n int) {
	for i := range n {
		for j := range r.Out {
			dst[i*r.Out+j] = float32(math.Cos(float64(j+1) * float64(x[i*r.In])))
		}
	}
}

// classifier is a model of three classes, on 5 features of rows of 2.
func classifier(t testing.TB) *Model {
	t.Helper()
	recipe, err := features.Seal(waves{In: 2, Out: 5})
	if err != nil {
		t.Fatal(err)
	}
	l := &linear.Model{K: 3, D: 5, B: []float32{0.5, -1, 0.25}}
	for i := range 15 {
		l.W = append(l.W, float32(math.Sin(float64(i))))
	}
	return &Model{
		Linear: l,
		Map:    waves{In: 2, Out: 5},
		Manifest: &Manifest{
			Program: "v0.1.0", Task: Classification, Seed: math.MaxUint64,
			Recipe: recipe, Features: 5, Outputs: 3,
			Learner: Learner{Kind: "ridge", Lambda: 1e-6, Folds: 5, Table: []ridge.CVResult{
				{Lambda: 1e-6, MSE: 0.25, StdErr: 0.01, Train: 0.2, FoldMSE: 0.3,
					HeldOutResult: ridge.HeldOutResult{HeldOutRows: 20, HeldOutErrors: 3, HeldOutMSE: 0.25}},
				{Lambda: 0, Failed: "not positive definite (pivot 2 of 5)"},
			}},
			Input: Input{Format: "csv", Dim: 2, Columns: []string{"width <cm>", "höhe"}, Label: "kind",
				Options: json.RawMessage(`{"comma":";"}`)},
			Targets: Targets{Vocabulary: schema.NewVocabulary([]string{"ant", "bee", "cow"})},
			TrainingData: TrainingData{
				Rows:        RowCounts{Read: 120, Used: 118, SetAside: 2},
				Profile:     Profile{ClassCounts: []int64{40, 40, 38}, Width: 1.5},
				Scores:      map[string]float64{"accuracy": 0.975, "auc": 0.99},
				Fingerprint: "9f86d081884c7d65",
			},
		},
	}
}

// regressor is a model of one target far from zero.
func regressor(t testing.TB) *Model {
	t.Helper()
	m := classifier(t)
	m.Linear = &linear.Model{K: 1, D: 5, W: []float32{0.1, 0.2, -0.3, 0.4, 0.05}, B: []float32{-0.5}}
	m.Manifest.Task, m.Manifest.Outputs = Regression, 1
	m.Manifest.Vocabulary, m.Manifest.Profile = nil, Profile{}
	m.Manifest.TargetGrid = linear.Grids{{Low: 1e6, High: 1e6 + 8}}
	return m
}

// encode returns the two files of a model.
func encode(t testing.TB, m *Model) (manifest, weights []byte) {
	t.Helper()
	files, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 || files[0].Name != WeightsFile || files[1].Name != ManifestFile {
		t.Fatalf("files %v", files)
	}
	return files[1].Data, files[0].Data
}

// decode is Load without a directory.
func decode(manifest, weights []byte) (*Manifest, *linear.Model, error) {
	m, err := decodeManifest(manifest)
	if err != nil {
		return nil, nil, err
	}
	l, err := decodeWeights(m, weights)
	return m, l, err
}

// seal replaces the checksum of a manifest after any edit of the rest.
func seal(body []byte) []byte {
	if n := len(tailStart) + 64 + len(tailEnd); len(body) >= n {
		body = body[:len(body)-n]
	}
	return append(body[:len(body):len(body)], tailStart+hexDigest(body)+tailEnd...)
}

// decodeWeights reads the weights file of the model of the manifest.
func decodeWeights(m *Manifest, data []byte) (*linear.Model, error) {
	f, _ := m.File(WeightsFile)
	if err := f.Check(data); err != nil {
		return nil, err
	}
	return ReadWeights(data, m.Outputs, m.Features)
}

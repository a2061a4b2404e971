package preprocess

import (
	"fmt"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/blas"
)

// FullMetric is the recipe of x ↦ Ax. Products are summed in float32, in the order of package blas. MetricOf
// returns one with its matrix.
type FullMetric struct {
	Dim    int    `json:"dim"`    // d
	SHA256 string `json:"sha256"` // of the file of A, in hexadecimal

	matrix *MetricMatrix // nil without the file
}

// MetricOf returns the recipe of a metric, given its file.
func MetricOf(data []byte) (FullMetric, error) {
	m, err := decodeMetric(data)
	if err != nil {
		return FullMetric{}, err
	}
	return FullMetric{m.Dim, features.SHA256(data), m}, nil
}

func openFull(data []byte, files *features.Files) (FullMetric, error) {
	r, err := features.Decode[FullMetric](data, files)
	r.matrix = features.FileContent[MetricMatrix](files, r.SHA256)
	return r, err
}

// AddFiles implements features.FileUser.
func (r FullMetric) AddFiles(f *features.Files) { f.Set(r.SHA256, r.matrix) }

// Validate returns an error that names the invalid field. It does not check the file.
func (r FullMetric) Validate() error {
	if r.Dim < 1 || r.Dim > MaxMetricDim {
		return fmt.Errorf("metric: Full: dim must be 1 to %d (have %d)", MaxMetricDim, r.Dim)
	}
	if err := features.CheckSum(r.SHA256); err != nil {
		return fmt.Errorf("metric: Full: %w", err)
	}
	return nil
}

// Matrix returns A. It fails if the recipe was opened without the file, or if the file has another size.
func (r FullMetric) Matrix() (*MetricMatrix, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	m := r.matrix
	if m == nil {
		return nil, fmt.Errorf("metric: the metric with SHA-256 %.12s… is not available; provide %s of the model",
			r.SHA256, MetricFile)
	}
	if m.Dim != r.Dim {
		return nil, fmt.Errorf("metric: the file has a matrix of %d×%[1]d, the recipe one of %d×%[2]d", m.Dim, r.Dim)
	}
	return m, nil
}

// New returns the map. It fails if a field is invalid, or if Matrix does.
func (r FullMetric) New() (features.Map, error) {
	m, err := r.Matrix()
	if err != nil {
		return nil, err
	}
	return &full{r.Dim, blas.Pack(m.A, nil, r.Dim, r.Dim)}, nil
}

// Dims implements features.Recipe.
func (r FullMetric) Dims() (in, out int) { return r.Dim, r.Dim }

// full is the map of FullMetric.
type full struct {
	dim int
	a   *blas.Weights
}

// Dims implements features.Map.
func (m *full) Dims() (in, out int) { return m.dim, m.dim }

// Apply stores Ax in dst for the n rows of x. It panics if a slice is too short.
func (m *full) Apply(dst, x []float32, n int) {
	if n < 0 || len(x) < n*m.dim || len(dst) < n*m.dim {
		panic("metric: Apply: slice too short")
	}
	m.a.Mul(dst, x, n, 1)
}

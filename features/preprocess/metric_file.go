package preprocess

import (
	"fmt"

	"github.com/bochner-ml/bochner/internal/exact"
	"github.com/bochner-ml/bochner/io/safetensors"
)

// MetricFile is the name of the file of a metric in a model directory.
const MetricFile = "metric.safetensors"

// MaxMetricDim is the largest row length of a full metric, whose map takes d² products per row: 256 MiB.
const MaxMetricDim = 8192

// MetricMatrix is the content of the file of a metric. It must not change after EncodeMetric.
type MetricMatrix struct {
	Dim int       // d
	A   []float32 // d×d, row-major
}

func (m *MetricMatrix) validate() error {
	if m.Dim < 1 || m.Dim > MaxMetricDim {
		return fmt.Errorf("rows must have 1 to %d values (have %d)", MaxMetricDim, m.Dim)
	}
	if len(m.A) != m.Dim*m.Dim {
		return fmt.Errorf("%d values for a matrix of %d×%[2]d", len(m.A), m.Dim)
	}
	for i, v := range m.A {
		if !exact.Finite(v) {
			return fmt.Errorf("row %d, column %d must be finite (have %v)", i/m.Dim+1, i%m.Dim+1, v)
		}
	}
	return nil
}

// EncodeMetric returns the file of m, in the safetensors format: "metric" [Dim, Dim] F32. Equal matrices have
// equal bytes. It returns an error if the matrix is invalid.
func EncodeMetric(m *MetricMatrix) ([]byte, error) {
	if err := m.validate(); err != nil {
		return nil, fmt.Errorf("metric: %w", err)
	}
	return safetensors.Encode(nil, safetensors.NewTensor("metric", m.A, m.Dim, m.Dim)), nil
}

// decodeMetric decodes the file of a metric.
func decodeMetric(data []byte) (*MetricMatrix, error) {
	m, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("metric: %w", err)
	}
	return m, nil
}

func decode(data []byte) (*MetricMatrix, error) {
	file, err := safetensors.Decode(data)
	if err != nil {
		return nil, err
	}
	info, ok := file.Lookup("metric")
	if !ok || len(file.Tensors) != 1 || len(info.Shape) != 2 || info.Shape[0] != info.Shape[1] {
		return nil, fmt.Errorf("want one array, the square matrix %q", "metric")
	}
	m := &MetricMatrix{Dim: info.Shape[0]} // no larger than the file, so allocation is bounded
	if m.A, err = safetensors.Values[float32](file, "metric"); err != nil {
		return nil, err
	}
	return m, m.validate()
}

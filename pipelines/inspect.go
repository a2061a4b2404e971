package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/inspecting"
)

// InspectOptions says which data to describe.
type InspectOptions = inspecting.InspectOptions

// DataReport describes data.
type DataReport = inspecting.DataReport

// ColumnReport describes a column.
type ColumnReport = inspecting.ColumnReport

// InspectData reads all rows once and describes them. It writes nothing but the schema file that
// is asked for.
func InspectData(ctx context.Context, o InspectOptions) (*DataReport, error) {
	return inspecting.InspectData(ctx, o)
}

// ModelReport describes a model.
type ModelReport = inspecting.ModelReport

// InspectModel loads a model, verifies its checksums, and describes it.
func InspectModel(ctx context.Context, dir string) (*ModelReport, error) {
	return inspecting.InspectModel(ctx, dir)
}

package pipelines

import "github.com/bochner-ml/bochner/pipelines/modeldata"

// Threshold is what decides between two classes instead of the larger score or probability.
type Threshold = modeldata.Threshold

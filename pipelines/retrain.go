package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/evaluating"
	"github.com/bochner-ml/bochner/pipelines/retrain"
)

// RetrainOptions says what to retrain, and when a new model becomes champion.
type RetrainOptions struct {
	retrain.Options
	// Train says how a recipe is drawn: all but the data and the model.
	Train TrainOptions
	// Gate has conditions on the scores of the new model, such as accuracy>=0.95, separated by
	// commas.
	Gate string
	// PairedGate has conditions on its difference from the champion, in words.
	PairedGate string
}

// Retrain works for a day: it sums the partitions of the data that changed, fits a model to the
// window, compares it with the champion, and makes it champion if it passes. If it does not put
// a new model to use, the error says so with an exit code of its own, and the report is complete.
func Retrain(ctx context.Context, o RetrainOptions) (*retrain.Report, error) {
	if _, err := evaluating.ParseGates(o.Gate); err != nil {
		return nil, err
	}
	if _, err := evaluating.ParseConditions(o.PairedGate); err != nil {
		return nil, err
	}
	o.Program = engine.Version()
	return retrain.Run(ctx, o.Options, &nightJobs{o})
}

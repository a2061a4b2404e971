package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/internal/ask"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// AskOptions says which question to answer, and from which sums.
type AskOptions = options.Ask

// AskResult is the answer to a question: R² and errors of models of some parts of the data on others.
type AskResult = results.Ask

// Ask answers a question about data from its sums. It reads no rows.
func Ask(ctx context.Context, o AskOptions) (*AskResult, error) { return ask.Ask(ctx, o) }

// Questions returns the questions that Ask can answer.
func Questions() []options.Question { return ask.Questions() }

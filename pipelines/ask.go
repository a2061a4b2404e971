package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/internal/ask"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
)

// Ask answers a question about data from its sums. It reads no rows.
func Ask(ctx context.Context, o options.Ask) (*results.Ask, error) { return ask.Ask(ctx, o) }

// Questions returns the questions that Ask can answer.
func Questions() []options.Question { return ask.Questions() }

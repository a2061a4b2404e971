package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/internal/serve"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// Serve answers requests for predictions over HTTP until the context ends, and then finishes the requests that
// have begun. No other function of the module opens a port, unless a runner needs one.
func Serve(ctx context.Context, o options.Serve) error { return serve.Serve(ctx, o) }

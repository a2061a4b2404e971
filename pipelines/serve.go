package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/internal/serve"
)

// ServeOptions say which model to serve over HTTP, where, and within which limits. The tags have the
// defaults, which NewServeOptions sets.
type ServeOptions = serve.Options

// Serve answers requests for predictions over HTTP until the context ends, and then finishes those that
// have begun. Only this function listens: nothing else of the module opens a port unless a runner
// requires it.
func Serve(ctx context.Context, o ServeOptions) error { return serve.Serve(ctx, o) }

// NewServeOptions returns the defaults.
func NewServeOptions() ServeOptions { return serve.NewOptions() }

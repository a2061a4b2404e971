package pipelines

import (
	"context"

	"github.com/bochner-ml/bochner/pipelines/internal/serve"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// ServeOptions says which model to serve over HTTP, where, and within which limits. NewServeOptions
// sets the defaults.
type ServeOptions = options.Serve

// Serve answers requests for predictions over HTTP until the context ends, and then finishes the requests that
// have begun. No other function of the module opens a port, unless a runner needs one.
func Serve(ctx context.Context, o ServeOptions) error { return serve.Serve(ctx, o) }

// NewServeOptions returns the defaults.
func NewServeOptions() ServeOptions { return serve.NewOptions() }

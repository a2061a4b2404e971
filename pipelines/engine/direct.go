package engine

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	//lint:ignore SA1019 the direct runner is the fastest on one machine; nothing here depends on it alone
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct"

	"github.com/bochner-ml/bochner/pipelines/exit"
)

// Direct is the name of the default runner, which runs in this process. It opens no port.
const Direct = "direct"

func init() { Register(direct{}) }

type direct struct{}

func (direct) About() About { return About{Name: Direct, Lanes: 1, InProcess: true, Serial: true} }

func (direct) Validate(e Engine) error {
	if e.Lanes > 1 {
		return exit.Usage("--lanes: the direct runner has one reader; use --threads")
	}
	return nil
}

func (direct) Ready(context.Context, Engine) error { return nil }

func (direct) Run(ctx context.Context, _ Engine, p *beam.Pipeline) error {
	return inProcess(ctx, func(ctx context.Context) error {
		_, err := beam.Run(ctx, Direct, p)
		return err
	})
}

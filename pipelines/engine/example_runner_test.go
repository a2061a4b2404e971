package engine_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/filter"

	"github.com/bochner-ml/bochner/pipelines/engine"
)

func init() { engine.Register(loud{}) }

// loud is a runner that prints when pipelines begin and end, and passes the work to Beam's
// direct runner.
type loud struct{}

// About describes workers as goroutines of this process, one reader at a time.
func (loud) About() engine.About { return engine.About{Name: "loud", Readers: 1, InProcess: true} }

// Validate refuses options that do not fit, before anything is read.
func (loud) Validate(e engine.Engine) error {
	if e.Readers > 1 {
		return errors.New("the loud runner has one reader")
	}
	return nil
}

// Ready checks whether the server of a runner answers.
func (loud) Ready(context.Context, engine.Engine) error { return nil }

// Run runs a pipeline to its end.
func (loud) Run(ctx context.Context, _ engine.Engine, p *beam.Pipeline) error {
	fmt.Println("the pipeline begins")
	defer fmt.Println("the pipeline has ended")
	_, err := beam.Run(ctx, engine.Direct, p)
	return err
}

// A runner is a package that registers itself; a program that imports it has it for all
// jobs: bochner train --runner loud.
func ExampleRegister() {
	e := engine.Engine{Runner: "loud"}.WithDefaults()
	if err := e.Validate(); err != nil {
		fmt.Println(err)
		return
	}
	err := e.Run(context.Background(), func(s beam.Scope) {
		filter.Exclude(s, beam.Create(s, 1, 2, 3), odd)
	})
	fmt.Println(err)
	// Output:
	// the pipeline begins
	// the pipeline has ended
	// <nil>
}

func odd(n int) bool { return n%2 != 0 }

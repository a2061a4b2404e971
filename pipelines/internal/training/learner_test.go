package training

import (
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/pca"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// means is a learner of one pass that this package has no solver for.
type means struct {
	Step float64 `flag:"step" help:"A step."`
}

func (*means) Validate() error { return nil }

func init() {
	iterative.Register(iterative.Definition{Name: "means", Summary: "one pass",
		New: func() iterative.Options { return &means{} }})
}

func TestUnsupportedOnePassLearnersAreErrors(t *testing.T) {
	for want, l := range map[string]iterative.Options{
		"learner means is not supported":        &means{},
		"learner pca takes rows without labels": pca.NewLearnerOptions(),
	} {
		o := options.Train{Model: "m", Learner: l, Prepare: options.Prepare{Data: dataset.Options{Files: []string{"rows.csv"},
			Label: "y"}}}
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v; want %q", l, err, want)
		}
	}
}

// A trial that begins with the weights of another needs the rounds that it takes to change them.
func TestMinRoundsFollowFromTheStart(t *testing.T) {
	given, trial := &linear.Model{K: 1}, &linear.Model{K: 2}
	for _, c := range []struct {
		start, init *linear.Model
		want        int
	}{{nil, nil, 1}, {given, given, 0}, {trial, given, minRoundsFromTrial}, {trial, nil, minRoundsFromTrial}} {
		if got := (&roundFit{init: c.init}).minRounds(c.start); got != c.want {
			t.Errorf("from %p, initially %p: %d rounds, want %d", c.start, c.init, got, c.want)
		}
	}
}

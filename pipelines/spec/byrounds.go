package spec

import (
	"math"
	"slices"

	"github.com/bochner-ml/bochner/models/learner"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/report"
)

// ByRounds is the fit of an iterative learner, with complete options.
type ByRounds struct{ learner.Iterative }

func (b ByRounds) options() learner.Options { return b.Iterative }

func (b ByRounds) Name() string { return learner.Of(b.Iterative).Name }

// Spread returns the options with the defaults of how the rounds of an iterative learner run, for data of that many
// shards. On a cluster each reader that has a shard has a partition; on one machine there is one
// partition, which needs the fewest rounds.
func (o Options) Spread(shards int) Options {
	b, ok := o.Rounds()
	if !ok {
		return o
	}
	e, readers := o.Job.Engine.WithDefaults(), 1
	if !e.Here() {
		readers = min(e.Lanes, shards)
	}
	b.Common().Running.Complete(readers, e.About().Machines)
	o.Learner = b.Iterative
	return o
}

// Augments returns the augmentation of images.
func (b ByRounds) Augments() []string {
	if a, ok := b.Iterative.(learner.Augmented); ok {
		return a.Augmentation()
	}
	return nil
}

func (b ByRounds) validate(o Options) error {
	if _, _, err := Augmentation(b.Augments()); err != nil {
		return err
	}
	if err := report.ValidPicture(b.Common().Curve); err != nil {
		return err
	}
	if s := o.Lambda.Select; s != "" && s != SelectError {
		return exit.Usage("--select %s is for ridge; %s chooses by the errors on held-out rows, then by their loss", s, b.Name())
	}
	if b.Common().Patience > 0 && o.Lambda.Folds == 1 {
		return exit.Usage("--patience needs held-out rows; --folds must be 2 or more, or left out")
	}
	return nil
}

// autoLambdas returns the values of λ that an iterative learner tries by default.
func autoLambdas() []float64 { return []float64{1e-3, 1e-4, 1e-5, 1e-6} }

// Values returns the values of λ in decreasing order, because each fit can start from the
// weights of the one before.
func (b ByRounds) Values(o Options, n float64) (lambda []float64, folds int) {
	l := o.Lambda
	switch {
	case l.C != 0:
		lambda = []float64{1 / (l.C * n)}
	case len(l.Path) > 0:
		lambda = slices.Clone(l.Path)
	default:
		lambda = autoLambdas()
	}
	slices.Sort(lambda)
	slices.Reverse(lambda)
	lambda = slices.Compact(lambda)
	folds = l.Folds
	if folds == 0 && (len(lambda) > 1 || b.Common().Patience > 0 || o.HoldsOut()) {
		folds = DefaultFolds
	}
	if folds == 1 {
		folds = 0
	}
	return lambda, folds
}

func (b ByRounds) memory(_ Options, m *Memory, f Facts, e engine.Engine, lanes int) {
	r, d := b.Common(), int64(f.Features)
	partitions := max(1, r.Partitions)
	each := int64(partitions+lanes-1) / int64(max(lanes, 1)) // partitions per lane
	most := int64(math.MaxInt64)
	if f.Rows > 0 {
		most = f.Rows * 4 * (d + 1)
	}
	slots := int64(max(e.Threads, 1)) * f.featureBlock()
	// A partition fills one batch of rows to learn from and one of held-out rows, while others
	// wait and are processed.
	batches := 3 * f.block(f.Dim)
	if f.Rows > 0 {
		batches = min(batches, 8*int64(f.Dim)*(f.Rows/int64(partitions)+1))
	}
	own := b.Memory(learner.Size{Rows: f.Rows, Outputs: f.Outputs, Features: f.Features, Partitions: partitions})
	others := m.Worker
	m.Worker += min(r.Keep, most) + slots + each*(batches+own.Partition) + own.Worker
	m.Row, m.Solve = own.Row, own.Update
	if b.Samples() {
		n := f.bound(max(1, min(profileSample, learner.SampleValues/d)))
		m.Worker = max(m.Worker, others+4*n*(2*d+int64(f.Dim))+4*4*int64(f.Outputs)*d)
	}
}

func (b ByRounds) smaller(Options) string {
	if b.Common().Partitions > 1 {
		return ", a smaller --keep_bytes or fewer --partitions"
	}
	return ", a smaller --keep_bytes"
}

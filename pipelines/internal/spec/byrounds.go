package spec

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/loss"
	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms/learn"
)

// ByRounds fits an iterative learner, with complete options.
type ByRounds struct{ iterative.LearnerOptions }

func (b ByRounds) Name() string { return iterative.DefinitionOf(b.LearnerOptions).Name }

// WithPartitions returns the options of an iterative learner with defaults for how rounds run on data with the given
// number of shards, and others unchanged. On a cluster, each reader that has a shard has a partition. On one machine
// there is a single partition, which needs the fewest rounds.
func (o Options) WithPartitions(shards int) Options {
	b, ok := o.Rounds()
	if !ok {
		return o
	}
	e, readers := o.Job.Engine.WithDefaults(), 1
	if !e.LocalWorkers() {
		readers = min(e.Readers, shards)
	}
	b.Common().Running.SetDefaults(readers, e.About().Machines)
	o.Learner = b.LearnerOptions
	return o
}

// Joint reports whether all values of λ are fitted in the same rounds.
func (b ByRounds) Joint() bool { return iterative.DefinitionOf(b.LearnerOptions).Joint }

// Groups returns the groups of values of λ that are fitted in the same rounds.
func (b ByRounds) Groups(lambda []float64) [][]float64 {
	if b.Joint() {
		return [][]float64{lambda}
	}
	return slices.Collect(slices.Chunk(lambda, 1))
}

// Sealed returns the learner for a problem, and its options as they are recorded in a manifest.
func (b ByRounds) Sealed(p loss.Problem, s iterative.Setting) (l learn.Learner, recorded json.RawMessage, err error) {
	seal := func(s iterative.Setting) (data []byte, err error) {
		sealed, err := b.Seal(p, s)
		if err != nil {
			return nil, Usage(err)
		}
		return json.Marshal(sealed)
	}
	l.Kind = b.Name()
	if l.Options, err = seal(s); err != nil || s.SampleFile == "" {
		return l, l.Options, err
	}
	s.SampleFile = ""
	recorded, err = seal(s)
	return l, recorded, err
}

// Summary describes the learner.
func (b ByRounds) Summary(lossName string) string {
	return fmt.Sprintf("%s, %s loss, %s", b.Name(), strings.ReplaceAll(lossName, "_", " "),
		report.Counted(b.Common().Partitions, "partition"))
}

// Augments returns the steps of the augmentation of images.
func (b ByRounds) Augments() []string {
	if a, ok := b.LearnerOptions.(iterative.Augmented); ok {
		return a.Augmentation()
	}
	return nil
}

// validate returns a usage error if the learner does not support the other options.
func (b ByRounds) validate(o Options) error {
	if _, _, err := parseAugment(b.Augments()); err != nil {
		return err
	}
	if err := report.CheckPicture(b.Common().Curve); err != nil {
		return err
	}
	if s := o.Lambda.Select; s != "" && s != options.SelectError {
		return exit.Usagef("--select %s is for ridge; %s chooses by the errors on held-out rows, then by their loss",
			s, b.Name())
	}
	if b.Joint() && slices.Contains(o.Lambda.Path, 0) {
		return exit.Usagef("--lambda must be above 0 for %s", b.Name())
	}
	if b.Common().Patience > 0 && o.Lambda.Folds == 1 {
		return exit.Usagef("--patience needs held-out rows; --folds must be 2 or more, or left out")
	}
	return nil
}

// Values returns the values of λ in decreasing order, because each fit can start from the weights of the
// previous one, and the number of folds, 0 if no rows are held out. n is the number of rows, or the sum of their
// weights.
func (b ByRounds) Values(o Options, n float64) (lambda []float64, folds int) {
	l := o.Lambda
	auto := []float64{1e-3, 1e-4, 1e-5, 1e-6}
	if b.Joint() {
		auto = append(auto, 1e-7)
	}
	lambda = slices.Sorted(slices.Values(lambdasOf(l, n, auto)))
	slices.Reverse(lambda)
	lambda = slices.Compact(lambda)
	folds = l.Folds
	if folds == 0 && (len(lambda) > 1 || b.Common().Patience > 0 || o.FitsWithoutFirst()) {
		folds = DefaultFolds
	}
	if folds == 1 {
		folds = 0
	}
	return lambda, folds
}

// memory adds the memory of the fit to m.
func (b ByRounds) memory(o Options, m *results.Memory, f Facts, e engine.Engine, readers int) {
	r, d := b.Common(), int64(f.Features)
	partitions := max(1, r.Partitions)
	each := int64(partitions+readers-1) / int64(max(readers, 1)) // partitions per reader, rounded up
	allFeatures := int64(math.MaxInt64)
	if f.Rows > 0 {
		allFeatures = f.Rows * 4 * (d + 1)
	}
	slots := int64(max(e.Threads, 1)) * f.featureBlockBytes()
	// A partition has a batch of training rows and one of held-out rows that are being filled, while others are
	// waiting or processed.
	batches := 3 * f.blockBytes(f.Dim)
	if f.Rows > 0 {
		batches = min(batches, 8*int64(f.Dim)*(f.Rows/int64(partitions)+1))
	}
	lambda, _ := b.Values(o, 1)
	needs := b.Needs(iterative.Size{Rows: f.Rows, Outputs: f.Outputs, Features: f.Features, Partitions: partitions,
		Lambdas: len(lambda)})
	learner := needs.Memory
	others := m.Worker
	m.Worker += min(r.Keep, allFeatures) + slots + each*(batches+learner.Partition) + learner.Worker
	m.Row, m.Solve = learner.Row, learner.Update
	if b.Joint() { // the sample is large, and cached features stay
		m.Solve += min(r.Keep, allFeatures)
	}
	if needs.Sample > 0 {
		n := f.atMostRows(int64(needs.Sample))
		m.Worker = max(m.Worker, others+4*n*(2*d+int64(f.Dim))+4*4*int64(f.Outputs)*d)
	}
}

// augmentWords holds the steps of --augment, and whether a step takes a number.
var augmentWords = map[string]bool{"crop": false, "flip": false, "brightness": true, "contrast": true,
	"saturation": true}

// parseAugment parses the steps of --augment, without checking that they suit the data. crops reports
// whether there is a random crop.
func parseAugment(words []string) (a preprocess.Augment, crops bool, err error) {
	for _, word := range words {
		name, text, has := strings.Cut(word, ":")
		numbered, known := augmentWords[name]
		var amount float64
		switch {
		case !known:
			return a, false, exit.Usagef("--augment: unknown word %q%s; have %s", name,
				option.DidYouMean(name, option.SortedNames(augmentWords)), strings.Join(option.SortedNames(augmentWords), ", "))
		case numbered != has:
			return a, false, exit.Usagef("--augment: %q: want flip and crop alone, and an amount from 0 to 1 after the others, "+
				"as in brightness:0.2", word)
		case has:
			if amount, err = strconv.ParseFloat(text, 64); err != nil || !(amount > 0 && amount <= 1) {
				return a, false, exit.Usagef("--augment: %q: want an amount above 0, up to 1", word)
			}
		}
		switch name {
		case "crop":
			crops = true
		case "flip":
			a.Flip = true
		case "brightness":
			a.Brightness = amount
		case "contrast":
			a.Contrast = amount
		case "saturation":
			a.Saturation = amount
		}
	}
	return a, crops, nil
}

// Augmented returns how images are changed before learning, with the recipe of their features, or nil if words
// is empty. A random crop replaces the initial crop of --scale, which takes the middle.
func Augmented(words []string, schema dataset.Schema, r prepare.Recipe, seed uint64) (*learn.Augment, error) {
	if len(words) == 0 {
		return nil, nil
	}
	a, crops, err := parseAugment(words)
	if err != nil {
		return nil, err
	}
	a.Shape, a.Seed = prepare.ShapeOf(schema), seed
	if a.Shape.Height == 0 {
		return nil, exit.Usagef("--augment needs images, and these rows are not known to be images")
	}
	whole, err := r.Sealed.Open()
	if err != nil {
		return nil, err
	}
	if crops {
		chain, _ := whole.(features.Chain)
		middle, ok := preprocess.Crop{}, false
		if len(chain.Steps) > 1 {
			middle, ok = chain.Steps[0].(preprocess.Crop)
		}
		if !ok {
			return nil, exit.Usagef("--augment crop uses the size of the crop in --scale, which must begin with one, as in " +
				"--scale crop:24,255")
		}
		a.Crop = middle.Size
		whole = features.Chain{Steps: slices.Clone(chain.Steps[1:])}
	}
	if err := a.Validate(); err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	sealed, err := features.Seal(whole)
	if err != nil {
		return nil, err
	}
	return &learn.Augment{Images: a, Recipe: sealed}, nil
}

package prepare

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/wire"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/drift"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/models/shapley"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// Options are the options of the profile pass of a job.
type Options struct {
	options.Prepare
	Trains        bool   // the job learns weights from labels
	LearnedKernel string // name of the kernel whose features are learned after the profile; "" if it is another kind
	JobFolds      int    // number of folds, unless options.Split.Fold gives them; 0 if no rows are held out
}

// LoadKernel reads the files that the kernel's options name. If Kernel is nil it sets the Gaussian kernel.
func LoadKernel(ctx context.Context, o *options.Prepare) (err error) {
	if o.Kernel == nil {
		o.Kernel = &fourier.GaussianOptions{}
	}
	l, ok := o.Kernel.(kernel.Loader)
	if !ok {
		return nil
	}
	o.Kernel, err = l.Load(func(name string, limit int64) ([]byte, error) { return storage.ReadFile(ctx, name, limit) })
	if _, ok := errors.AsType[*option.Error](err); ok {
		return &exit.UsageError{Err: err}
	}
	return err
}

// Validate returns a usage error if an option is invalid for any data.
func Validate(o options.Prepare) error {
	if !slices.Contains([]models.Task{"", options.TaskAuto, models.Classification, models.Regression}, o.Task) {
		return exit.Usagef("--task must be auto, classification or regression (have %q)", o.Task)
	}
	if err := CheckFraction(o.MaxBadFraction); err != nil {
		return err
	}
	if !(o.Room >= 0 && o.Room <= maxRoom) {
		return exit.Usagef("--target_room must be 0 to %d (have %g)", maxRoom, o.Room)
	}
	if err := cmp.Or(checkScale(o.Scale), ValidateTypes(o.Types)); err != nil {
		return err
	}
	if err := o.Encode.Validate(); err != nil {
		return &exit.UsageError{Err: err}
	}
	if err := validateSplit(o.Split, o.Data, o.Types.Schema); err != nil {
		return err
	}
	if _, ok := o.Kernel.(kernel.Learned); ok && o.LearnedDir() == "" {
		return exit.Usagef("--kernel %s needs --frequencies, a directory that bochner align created",
			kernel.FamilyOf(o.Kernel).Name)
	}
	if o.LearnedDir() != "" && !AutoScale(o.Scale) {
		return exit.Usagef("--scale cannot be used with --frequencies: learned features have the scaling with which they " +
			"were learned; leave it out")
	}
	if err := o.Kernel.Validate(); err != nil {
		return &exit.UsageError{Err: err}
	}
	return o.Job.Engine.Validate()
}

// CheckDrift returns a usage error unless bound is from 0 to 1.
func CheckDrift(bound float64) error {
	if !(bound >= 0 && bound <= 1) {
		return exit.Usagef("--max_drift must be between 0 and 1 (have %g)", bound)
	}
	return nil
}

// CheckAtLeast returns a usage error unless the value of a flag is at least minimum.
func CheckAtLeast[T int | int64 | float64 | time.Duration](flag string, value, minimum T) error {
	if !(value >= minimum) { // or it is NaN
		return exit.Usagef("--%s must be at least %v (have %v)", flag, minimum, value)
	}
	return nil
}

// CheckFraction returns a usage error unless maxBad is from 0 to 1.
func CheckFraction(maxBad float64) error {
	if !(maxBad >= 0 && maxBad <= 1) {
		return exit.Usagef("--max_bad_fraction must be between 0 and 1 (have %g)", maxBad)
	}
	return nil
}

// Mode returns what a reader does with unusable rows, given the largest share of them that is allowed.
func Mode(maxBad float64) dataset.Mode {
	if maxBad == 0 {
		return dataset.FailFast
	}
	return dataset.SkipRow
}

// Prepared holds the results of the profile pass and what is derived from them.
type Prepared struct {
	PassResult
	Statistics *profile.Statistics  // of the profile
	Target     *transforms.Labeling // nil for data without labels
	Recipe     Recipe
	Doubts     []string // notes on types of columns that may be wrong
	// Drift is the drift from the rows of the recipe if a recipe is given. It is nil if the recipe has too many
	// columns for statistics.
	Drift  *drift.Report
	Rule   *profile.FoldRule // assigns rows to folds; nil if their content does
	Copies *profile.Copies   // see Session.CountCopies; nil if it has counted none
	// Results that depend on the folds:
	labelSums     *preprocess.LabelSums
	valueCounts   *preprocess.LabelSums
	copiesCounted bool    // CountCopies has run
	repeatShare   float64 // share of rows that repeat an earlier one
}

// PassResult holds the results of the profile pass.
type PassResult struct {
	Data     *dataset.Dataset // the row length is known after New
	Shards   []dataset.Shard  // with exact bounds and line numbers
	Counts   results.RowCounts
	Sum      *profile.Sum // nil after the choices by the profile
	Profile  profile.Profile
	Digest   string                // digest of the profile in hexadecimal digits: the fingerprint of the data
	Distinct *profile.DistinctRows // rows
	Keys     *profile.FoldKeys     // of rows
	Segments profile.SegmentCounts // rows per segment of sum --by
}

// statisticsOf returns the statistics of the rows of a dataset and of their columns.
func statisticsOf(d *dataset.Dataset, sum *profile.Sum) *profile.Statistics {
	s := sum.Statistics()
	var first []int
	if d.Schema.Table != nil {
		first = d.Schema.Table.Firsts()
	} else {
		for j := range s.Dim {
			first = append(first, j)
		}
	}
	s.Points = shapley.BackgroundPoints(sum, first)
	return s
}

// wideRow is the length of rows above which a profile takes tens of megabytes.
const wideRow = 1 << 17

// NoNumbers returns the error for rows that have labels, but nothing to predict them from.
func NoNumbers(d *dataset.Dataset) error {
	return d.Errorf("has rows without any number, so there is nothing to learn from; name files that have features")
}

// New profiles the data and derives target, folds and, unless labels encode categories, the recipe. In the
// latter case, Session.EncodeLabels makes the recipe.
func New(ctx context.Context, j *job.Job, d *dataset.Dataset, o Options) (*Prepared, error) {
	j.Progress.Phase("reading", 0)
	defer j.Progress.Done()
	if err := CheckTypes(o.Types, d); err != nil {
		return nil, err
	}
	profiled, notes, err := profileWithTypes(ctx, o, j, d)
	if err != nil {
		return nil, err
	}
	if profiled.Profile.Dim == 0 {
		return nil, NoNumbers(d)
	}
	if d.Schema.Centre == nil {
		d.Schema.Centre = centres(d.Schema, &profiled.Profile)
		if d.Schema.Centre != nil {
			// The profile of float32 numbers is enough to choose the types of columns.
			d.Schema.Dim = profiled.Profile.Dim
			if profiled, _, err = profileWithLabels(ctx, o, j, d); err != nil {
				return nil, err
			}
		}
	}
	p := &Prepared{PassResult: *profiled, Statistics: statisticsOf(d, profiled.Sum), Doubts: schema.Sentences(notes)}
	if note := p.Counts.LabelNote(); note != "" {
		p.Doubts = append(p.Doubts, note)
	}
	p.repeatShare = repeatShare(p.Sum)
	if p.Rule, err = foldRule(o, d, p.Keys, p.Counts.Used); err != nil {
		return nil, err
	}
	d.Schema.Dim = p.Profile.Dim
	if p.Profile.Dim > wideRow {
		runtime.GC() // the garbage of the pass would double the memory of the decisions
	}
	if d.Labeled {
		if err := p.setTarget(o); err != nil {
			return nil, err
		}
	}
	if note := TimeOrderNote(o, d); note != "" && p.Rule == nil {
		p.Doubts = append(p.Doubts, note)
	}
	if dir := o.LearnedDir(); dir != "" {
		p.Recipe, err = takeLearned(ctx, j, dir, p.Profile.Dim)
	} else {
		err = p.chooseRecipe(o)
	}
	return p, err
}

// setTarget decides what to learn from the labels.
func (p *Prepared) setTarget(o Options) (err error) {
	var t transforms.Labeling
	if len(p.Data.Targets) > 0 {
		t, err = targets(o.Task, p.Data, p.Profile.Targets)
	} else {
		t, err = DecideTask(o.Task, p.Data, p.Profile.Labels)
	}
	if err == nil {
		err = CheckIDs(o.Task, p.Data, t, p.Profile.Labels)
	}
	if err != nil && p.Counts.SetAside > 0 {
		err = fmt.Errorf("%w; rows: %s", err, p.Counts) // those set aside may have other labels
	}
	if err != nil {
		return err
	}
	t.Grid = widened(o, t.Grid)
	p.Target = &t
	return nil
}

// profileWithTypes profiles the rows as plain numbers if they are, and otherwise finds the types of columns first. It
// returns notes on these types.
func profileWithTypes(ctx context.Context, o Options, j *job.Job,
	d *dataset.Dataset) (p *PassResult, notes []schema.Note, err error) {
	var plain error // error of reading the rows as plain numbers
	if !TypesGiven(o.Types) && o.Data.Time == "" {
		var numbers bool
		p, numbers, plain = profileWithLabels(ctx, o, j, d)
		if numbers && (plain != nil || !mayBeDates(&p.Profile)) {
			return p, nil, plain
		}
	}
	read := d.Schema.Dim
	if d.Schema.Traits().Columns && d.Schema.Table == nil {
		if notes, err = findTypes(ctx, o, j, d); err != nil {
			return nil, nil, err
		}
	}
	if (plain != nil || p != nil) && d.Schema.Table == nil && d.Schema.Dim == read {
		return p, notes, Explained(plain, notes) // some fields are not numbers
	}
	p, _, err = profileWithLabels(ctx, o, j, d)
	return p, notes, Explained(err, notes)
}

// mayBeDates reports whether a column of numbers may have dates such as 20240229.
func mayBeDates(p *profile.Profile) bool {
	return slices.ContainsFunc(p.Columns, func(c profile.Column) bool {
		return c.Min >= 19000101 && c.Max <= 21001231
	})
}

// Explained adds the advice in notes on columns to an error about unusable rows.
func Explained(err error, notes []schema.Note) error {
	notes = slices.DeleteFunc(slices.Clone(notes), func(n schema.Note) bool { return !n.Bad() })
	if _, ok := errors.AsType[*exit.DataError](err); !ok || len(notes) == 0 {
		return err
	}
	return exit.Dataf("%w\n%s", err, strings.Join(schema.Sentences(notes), "; "))
}

// profileWithLabels runs a profile pass.
func profileWithLabels(ctx context.Context, o Options, j *job.Job,
	d *dataset.Dataset) (p *PassResult, numbers bool, err error) {
	return ProfileRows(ctx, j, d, o.MaxBadFraction, o.Seed, &transforms.Labeling{Open: o.Task != models.Regression})
}

// ProfileRows runs the profile pass. target has the accepted labels. numbers is false if the rows were
// read as plain numbers and some field is not a number.
func ProfileRows(ctx context.Context, j *job.Job, d *dataset.Dataset, maxBad float64, seed uint64,
	target *transforms.Labeling) (p *PassResult, numbers bool, err error) {
	pass := &survey.Profile{Pass: transforms.Pass{Data: *d, Shards: job.Shards(j.Options, d), Mode: Mode(maxBad),
		Seed: seed}}
	if d.Labeled {
		pass.Target = target
	}
	var sum survey.ProfileSum
	reports, err := j.ScanSum(ctx, pass, "profile", &sum)
	if err != nil {
		return nil, true, err
	}
	numbers = !slices.ContainsFunc(reports, func(r dataset.Report) bool { return r.NotNumbers })
	// Pointers into sum would keep all of it in memory.
	p = &PassResult{Data: d, Sum: new(sum.Profile), Distinct: new(sum.Distinct), Keys: new(sum.Keys), Segments: sum.Segments}
	p.Counts, err = job.Count(d, reports, maxBad)
	if d.Only != nil && (err == nil || p.Counts.SetAside == 0) { // an error about the rows is more important
		if unnamed := job.CheckNamed(ctx, d, reports); unnamed != nil {
			return nil, numbers, unnamed
		}
	}
	if err != nil {
		return nil, numbers, err
	}
	p.Shards, _ = dataset.Tile(reports)
	if n := p.Sum.Rows(); n != p.Counts.Used {
		return nil, numbers, fmt.Errorf("the profile has %d rows, the reports have %d", n, p.Counts.Used)
	}
	p.Profile = p.Sum.Result()
	digest := sha256.Sum256(wire.Marshal(p.Sum))
	p.Digest = hex.EncodeToString(digest[:])
	return p, numbers, nil
}

// Outputs returns the number of classes or targets.
func (p *Prepared) Outputs() int {
	if p.Target.Classes != nil {
		return len(p.Target.Classes.Classes)
	}
	return max(1, len(p.Target.Grid))
}

// shortDigest returns 16 hexadecimal digits of the SHA-256 of the data.
func shortDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// RowsDigest returns a digest that is equal for equal rows, for any seed. The fingerprint depends on the
// seed, because the profile has samples.
func (p *Prepared) RowsDigest() string {
	data, err := json.Marshal(p.Profile)
	if err != nil {
		panic("prepare: a profile without JSON: " + err.Error())
	}
	return shortDigest(data)
}

// Weights returns the weights of the rows. They are all 1 if there are none or they are equal.
func (p *Prepared) Weights() *profile.Weights {
	if w := p.Profile.Weights; !w.Equal() {
		return w
	}
	return profile.UnitWeights(p.Counts.Used)
}

// EqualWeights reports whether rows have weights and all are equal, which is the same as no weights.
func (p *Prepared) EqualWeights() bool {
	return p.Profile.Weights != nil && p.Profile.Weights.Equal()
}

// ByClass returns the sum of the weights, or the number of rows without weights, of each class; in a
// regression, of all rows.
func (p *Prepared) ByClass() []float64 {
	switch labels := p.Profile.Labels; {
	case p.Target == nil || p.Target.Classes == nil:
		return []float64{p.Weights().Sum}
	case labels.Weights != nil && !p.Weights().Equal():
		return labels.Weights
	default:
		sums := make([]float64, len(labels.Counts))
		for c, n := range labels.Counts {
			sums[c] = float64(n)
		}
		return sums
	}
}

package pipelines

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/folds"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/transforms"
	"github.com/bochner-ml/bochner/transforms/survey"
)

// MapOptions says which data to read, how rows become features, and what their
// labels are. The zero value of a field is the command's default, unless the
// field says otherwise.
type MapOptions struct {
	Data   dataset.Options
	Task   string   // what the labels are: classification or regression; "" or auto decides by them
	Scale  []string // chain of scalings: a number to divide by, standard, minmax, unit, none, auto
	Kernel KernelOptions

	Seed           uint64  // of the features, the folds and the sample
	MaxBadFraction float64 // share of rows that may be set aside, 0 to 1

	Job JobOptions
}

func (o MapOptions) validate() error {
	switch o.Task {
	case "", "auto", string(models.Classification), string(models.Regression):
	default:
		return usage("--task must be auto, classification or regression (have %q)", o.Task)
	}
	if err := validFraction(o.MaxBadFraction); err != nil {
		return err
	}
	if err := validScale(o.Scale); err != nil {
		return err
	}
	if o.Kernel.Frequencies != "" && len(o.Scale) > 0 && !slices.Equal(o.Scale, []string{"auto"}) {
		return usage("--scale: rows are prepared for learned features as they were when those were learned; leave it out")
	}
	if err := o.Kernel.validate(); err != nil {
		return err
	}
	return o.Job.Engine.validate()
}

func validFraction(maxBad float64) error {
	if !(maxBad >= 0 && maxBad <= 1) {
		return usage("--max_bad_fraction must be between 0 and 1 (have %g)", maxBad)
	}
	return nil
}

// mode says what becomes of rows that cannot be used.
func mode(maxBad float64) dataset.Mode {
	if maxBad == 0 {
		return dataset.Stop
	}
	return dataset.Aside
}

// looked is what a look at the data found, and what follows from it.
type looked struct {
	data   *dataset.Dataset // with the row length
	shards []dataset.Shard  // exact
	counts Counts
	found  profile.Profile
	sum    *profile.Sum
	often  *folds.Summary     // of the hashes of rows
	digest string             // of the profile: the fingerprint of the data
	target *transforms.Target // nil for data without labels
	recipe recipe

	copies   *folds.Copies // of rows that repeat; nil for none, or where they were not counted
	counted  bool          // copies were
	repeated int64         // rows that do
}

// look looks the data over, and decides what follows from what they look like.
func look(ctx context.Context, j *job, d *dataset.Dataset, o MapOptions) (*looked, error) {
	j.progress.phase("reading", 0)
	defer j.progress.done()
	p, err := profileRows(ctx, j, d, o.MaxBadFraction, o.Seed, o.Task != string(models.Regression))
	if err != nil {
		return nil, err
	}
	if found := p.sum.Result(); d.Schema.Centre == nil {
		if d.Schema.Centre = centres(d.Schema, &found); d.Schema.Centre != nil {
			// What the columns are can be told from the numbers that float32 holds.
			d.Schema.Dim = found.Dim
			if p, err = profileRows(ctx, j, d, o.MaxBadFraction, o.Seed, o.Task != string(models.Regression)); err != nil {
				return nil, err
			}
		}
	}
	digest := sha256.Sum256(p.encoded)
	l := &looked{
		data: d, shards: p.shards, counts: p.counts, found: p.sum.Result(), sum: &p.sum, often: &p.often, digest: hex.EncodeToString(digest[:]),
	}
	d.Schema.Dim = l.found.Dim
	if d.Labeled {
		t, err := target(o.Task, d, l.found.Labels)
		if err != nil {
			return nil, err
		}
		l.target = &t
	}
	if o.Kernel.Frequencies != "" {
		l.recipe, err = takeLearned(ctx, j, o.Kernel, l.found.Dim)
	} else {
		l.recipe, err = chooseRecipe(o.Kernel, o.Scale, o.Seed, d.Schema, &l.found, l.sum)
	}
	return l, err
}

// profiled is what the profile pass of a job found.
type profiled struct {
	sum     profile.Sum
	often   folds.Summary // of the hashes of rows
	encoded []byte        // the sum
	counts  Counts
	shards  []dataset.Shard // exact
}

// profileRows runs the profile pass. With open, any label will do.
func profileRows(ctx context.Context, j *job, d *dataset.Dataset, maxBad float64, seed uint64, open bool) (*profiled, error) {
	pass := &survey.Profile{Pass: transforms.Pass{Data: *d, Shards: j.opts.shards(d), Mode: mode(maxBad), Seed: seed}}
	if d.Labeled {
		pass.Target = &transforms.Target{Open: open}
	}
	var found survey.Look
	_, reports, err := j.scanSum(ctx, pass, "profile", &found)
	if err != nil {
		return nil, err
	}
	p := &profiled{sum: found.Profile, often: found.Often}
	if p.encoded, err = p.sum.MarshalBinary(); err != nil {
		return nil, err
	}
	if p.counts, err = count(d, reports, maxBad); err != nil {
		return nil, err
	}
	p.shards, _ = dataset.Tile(reports)
	if n := p.sum.Result().Rows; n != p.counts.Used {
		return nil, fmt.Errorf("pipelines: the profile has %d rows, the reports have %d", n, p.counts.Used)
	}
	return p, nil
}

// outputs is the number of classes, or 1 for a number.
func (l *looked) outputs() int {
	if l.target.Classes != nil {
		return len(l.target.Classes.Classes)
	}
	return 1
}

func shortSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// rowsDigest is equal for equal rows, whatever the seed; the fingerprint depends on the
// seed, too, as samples do.
func (l *looked) rowsDigest() string {
	data, err := json.Marshal(l.found)
	if err != nil {
		panic("pipelines: a profile without JSON: " + err.Error())
	}
	return shortSum(data)
}

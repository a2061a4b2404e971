// Package transforms holds the Beam transforms that every job is made of. They
// move blocks and sums about; formats are read below them, in package dataset,
// and formulas are computed in the packages of models and features.
//
// All passes over data have one form:
//
//	lanes → scan the lane's shards in blocks → fold each block into a sum → merge the sums
//
// A lane is a chain of its own in the graph, because that is how runners work in
// parallel without shuffling rows; how many lanes there are changes no result.
// What the lanes need to know beyond a few numbers stands in a Pass, a file of
// the work directory that each process reads once.
package transforms

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/learned"
	_ "github.com/bochner-ml/bochner/internal/account" // before Beam asks for the user
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/rows"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/folds"
	"github.com/bochner-ml/bochner/models/ridge"
)

// Pass is what the workers of one pass over the data need to know. It is
// immutable: its file is named by its content.
type Pass struct {
	// Program is the build that made the pass, see Build. Another one does not take it.
	Program string `json:"program,omitempty"`

	Data   dataset.Dataset `json:"data"`
	Shards []dataset.Shard `json:"shards"`
	Mode   dataset.Mode    `json:"mode"` // what becomes of rows that cannot be used
	// Seed of the choice of folds and samples by content.
	Seed uint64 `json:"seed,string"`

	Target   *Target   `json:"target,omitempty"`   // how labels become numbers; nil where they are not read
	Fold     *Fold     `json:"fold,omitempty"`     // of a ridge pass
	Held     int       `json:"held,omitempty"`     // of a survey, a calibration or trials: folds, the first of which is held out
	Sample   int       `json:"sample,omitempty"`   // of a survey: rows of its sample, however long; 0 is that of a profile
	Learn    *Learn    `json:"learn,omitempty"`    // of a round
	Predict  *Predict  `json:"predict,omitempty"`  // of a pass that applies a model
	Features *Features `json:"features,omitempty"` // of a pass that writes features

	HeldOut *HeldOut `json:"held_out,omitempty"` // of a pass that scores rows held out

	Count *Count `json:"count,omitempty"` // of a pass that counts repeated rows
	// Copies says which rows are dealt to folds copy by copy; nil if none are.
	Copies *folds.Copies `json:"copies,omitempty"`

	// Frequencies is the file of the learned frequencies that a recipe of the pass
	// names. A process that loads the pass provides them.
	Frequencies *Frequencies `json:"frequencies,omitempty"`
}

// Frequencies is where a file of learned frequencies stands.
type Frequencies struct {
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
}

// Target tells how a label becomes a number: the index of its class, or, without
// classes, the number it is.
type Target struct {
	Classes *rows.Vocabulary  `json:"classes,omitempty"`
	Grid    *ridge.TargetGrid `json:"grid,omitempty"` // that a ridge pass puts numbers on
	// Open says, in a profile pass, that it is not known yet what the labels are.
	Open bool `json:"open,omitempty"`
}

// Fold is the state of a ridge pass.
type Fold struct {
	Recipe  features.Sealed `json:"recipe"`
	Outputs int             `json:"outputs"`
	Folds   int             `json:"folds"`             // at least 1
	Lambda  []float64       `json:"lambda,omitempty"`  // the path to solve for
	Smaller []float64       `json:"smaller,omitempty"` // as ridge.Options.Smaller
	// Held has the rows of all folds but the first be solved for too.
	Held bool `json:"held,omitempty"`
	// Cut is the number of parts that rows are cut into, if it is more than Folds:
	// the last fold then has all that are left. Folds are not validated then, unless
	// First is set.
	Cut int `json:"cut,omitempty"`
	// First has the first fold alone judge: what the recipe was found from has rows of
	// all others.
	First bool `json:"first,omitempty"`
	// Components, if there are any, are solved for instead: rows need no labels.
	Components int `json:"components,omitempty"`
	// Steps of the grid of the features, from 0 to their bound: 127 are 8 bits.
	Steps int `json:"steps"`
}

// Predict is the state of a pass that applies a model.
type Predict struct {
	Model  string `json:"model"`  // directory
	SHA256 string `json:"sha256"` // of its manifest
	Out    string `json:"out,omitempty"`
	Format string `json:"format,omitempty"` // csv or jsonl
	Scores bool   `json:"scores,omitempty"` // a column for each output's score
	// Probabilities has a column for each class's probability.
	Probabilities bool `json:"probabilities,omitempty"`
	Lines         bool `json:"lines,omitempty"` // the line of each row; shards are whole files then
}

// HeldOut is the state of a pass that scores rows held out, by weights that were fitted
// without them.
type HeldOut struct {
	Recipe  features.Sealed `json:"recipe"`
	Outputs int             `json:"outputs"`        // of a fit
	Fits    int             `json:"fits,omitempty"` // whose weights stand in the file, one after the other; 0 is 1
	Weights string          `json:"weights"`        // file, as StoreWeights writes it
	SHA256  string          `json:"sha256"`         // of it
}

// Features is the state of a pass that writes features.
type Features struct {
	Recipe features.Sealed `json:"recipe"`
	Out    string          `json:"out,omitempty"`
	Format string          `json:"format"` // npy, safetensors, csv, or codes for the hashes of a features.Hasher
}

// Count is the state of a pass that counts repeated rows.
type Count struct {
	// Candidates of a census are those of the profile's folds.Summary.
	Candidates folds.Set `json:"candidates,omitempty"`
	// Frequent rows and Contents of them are what a tally counts.
	Frequent folds.Set `json:"frequent,omitempty"`
	Contents folds.Set `json:"contents,omitempty"`
}

// maxPass bounds the size of a pass file: 10⁶ shards, or 10⁶ columns' moments.
const maxPass = 1 << 30

// Store writes the pass into the directory, under a name made of its content,
// and returns its name.
func (p *Pass) Store(ctx context.Context, dir string) (uri string, err error) {
	data, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	uri = storage.Join(dir, "pass-"+hex.EncodeToString(sum[:8])+".json")
	return uri, storage.WriteState(ctx, uri, data)
}

var passes = newCache(4, func(ctx context.Context, uri string) (*Pass, error) {
	data, err := storage.ReadState(ctx, uri, maxPass)
	if err != nil {
		return nil, err
	}
	p := new(Pass)
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("transforms: pass %s: %w", uri, err)
	}
	if here := Build(); p.Program != "" && here != "" && p.Program != here {
		return nil, asFault(Data, fmt.Errorf("transforms: the job was started by the build %s of bochner, and this worker is of %s: their results may differ; give workers the same build (--worker_binary, or their image)", p.Program, here))
	}
	if p.Frequencies != nil {
		if err := p.Frequencies.provide(ctx); err != nil {
			return nil, err
		}
	}
	return p, nil
})

// provide makes the frequencies known to the recipes of this process.
func (f *Frequencies) provide(ctx context.Context) error {
	data, err := storage.ReadFile(ctx, f.URI, maxRound)
	if err != nil {
		return err
	}
	sum, err := learned.Provide(data)
	if err == nil && sum != f.SHA256 {
		err = errors.New("its checksum does not match")
	}
	if err != nil {
		return asFault(BadModel, fmt.Errorf("transforms: %s is damaged: %w", f.URI, err))
	}
	return nil
}

// loadPass returns the pass of that name, read once in a process.
func loadPass(ctx context.Context, uri string) (*Pass, error) { return passes.get(ctx, uri) }

// labels says what the choice of folds takes in of a label.
func (t *Target) labels() folds.Labels {
	if t == nil || t.Classes == nil {
		return folds.Labels{}
	}
	return folds.Classes(t.Classes.Classes)
}

// dealer returns what decides on the folds of the rows of a lane or a hand.
func (p *Pass) dealer() *folds.Dealer { return folds.NewDealer(p.Seed, p.Copies, p.Target.labels()) }

// place is where the rows of a shard begin.
func place(s dataset.Shard) folds.Place { return folds.Place{File: s.File, Start: s.Start} }

// Label returns the function that turns a label token into its number, or the
// reason why it cannot. Without a target it is nil: labels are not looked at.
func (t *Target) Label() dataset.Label {
	switch {
	case t == nil:
		return nil
	case t.Classes == nil:
		return rows.ParseTarget
	}
	return func(token []byte) (float64, string) {
		i, ok := t.Classes.Index(token)
		if !ok {
			return 0, fmt.Sprintf("label %.40q is not one of the %d classes", token, len(t.Classes.Classes))
		}
		return float64(i), ""
	}
}

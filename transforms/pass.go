package transforms

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/bochner-ml/bochner/features"
	_ "github.com/bochner-ml/bochner/internal/account" // before Beam asks for the user
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/linear"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// Pass is what the workers of every pass need to know. Each kind of pass is a struct that
// embeds Pass and adds its own state.
type Pass struct {
	Data   dataset.Dataset `json:"data"`
	Shards []dataset.Shard `json:"shards"`
	Mode   dataset.Mode    `json:"mode"` // how to treat rows that cannot be used
	// Seed for the choice of folds and samples by content.
	Seed uint64 `json:"seed,string"`

	Target *Labeling `json:"target,omitempty"` // how labels become numbers; nil if they are not read
	// EqualWeights says that all rows have the same weight, or none. Blocks then have no weights.
	EqualWeights bool `json:"equal_weights,omitempty"`
	// Rule says which columns assign rows to folds; nil if the content of the rows does.
	Rule *profile.FoldRule `json:"rule,omitempty"`
	// Copies says which rows are assigned to folds copy by copy; nil if none are.
	Copies *profile.Copies `json:"copies,omitempty"`

	// Stripes is Scan.Stripes, which changes no result and so is not in the pass file.
	Stripes int `json:"-"`
}

// Common returns what all kinds of passes share.
func (p *Pass) Common() *Pass { return p }

// AnyPass is a pass of any kind: a pointer to a struct that embeds Pass.
type AnyPass interface{ Common() *Pass }

// withRecipes is a kind of pass with recipes of features.
type withRecipes interface {
	// Recipes returns the recipes, which LoadPass gives the files that they refer to.
	Recipes() []*features.Sealed
}

// File is a file that recipes refer to by its hash, such as learned frequencies.
type File struct {
	Name   string `json:"name"` // of features.FileNames
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
}

// Labeling says how a label becomes a number: the index of its class, or, without classes,
// the number itself.
type Labeling struct {
	Classes *schema.Vocabulary `json:"classes,omitempty"`
	Grid    linear.Grids       `json:"grid,omitempty"` // grids to which a pass of sums rounds numbers
	// Within says that rows with numbers beyond the Grid, of one target, cannot be used. If it is false, there are
	// no such numbers.
	Within bool `json:"within,omitempty"`
	// Open says, in a profile pass, that the kind of labels is not known yet.
	Open bool `json:"open,omitempty"`
}

// passFile is the content of a pass file.
type passFile struct {
	// Program is the build that wrote the file, see Build. Another build rejects it.
	Program string `json:"program,omitempty"`
	// Files are the files that recipes of the pass name.
	Files []File          `json:"files,omitempty"`
	Pass  json.RawMessage `json:"pass"`
}

// MaxState bounds the size of the files of state that workers read.
const MaxState = 1 << 33

// maxPass bounds the size of a pass file: 10⁶ shards, or 10⁶ columns' moments.
const maxPass = 1 << 30

// StorePass writes a pass into the directory, under a name derived from its content, and
// returns its name. Recipes of the pass may name the files.
func StorePass(ctx context.Context, dir string, p AnyPass, files []File) (uri string, err error) {
	pass, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(passFile{Program: Build(), Files: files, Pass: pass})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	uri = storage.Join(dir, "pass-"+hex.EncodeToString(sum[:8])+".json")
	return uri, storage.WriteState(ctx, uri, data)
}

// LoadPass returns the pass of a file that StorePass has written, which is read once per job and
// process.
func LoadPass[P any](ctx context.Context, w *Worker, uri string) (*P, error) {
	return cached(w, uri, func(p *P) error {
		files, err := decode(ctx, uri, p)
		if err != nil {
			return err
		}
		if k, ok := any(p).(AnyPass); ok {
			w.ShareSelection(k.Common())
		}
		if r, ok := any(p).(withRecipes); ok {
			return w.giveFiles(ctx, files, r.Recipes())
		}
		return nil
	})
}

// ShareSelection lets all passes of a job that choose rows by the same list of ids share one copy of the list
// in this process.
func (w *Worker) ShareSelection(p *Pass) {
	if only := p.Data.Only; only != nil { // it reads its list on first use, so this cannot fail
		p.Data.Only, _ = Cached(w, 1, only.URI, func() (*dataset.IDSelection, error) { return only, nil })
	}
}

// cached returns the value of type P of a pass file, which it loads once per job and process. Passes of all kinds
// share one cache.
func cached[P any](w *Worker, uri string, load func(*P) error) (*P, error) {
	p, err := Cached(w, 4, reflect.TypeFor[P]().String()+" "+uri, func() (any, error) {
		p := new(P)
		return p, load(p)
	})
	if err != nil {
		return nil, err
	}
	return p.(*P), nil
}

// giveFiles gives recipes the files that they refer to, which are read once per job and process.
func (w *Worker) giveFiles(ctx context.Context, files []File, recipes []*features.Sealed) error {
	if len(files) == 0 {
		return nil
	}
	decoded, err := Cached(w, 1, fmt.Sprint(files), func() (*features.Files, error) {
		all := new(features.Files)
		for _, f := range files {
			if err := f.read(ctx, all); err != nil {
				return nil, err
			}
		}
		return all, nil
	})
	for _, r := range recipes {
		*r = r.WithFiles(decoded)
	}
	return err
}

// decode reads a pass, or some of its fields, and returns the files that its recipes refer to.
func decode(ctx context.Context, uri string, p any) ([]File, error) {
	data, err := storage.ReadState(ctx, uri, maxPass)
	if err != nil {
		return nil, err
	}
	var file passFile
	if err = json.Unmarshal(data, &file); err == nil {
		err = json.Unmarshal(file.Pass, p)
	}
	if err != nil {
		return nil, fmt.Errorf("transforms: pass %s: %w", uri, err)
	}
	if here := Build(); file.Program != "" && here != "" && file.Program != here {
		return nil, fault.Wrap(fault.Data, fmt.Errorf("transforms: the job was started by build %s of bochner, but this "+
			"worker is build %s: their results may differ; give workers the same build (--worker_binary, or their image)",
			file.Program, here))
	}
	return file.Files, nil
}

// read reads the file and adds it to files.
func (f *File) read(ctx context.Context, files *features.Files) error {
	data, err := storage.ReadFile(ctx, f.URI, MaxState)
	if err != nil {
		return err
	}
	sum, err := files.Add(f.Name, data)
	if err == nil && sum != f.SHA256 {
		err = errors.New("its checksum does not match")
	}
	if err != nil {
		return fault.Wrap(fault.Model, fmt.Errorf("transforms: %s is damaged: %w", f.URI, err))
	}
	return nil
}

// Labels returns how labels enter the choice of folds.
func (t *Labeling) Labels() profile.FoldLabels {
	if t == nil || t.Classes == nil {
		return profile.FoldLabels{}
	}
	return profile.FoldLabelsOf(t.Classes.Classes)
}

// Assigner returns the assigner of a reader's rows to folds.
func (p *Pass) Assigner() *profile.Assigner {
	return profile.NewAssigner(p.Seed, p.Rule, p.Copies, p.Target.Labels())
}

// Label returns the function that converts the text of a label to a number. It is nil if
// there is no target, so that labels are not read.
func (t *Labeling) Label() dataset.Label {
	switch {
	case t == nil:
		return nil
	case t.Classes == nil && t.Within:
		if len(t.Grid) != 1 {
			panic("transforms: Within needs the grid of one target")
		}
		return t.within
	case t.Classes == nil:
		return schema.ParseTarget
	}
	return func(token []byte) (float64, string) {
		i, ok := t.Classes.Index(token)
		if !ok {
			return 0, fmt.Sprintf("label %.40q is not one of the %d classes", token, len(t.Classes.Classes))
		}
		return float64(i), ""
	}
}

// within is schema.ParseTarget for numbers that the grid must contain.
func (t *Labeling) within(token []byte) (float64, string) {
	y, reason := schema.ParseTarget(token)
	if g := t.Grid[0]; reason == "" && !g.Contains(y) {
		reason = fmt.Sprintf("the label %g is beyond the grid of targets of the recipe, %g to %g; a recipe with more room "+
			"for targets takes it", y, g.Low, g.High)
	}
	return y, reason
}

// build is the name of the build, if the linker sets it.
var build string

// Build names the build of this program: as set by the linker, or by the version of its
// module, which Go derives from the tag or commit. It is empty if unknown, as in a build
// without version control.
func Build() string {
	if build != "" {
		return build
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return ""
}

package prepare

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/profile"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// Recipe is a recipe of features with the choices that led to it.
type Recipe struct {
	Sealed features.Sealed
	Dim    int     // number of features
	Width  float64 // of the kernel; 0 if it has none
	Name   string  // for people: "gaussian kernel, width 7"
	// Recodes tells that training rows are encoded in another way than rows to predict: see
	// preprocess.TargetEncoder.
	Recodes bool
	Reach   float64 // largest feature as a multiple of the grid's bound; 0 means 1
	// Files are files that the recipe needs in a model directory.
	Files []storage.File
	// Origin is set for features that another job has learned.
	Origin *RecipeOrigin

	// Scaling and Choice are the sources of the recipe; nil if it was read from a directory.
	Scaling *Scaling
	Choice  *kernel.Choice
	data    *kernel.Data
	kernel  kernel.Options // options that Choice is made from
}

// Scaled returns the chain of this recipe's scaling and the given last step.
func (r Recipe) Scaled(last features.Recipe) features.Recipe {
	return features.Chain{Steps: append(r.Scaling.Steps[:len(r.Scaling.Steps):len(r.Scaling.Steps)], last)}
}

// ChooseRecipe makes the recipe from a kernel, a chain of scalings and the encodings of columns, by the
// statistics of the profile.
func ChooseRecipe(k kernel.Options, chain []string, encode Encoding, seed uint64, schema dataset.Schema,
	p *profile.Profile, sum *profile.Sum) (r Recipe, err error) {
	if r.Scaling, err = chooseScale(chain, encode, seed, schema, p, sum); err != nil {
		return r, err
	}
	r.Recodes = preprocess.TargetEncoderOf(features.Chain{Steps: r.Scaling.Steps}) != nil
	r.data = r.Scaling.data(p.Rows, seed)
	if r.Choice, err = r.Of(k); err != nil {
		return r, err
	}
	r.kernel = k
	r.Name, r.Width, r.Reach = r.Choice.Summary, r.Choice.Width, r.Choice.Reach
	return r.sealed()
}

// Of returns the choice for another kernel on the same data.
func (r Recipe) Of(k kernel.Options) (*kernel.Choice, error) {
	c, err := k.Choose(r.data)
	if err != nil {
		return nil, refusal(err)
	}
	return c, nil
}

// Resized returns the recipe with another number of features.
func (r Recipe) Resized(features int) (Recipe, error) {
	k, err := kernel.With(r.kernel, "features", strconv.Itoa(features))
	if err != nil {
		return r, refusal(err)
	}
	r.kernel = k
	if r.Choice, err = r.Of(k); err != nil {
		return r, err
	}
	r.Reach = r.Choice.Reach
	return r.sealed()
}

// Least returns the first of the numbers of features from, 2·from, … below most that the kernel allows, and
// most if there is none.
func (r Recipe) Least(from, most int) int {
	for ; from < most; from *= 2 {
		if _, err := r.Resized(from); err == nil {
			return from
		}
	}
	return most
}

// sealed returns r with Sealed and Dim set from r.Choice. Name and Width stay as they are.
func (r Recipe) sealed() (Recipe, error) {
	whole := r.Scaled(r.Choice.Recipe)
	var err error
	if r.Sealed, err = features.Seal(whole); err != nil {
		if r.Scaling.hot() {
			err = fmt.Errorf("%w; or encode categories in fewer numbers: --encode target or count, or a smaller --max_levels", err)
		}
		return r, &exit.UsageError{Err: err}
	}
	_, r.Dim, err = features.Dims(whole)
	return r, err
}

// refusal makes an error of a choice a usage error if it is about an option, and otherwise a data error.
func refusal(err error) error {
	if _, ok := errors.AsType[*option.Error](err); ok {
		return &exit.UsageError{Err: err}
	}
	return &exit.DataError{Err: err}
}

// RecipeOrigin identifies the rows from which features were learned.
type RecipeOrigin struct {
	Name, SHA256 string // of the directory of features, and of its description
	HeldOut      int    // number of folds; the first was not used; 0 if all rows were used
	Seed         uint64 // of the folds
	Rows         string // digest of the rows, independent of the seed

	Fingerprint string // of the rows with that seed
}

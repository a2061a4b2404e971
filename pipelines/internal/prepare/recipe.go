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

// Recipe is the recipe chosen for a data set.
type Recipe struct {
	Sealed features.Sealed
	Dim    int     // number of features
	Width  float64 // of the kernel; 0 if it has none
	Name   string  // for people: "gaussian kernel, width 7"
	// Recodes tells that training rows have other encodings than rows to predict: see
	// preprocess.TargetEncoder.
	Recodes bool
	Reach   float64 // limit of features as a multiple of the grid's bound; 0 is 1
	// Files are further files that a model directory needs for the recipe.
	Files []storage.File
	// Origin is set for features learned in another job; else nil.
	Origin *RecipeOrigin

	// Scaling and Choice are what the recipe was made from; nil if it was read from a directory.
	Scaling *Scaling
	Choice  *kernel.Choice
	data    *kernel.Data
	kernel  kernel.Options // of Choice
}

// Scaled returns a recipe of features for rows that are scaled as in this recipe.
func (r Recipe) Scaled(last features.Recipe) features.Recipe {
	return features.Chain{Steps: append(r.Scaling.Steps[:len(r.Scaling.Steps):len(r.Scaling.Steps)], last)}
}

// ChooseRecipe makes the recipe from encodings of columns, scalings and kernel, with the statistics of
// the profile.
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

// Of returns the choice of another kernel for the same data.
func (r Recipe) Of(k kernel.Options) (*kernel.Choice, error) {
	c, err := k.Choose(r.data)
	if err != nil {
		return nil, refused(err)
	}
	return c, nil
}

// Resized returns the recipe of that many features, as if the kernel had been given them.
func (r Recipe) Resized(features int) (Recipe, error) {
	k, err := kernel.With(r.kernel, "features", strconv.Itoa(features))
	if err != nil {
		return r, refused(err)
	}
	r.kernel = k
	if r.Choice, err = r.Of(k); err != nil {
		return r, err
	}
	r.Reach = r.Choice.Reach
	return r.sealed()
}

// Least returns the first of the numbers of features from, 2·from, … that the recipe can have,
// whose kernel may have others beside it; most if that is less.
func (r Recipe) Least(from, most int) int {
	for ; from < most; from *= 2 {
		if _, err := r.Resized(from); err == nil {
			return from
		}
	}
	return most
}

// sealed seals the recipe of the choice.
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

// refused returns the error of a choice as a usage error if it is about an option, else as a
// data error.
func refused(err error) error {
	if _, ok := errors.AsType[*option.Error](err); ok {
		return &exit.UsageError{Err: err}
	}
	return &exit.DataError{Err: err}
}

// RecipeOrigin identifies the rows from which features were learned.
type RecipeOrigin struct {
	Name, SHA256 string // of the directory of features, and of its description
	HeldOut      int    // number of folds, of which the first was not used; 0 if all rows were used
	Seed         uint64 // of the folds
	Rows         string // digest of the rows, independent of the seed; "" in older versions

	Fingerprint string // of the rows with that seed
}

package prepare

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models/search"
)

const (
	// clipAt is the absolute value at which the view "clipped" clips standardised columns.
	clipAt = 3
	// knots is the largest number of quantiles of the view "normal scores".
	knots = preprocess.MaxKnots
)

// Views returns the preprocessing alternatives that a search tries, the recipe's own first. Unless the user
// chose scalings, these are a layer of patches for images, and for other columns: standardised, standardised
// and clipped, or replaced by normal scores with quantiles of the n encoded rows of x.
func (r Recipe) Views(chain []string, schema dataset.Schema, x []float32, n int) []search.View {
	sc := r.Scaling
	auto := AutoScale(chain)
	if auto {
		chain = []string{cmp.Or(schema.Traits().Scale, "standard")}
	}
	views := []search.View{{Name: strings.Join(chain, ","), Steps: sc.Steps[sc.encoded:]}}
	if !auto {
		return views
	}
	if PatchNumbers(nil, schema) > 0 {
		if v, ok := sc.patchView(views[0].Name, x, n); ok {
			views = append(views, v)
		}
		return views
	}
	if chain[0] != "standard" && chain[0] != "none" {
		return views
	}
	standard := sc.Steps[sc.encoded:]
	if chain[0] == "none" { // the statistics describe the unscaled numbers
		standard = []features.Recipe{preprocess.NewStandard(sc.toScale(sc.mean, 0), sc.toScale(sc.variance, 1))}
		views = append(views, search.View{Name: "standard", Steps: standard})
	}
	unscaled := func(j int) bool { return sc.unscaled != nil && sc.unscaled[j] }
	at := make([]float32, sc.Dim)
	for j := range at {
		if !unscaled(j) {
			at[j] = clipAt
		}
	}
	return append(views,
		search.View{Name: "clipped", Steps: append(slices.Clip(standard), preprocess.Clip{At: at})},
		search.View{Name: "normal scores", Steps: []features.Recipe{preprocess.NewNormalScores(x, n, sc.Dim, knots,
			unscaled)}},
	)
}

// Searched returns the recipe of a kernel after steps that a search chose instead of the scalings. files are
// the files that the steps name.
func (r Recipe) Searched(steps []features.Recipe, k kernel.Options, seed uint64, name string,
	files []storage.File) (Recipe, error) {
	sc := *r.Scaling
	sc.Steps = append(slices.Clone(sc.Steps[:sc.encoded]), steps...)
	sc.known, sc.unitNorm = false, false
	for _, step := range steps {
		_, out, err := features.Dims(step)
		if err != nil {
			return r, err
		}
		sc.Dim = out
	}
	r.Scaling, r.data = &sc, &kernel.Data{In: sc.Dim, Rows: r.data.Rows, Seed: seed}
	var err error
	if r.Choice, err = r.ChoiceFor(k); err != nil {
		return r, err
	}
	r.kernel = k
	r.Name, r.Width, r.Reach = name, r.Choice.Width, r.Choice.Reach
	r.Files = files
	return r.sealed()
}

// Package ask answers questions about data from stored sums, without reading a row. With the Gram matrix
// G = Σzzᵀ, the cross products b = Σzy and Σy² of each part p, the error of weights w on a part is
//
//	n·MSE_p(w) = Σy² − 2wᵀb_p + wᵀG_p w,
//
// and weights for any set of parts take one solve of the sum of their G and b. So an answer equals training on
// the rows of some parts and scoring the rows of others, with features on the grid of the recipe.
//
// No error of an answer is of rows that its λ was chosen by. Questions that go forward in time choose λ by the
// errors on the steps judged before (prequentially), and at the first step as the others do: by
// cross-validation inside the training set, over five blocks of its parts, or over the folds of its only one.
package ask

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/parts"
	"github.com/bochner-ml/bochner/pipelines/internal/report"
	"github.com/bochner-ml/bochner/pipelines/internal/spec"
)

// Options say what is asked of which sums.
type Options struct {
	Question  string // one of Questions
	Selection `group:"Model and output"`
	Forward   `group:"Comparison"`
	Groups    `group:"Comparison"`
	// Lambda is the recipe's where it has none.
	Lambda  spec.LambdaOptions `group:"Learner" omit:"Folds,Select"`
	Plot    string             `flag:"plot" group:"Model and output" placeholder:"FILE" help:"File for a plot of the answer, .png or .svg."`
	Seed    uint64             `flag:"seed" group:"Job" default:"1" help:"Seed of bootstrap samples and of random orders."`
	Threads int                `flag:"threads" group:"Job" help:"Threads to solve with; 0 takes all cores. Does not change results."`
	Memory  int64              `flag:"memory" group:"Job" unit:"bytes" help:"Memory in bytes, as a number or as 8GB, up to which sums stay in memory; otherwise they are read again whenever they are needed. 0 is the memory that is free. Does not change results."`
	Log     io.Writer          // notes; nil discards them
}

// Selection says which sums take part, and what their labels mean.
type Selection struct {
	parts.Parts `omit:"Without"`
	Where       string `flag:"where,common" placeholder:"CONDITION" help:"Condition on the labels in the names of directories, such as country=DE and dt>=2026-01: sums for which it does not hold take no part."`
	Judge       string `flag:"judge,common" placeholder:"CONDITION" help:"Condition on the labels of the sums that judge. The default is all of them for backtest, groups, matrix and window, and the newest fifth of the dates for curve, worth and bisect, which do not train on sums that judge."`
	By          string `flag:"by,common" placeholder:"LABEL" help:"Label whose values are the groups of groups, matrix and worth, such as country; without it each date is a group."`
	Time        string `flag:"time" placeholder:"LABEL" help:"Label that has the date, if several labels have one."`
	Recipe      string `flag:"recipe,common" placeholder:"DIR" help:"Model with the recipe of the sums. By its lineage, sums of files from which the recipe was drawn are marked with *."`
}

// Forward has the options of questions that go forward in time.
type Forward struct {
	Window    int       `flag:"window,common" help:"Dates to train on in backtest, the last before each judged date; 0 takes all."`
	Gap       int       `flag:"gap,common" help:"Dates to leave out between training and judged ones in backtest and window."`
	Windows   []int     `flag:"windows" placeholder:"LIST" help:"Numbers of last dates that the question window compares. The default is powers of two."`
	HalfLives []float64 `flag:"half_lives" placeholder:"LIST" help:"Half-lives, in dates, that the question window compares. The default is powers of two."`
}

// Groups has the options of worth and bisect.
type Groups struct {
	Permutations int     `flag:"permutations" default:"20" help:"Random orders from which worth estimates the Shapley values of more than 12 groups; 0 estimates none."`
	MinR2        float64 `flag:"min_r2" help:"R² on the judged sums below which a model counts as broken in bisect. 0 is half way between all sums and the best of their first half, quarter and so on."`
}

// questions are what can be asked.
var questions = map[string]func(*data, context.Context) (*Answer, error){
	"backtest": (*data).backtest, "groups": (*data).groups, "matrix": (*data).matrix, "curve": (*data).curve,
	"window": (*data).window, "worth": (*data).worth, "bisect": (*data).bisect,
}

// Questions returns what can be asked.
func Questions() []string {
	return []string{"backtest", "groups", "matrix", "curve", "window", "worth", "bisect"}
}

// Ask answers a question.
func Ask(ctx context.Context, o Options) (*Answer, error) {
	question, ok := questions[o.Question]
	if !ok {
		return nil, exit.Usage("unknown question %q; have %v", o.Question, Questions())
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	terms, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	d, err := open(ctx, o, terms)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	d.progress.Phase("answering", 0)
	a, err := question(d, ctx)
	d.progress.Done()
	if err != nil {
		return nil, err
	}
	a.describe(d, time.Since(begun).Seconds())
	if o.Plot != "" {
		err = a.draw(ctx, o.Plot)
	}
	return a, err
}

func (o *Options) validate() error {
	switch {
	case o.Window < 0 || o.Gap < 0 || o.Permutations < 0 || o.Threads < 0 || o.Memory < 0:
		return exit.Usage("--window, --gap, --permutations, --threads and --memory must be at least 0")
	case slices.ContainsFunc(o.Windows, func(n int) bool { return n < 1 }):
		return exit.Usage("--windows must be numbers of dates, at least 1 (have %v)", o.Windows)
	case slices.ContainsFunc(o.HalfLives, func(h float64) bool { return !(h > 0 && h < 1e9) }):
		return exit.Usage("--half_lives must be above 0 (have %v)", o.HalfLives)
	case !(o.MinR2 < 1):
		return exit.Usage("--min_r2 must be below 1 (have %g)", o.MinR2)
	case o.By == "" && o.Question == "matrix":
		return exit.Usage("matrix needs the label whose values it compares: name it with --by")
	}
	if err := o.Lambda.Validate(); err != nil {
		return err
	}
	return report.ValidPicture(o.Plot)
}

package options

import (
	"io"

	"github.com/bochner-ml/bochner/io/dataset"
)

// Sum says which rows to sum, and by which recipe.
type Sum struct {
	Recipe string          `flag:"recipe" group:"Model and output" placeholder:"DIR" help:"Directory of the model whose recipe is used, or an alias such as DIR@champion."`
	Data   dataset.Options `group:"Data" omit:"Columns,Drop,ID,Time"`
	Out    string          `flag:"out,common" group:"Model and output" placeholder:"PATH" help:"Directory to create."`

	// By has the columns whose values divide the rows into levels. They may be features. Each level
	// has its own sums, except that levels of fewer than MinRows rows are pooled.
	By      []string `flag:"by,common" group:"Data" list:"commas" placeholder:"COLUMNS" help:"Columns that divide the rows into levels, such as country: the directory has sums of each level, for fit --where 'country=DE'. They may be features, too."`
	MinRows int64    `flag:"min_rows" group:"Data" placeholder:"ROWS" help:"With --by, pool values with fewer rows than this into one sum. A condition can choose all pooled values or none."`

	MaxBadFraction float64 `flag:"max_bad_fraction,common" group:"Data" help:"Largest share (0 to 1) of rows set aside as unusable."`
	// MaxDrift is the largest distance, from 0 to 1, of a column, the labels or the share of repeated
	// rows from the rows of the recipe; 0 for no bound. If the lower 95% bound of a distance is
	// larger, nothing is written and the error is an *exit.GateError.
	MaxDrift float64 `flag:"max_drift,common" group:"Model and output" help:"Largest distance, from 0 to 1, by which a column, the labels or the share of repeated rows may have moved from the rows of the recipe; 0 for no bound. If the lower 95% bound of a distance is larger, nothing is written and the exit code is 4."`

	Job Job `group:"Job"`
}

// Fit says which sums to fit a model to, and how.
type Fit struct {
	SumDirs `group:"Model and output"`
	// Lambda says how λ is chosen; the recipe has the defaults. The recipe determines the folds.
	Lambda Lambda `group:"Learner" omit:"Folds"`
	// Calibrate is score.Platt for probabilities, which needs a recipe with shapes of curves; none or
	// "" for no probabilities.
	Calibrate string `flag:"calibrate,common" group:"Learner" default:"none" values:"none,platt" help:"Probabilities from scores: none, or platt, a sigmoid per class. Its shape comes from the recipe (train --calibrate platt), its midpoint and slope from the sums of the first fold."`
	// Each is a column of the model by which the sums are divided, to fit weights for each of its
	// values; "" for none.
	Each  string `flag:"each,common" group:"Learner" placeholder:"COLUMN" help:"Column whose values have weights of their own, shrunk toward the weights of all rows by as much as is best on held-out folds. The sums must be divided by this column (sum --by), and it must be an input of the model."`
	Model string `flag:"model,common" group:"Model and output" placeholder:"DIR" help:"Directory to create; it must not exist."`
	// SaveSums is a directory to create with the total of the sums, so that a later fit reads one
	// directory instead of many; "" for none. If it exists, it must have the same sums.
	SaveSums string `flag:"save_sums" group:"Model and output" placeholder:"DIR" help:"Directory to create with all of the sums in one, for later fits."`
	// MaxDrift is the largest distance, from 0 to 1, of added sums: of a column, the labels or the
	// share of repeated rows from the rows of the recipe, and of the features from all other sums. 0
	// means no bound. If the lower 95% bound of a distance is larger, nothing is written and the error
	// is an *exit.GateError that names the directory.
	MaxDrift float64 `flag:"max_drift,common" group:"Model and output" help:"Largest distance allowed, from 0 to 1, of the columns and labels of a directory of sums from the rows of the recipe, and of its features from the other directories; 0 turns the check off. If the lower 95% bound of a distance is larger, nothing is written, the exit code is 4, and the message names the directory."`
	Reporting
	Job Job `group:"Job"`
}

// Forget says which model forgets which rows.
type Forget struct {
	Model   string `flag:"model,common" group:"Model and output" placeholder:"DIR" help:"Directory of the model, or an alias such as DIR@champion."`
	SumDirs `group:"Model and output"`
	// Data has the rows with their labels, as in the training data.
	Data dataset.Options `group:"Data" omit:"Columns,Drop,Time"`
	// IDs is a file with one id on each line. Only rows of Data with one of these ids in its id column
	// (dataset.Options.ID), or in the model's, are forgotten. "" means all rows. See dataset.ReadIDs.
	IDs string `flag:"ids,common" group:"Data" placeholder:"FILE" help:"File with the ids of rows to forget, one on each line, or - for standard input: only these rows of --data are forgotten. Ids are compared byte for byte with the text in the files. The list takes about three times its size in memory."`
	Out string `flag:"out,common" group:"Model and output" placeholder:"PATH" help:"Directory of the model without the rows, to create."`
	// SaveSums is a directory to create with the sums without the rows; "" for none.
	SaveSums       string  `flag:"save_sums" group:"Model and output" placeholder:"DIR" help:"Directory to create for the sums without the forgotten rows."`
	Certificate    string  `flag:"certificate" group:"Model and output" placeholder:"FILE" help:"File that says what was forgotten, and proves it: forget creates it, and verify checks it."`
	MaxBadFraction float64 `flag:"max_bad_fraction,common" group:"Data" help:"Largest share (0 to 1) of rows set aside as unusable."`

	Job Job `group:"Job"`
}

// Prune says which directories of sums to remove.
type Prune struct {
	Sums []string `flag:"sums,common" group:"Model and output" list:"commas" placeholder:"DIRS" help:"Patterns of directories of sums."`
	Keep string   `flag:"keep,common" group:"Model and output" placeholder:"DAYS" help:"Period before the newest sums in which all sums are kept, in days, weeks or hours, such as 90d."`
	// Models is a directory of models, whose champion, challenger and previous champion keep the sums
	// that they were fitted to. Models or Model is required.
	Models string    `flag:"models,common" group:"Model and output" placeholder:"DIR" help:"Directory of models, whose champion, challenger and previous champion keep their sums."`
	Model  string    `flag:"model,common" group:"Model and output" placeholder:"DIR" help:"Model that keeps its sums, too: its directory, or an alias such as DIR@champion."`
	Plan   bool      `flag:"plan,common" group:"Job" help:"Print what would be removed, and remove nothing."`
	Log    io.Writer // notes; nil discards them
}

// Audit says which sums to compare with which rows, and which model to compare with the sums.
type Audit struct {
	SumDirs
	Model          string          // directory or alias; "" for none
	Data           dataset.Options // rows to compare with; dataset.Options.Data is empty for none
	MaxBadFraction float64
	Job            Job
}

// SumDirs names directories of sums to add and to subtract.
type SumDirs struct {
	Sums []string `flag:"sums,common" list:"commas" placeholder:"DIRS" help:"Patterns of directories of sums to add up; to forget rows, all sums that the model was fitted to."`
	// Without has patterns of directories of sums to leave out: directories in Sums are not added,
	// others are subtracted. An element that matches no directory may be a condition as in Where; sums
	// that meet it are left out.
	Without []string `flag:"without,common" list:"commas" placeholder:"DIRS" help:"Patterns of directories of sums to leave out: if they are among the sums they are not added, otherwise they are subtracted; or a condition as for --where, such as source=old. Put double quotes around one with a comma."`
	// Where is a condition (package where) on the labels of added sums: the date and other name=value
	// parts of their directory, and the level of sum --by.
	Where string `flag:"where,common" placeholder:"CONDITION" help:"Add only sums for which a condition holds, such as 'country=DE and dt>=2026-01': on the name=value parts of their directories, and on the levels of sum --by. Also !=, <, <=, >, in (A, B), or, not, and parentheses; a shorter date stands for its month or year."`
	// AsOf leaves out sums whose directory was written after the end of this date.
	AsOf string `flag:"as_of" placeholder:"DATE" help:"Add only sums whose directory was written by the end of this date, such as 2026-11-20, according to the storage."`
	// Last is a period, such as 90d, 12w or 36h. Sums whose date is more than this before the newest
	// are left out. "" leaves out none.
	Last string `flag:"last" placeholder:"DAYS" help:"Add only sums whose directory has a date in its name (dt=2026-11-20) among the last days, weeks or hours before the newest, such as 90d."`
}

package options

import (
	"io"

	"github.com/bochner-ml/bochner/io/dataset"
)

// Sum holds the options of pipelines.Sum: the rows and the recipe.
type Sum struct {
	// Directory of the model whose recipe is used, or an alias such as DIR@champion.
	Recipe string          `flag:"recipe" group:"Model and output" placeholder:"DIR"`
	Data   dataset.Options `group:"Data" omit:"Columns,Drop,ID,Time"`

	// Directory to create.
	Out string `flag:"out,common" group:"Model and output" placeholder:"PATH"`

	// Columns that divide the rows into segments, such as country: the directory has sums of each segment,
	// for fit --where 'country=DE'. They may be features, too.
	By []string `flag:"by,common" group:"Data" list:"commas" placeholder:"COLUMNS"`

	// With --by, pool values with fewer rows than this into one sum. A condition can choose all pooled
	// values or none.
	MinRows int64 `flag:"min_rows" group:"Data" placeholder:"ROWS"`

	// Largest share (0 to 1) of rows set aside as unusable.
	MaxBadFraction float64 `flag:"max_bad_fraction,common" group:"Data"`

	// Largest distance, from 0 to 1, by which a column, the labels or the share of repeated rows may
	// have moved from the rows of the recipe; 0 for no bound. If the lower 95% bound of a distance is
	// larger, nothing is written and the exit code is 4.
	//
	// The error is then an *exit.GateError.
	MaxDrift float64 `flag:"max_drift,common" group:"Model and output"`

	Job Job `group:"Job"`
}

// Fit holds the options of pipelines.Fit.
type Fit struct {
	SumDirs `group:"Model and output"`

	// Lambda holds the options for λ; the recipe has the defaults. The recipe determines the folds.
	Lambda Lambda `group:"Learner" omit:"Folds"`

	// Probabilities from scores: none, or platt, a sigmoid per class. Its shape comes from the recipe
	// (train --calibrate platt), its midpoint and slope from the sums of the first fold.
	Calibrate Calibration `flag:"calibrate,common" group:"Learner" default:"none" values:"none,platt"`

	// Column whose values have weights of their own, shrunk toward the weights of all rows by as much
	// as is best on held-out folds. The sums must be divided by this column (sum --by), and it must be
	// an input of the model.
	Each string `flag:"each,common" group:"Learner" placeholder:"COLUMN"`

	// Directory to create; it must not exist.
	Model string `flag:"model,common" group:"Model and output" placeholder:"DIR"`

	// Directory to create with all of the sums in one, for later fits.
	//
	// If it exists, it must have the same sums.
	SaveSums string `flag:"save_sums" group:"Model and output" placeholder:"DIR"`

	// Largest distance allowed, from 0 to 1, of the columns and labels of a directory of sums from the
	// rows of the recipe, and of its features from the other directories; 0 turns the check off. If
	// the lower 95% bound of a distance is larger, nothing is written, the exit code is 4, and the
	// message names the directory.
	//
	// It also bounds the share of repeated rows. The error is an *exit.GateError.
	MaxDrift float64 `flag:"max_drift,common" group:"Model and output"`
	Reporting
	Job Job `group:"Job"`
}

// AddSums holds the options of pipelines.AddSums.
type AddSums struct {
	SumDirs
	Out string // directory to create
	Job Job
}

// ForgottenRows selects the rows that a model forgets, and the sums that contain them.
type ForgottenRows struct {
	// Directory of the model, or an alias such as DIR@champion.
	Model   string `flag:"model,common" group:"Model and output" placeholder:"DIR"`
	SumDirs `group:"Model and output"`

	// Data holds the rows with their labels, as in the training data.
	Data dataset.Options `group:"Data" omit:"Columns,Drop,Time"`

	// File with the ids of rows to forget, one on each line, or - for standard input: only these rows
	// of --data are forgotten. Ids are compared byte for byte with the text in the files. The list
	// takes about three times its size in memory.
	//
	// The ids are in the column dataset.Options.ID, or in the id column of the model; "" forgets all
	// rows. See dataset.ReadIDs.
	IDs string `flag:"ids,common" group:"Data" placeholder:"FILE"`

	// Largest share (0 to 1) of rows set aside as unusable.
	MaxBadFraction float64 `flag:"max_bad_fraction,common" group:"Data"`

	Job Job `group:"Job"`
}

// Forget holds the options of pipelines.Forget.
type Forget struct {
	ForgottenRows

	// Directory of the model without the rows, to create.
	Out string `flag:"out,common" group:"Model and output" placeholder:"PATH"`

	// Directory to create for the sums without the forgotten rows.
	SaveSums string `flag:"save_sums" group:"Model and output" placeholder:"DIR"`

	// File that says what was forgotten, and proves it: forget creates it, and verify checks it.
	Certificate string `flag:"certificate" group:"Model and output" placeholder:"FILE"`
}

// VerifyForgotten holds the options of pipelines.VerifyForgotten. Model is the model without the rows, and the sums
// are the original ones.
type VerifyForgotten struct {
	ForgottenRows

	// File that says what was forgotten, and proves it: forget creates it, and verify checks it.
	Certificate string `flag:"certificate" group:"Model and output" placeholder:"FILE"`
}

// PruneSums holds the options of pipelines.PruneSums.
type PruneSums struct {
	// Patterns of directories of sums.
	Sums []string `flag:"sums,common" group:"Model and output" list:"commas" placeholder:"DIRS"`

	// Period before the newest sums in which all sums are kept, in days, weeks or hours, such as 90d.
	Keep string `flag:"keep,common" group:"Model and output" placeholder:"DAYS"`

	// Directory of models, whose champion, challenger and previous champion keep their sums.
	//
	// Models or Model is required.
	Models string `flag:"models,common" group:"Model and output" placeholder:"DIR"`

	// Model that keeps its sums, too: its directory, or an alias such as DIR@champion.
	Model string `flag:"model,common" group:"Model and output" placeholder:"DIR"`

	// Print what would be removed, and remove nothing.
	Plan bool      `flag:"plan,common" group:"Job"`
	Log  io.Writer // notes; nil discards them
}

// AuditSums holds the options of pipelines.AuditSums: sums, their rows and a model that was fitted to them.
type AuditSums struct {
	SumDirs
	Model          string          // directory or alias; "" for none
	Data           dataset.Options // rows to compare with; dataset.Options.Files is empty for none
	MaxBadFraction float64
	Job            Job
}

// SumDirs names directories of sums to add and to subtract.
type SumDirs struct {
	// Patterns of directories of sums to add up.
	Sums []string `flag:"sums,common" list:"commas" placeholder:"DIRS"`

	// Patterns of directories of sums to leave out: if they are among the sums they are not added,
	// otherwise they are subtracted; or a condition as for --where, such as source=old. Put double
	// quotes around one with a comma.
	Without []string `flag:"without,common" list:"commas" placeholder:"DIRS"`

	// Add only sums for which a condition holds, such as 'country=DE and dt>=2026-01': on the
	// name=value parts of their directories, and on the segments of sum --by. Also !=, <, <=, >, in (A,
	// B), or, not, and parentheses; a shorter date stands for its month or year.
	//
	// See package where.
	Where string `flag:"where,common" placeholder:"CONDITION"`

	// Add only sums whose directory was written by the end of this date, such as 2026-11-20, according
	// to the storage.
	AsOf string `flag:"as_of" placeholder:"DATE"`

	// Add only sums whose directory has a date in its name (dt=2026-11-20) among the last days, weeks
	// or hours before the newest, such as 90d.
	Last string `flag:"last" placeholder:"DAYS"`
}

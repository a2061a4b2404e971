package options

import "github.com/bochner-ml/bochner/io/dataset"

// CompareKernel holds the options of pipelines.CompareKernel: a kernel, its features and rows.
type CompareKernel struct {
	Prepare `omit:"Split,Room"`
	// Numbers of features, separated by commas; replaces --features.
	Budgets []int `flag:"budgets,common" group:"Comparison" default:"64,256,1024,4096" placeholder:"LIST"`
	// Number of seeds per map.
	Seeds int `flag:"seeds,common" group:"Comparison" default:"10"`
	// Rows of the sample, at most 2000; all pairs are compared.
	Rows int `flag:"rows,common" group:"Comparison" default:"200"`
	// Error for which to print the number of features that the bounds require.
	Epsilon float64 `flag:"epsilon,common" group:"Comparison" default:"0.1"`
	All     bool    // compare all ways to draw the kernel's frequencies
	// Directory to create for the table and the plots; it must not exist.
	Out string `flag:"out,common" group:"Model and output" placeholder:"PATH"`
}

// NewCompareKernel returns the defaults of the command.
func NewCompareKernel() CompareKernel { return defaults[CompareKernel]() }

// CompareModels holds the options of pipelines.CompareModels: the models and the data.
type CompareModels struct {
	// Directory of the model in use, or an alias such as DIR@champion (see bochner models --help).
	Champion string `flag:"champion,common" group:"Model and output" placeholder:"DIR"`

	// Directory of the model that may replace it, or an alias.
	Challenger string          `flag:"challenger,common" group:"Model and output" placeholder:"DIR"`
	Data       dataset.Options `group:"Data" omit:"Columns,Drop,Weight,ID,Time"`

	// Condition in words, such as 'not worse by 0.2% at 95%' or 'better at 95%'. Several are separated
	// by commas, or given one by one; all must hold.
	//
	// See paired.ParseCondition.
	Gate string `flag:"gate,common" group:"Model and output" list:"joined" placeholder:"CONDITION"`

	// Columns of the champion whose values are compared separately, as for evaluate.
	Slices []string `flag:"slices,common" group:"Model and output" list:"commas" placeholder:"COLUMNS"`

	// Columns, separated by commas, that together name the group of a row, such as a patient: tests
	// then count groups instead of rows. The default is the --group_column of the models, if the data
	// has it.
	Group []string `flag:"group_column" group:"Model and output" list:"commas" placeholder:"COLUMNS"`

	// HTML file for a report on the comparison.
	Report string `flag:"report,common" group:"Model and output" placeholder:"FILE"`

	// Largest share (0 to 1) of rows set aside as unusable.
	MaxBadFraction float64 `flag:"max_bad_fraction,common" group:"Data"`

	Job Job `group:"Job"`
}

// Evaluate holds the options of pipelines.Evaluate: the model and the data.
type Evaluate struct {
	// Directory of the model, or an alias such as DIR@champion (see bochner models --help).
	Model string          `flag:"model,common" group:"Model and output" placeholder:"DIR"`
	Data  dataset.Options `group:"Data" omit:"Columns,Drop,Weight,ID,Time"`

	// Condition on a score, such as accuracy>=0.95, auc>=0.9, rmse<=3 or rmse:TARGET<=3. Several are
	// separated by commas, or given one by one; all must hold.
	Gate string `flag:"gate,common" group:"Model and output" list:"joined" placeholder:"CONDITION"`

	// For two classes: predict the positive one if its probability (for a model without probabilities:
	// its score minus the other, halved) is at least this number. By default the class with the larger
	// probability or score is predicted.
	Threshold *float64 `flag:"threshold,common" group:"Model and output"` // nil is the model's own, as in models.Applier

	// Columns, by name or position, separated by commas, whose values are scored separately:
	// categories, times (by month), or numbers with up to 512 values. One of the columns need not be
	// used by the model.
	Slices []string `flag:"slices,common" group:"Model and output" list:"commas" placeholder:"COLUMNS"`

	// Columns, separated by commas, that together name the group of a row, such as a patient:
	// intervals then count groups instead of rows. The default is the --group_column of the model, if
	// the data has it.
	Group []string `flag:"group_column" group:"Model and output" list:"commas" placeholder:"COLUMNS"`

	// File for a reliability diagram, .png or .svg; the model must have probabilities.
	ReliabilityPlot string `flag:"reliability" group:"Model and output" placeholder:"FILE"`

	// HTML file for a report on the model and its scores on this data: curves, confusions,
	// reliability, effects of columns, the worst rows (see bochner report --help).
	Report string `flag:"report,common" group:"Model and output" placeholder:"FILE"`

	// Largest share (0 to 1) of rows set aside as unusable.
	MaxBadFraction float64 `flag:"max_bad_fraction,common" group:"Data"`

	Job Job `group:"Job"`
}

// VerifyOptimum holds the options of pipelines.VerifyOptimum: an svm model and its training data.
type VerifyOptimum struct {
	// Directory of the model, or an alias such as DIR@champion (see bochner models --help).
	Model string          `flag:"model,common" group:"Model and output" placeholder:"DIR"`
	Data  dataset.Options `group:"Data" omit:"Columns,Drop,Weight,Time"`
	// Largest share (0 to 1) of rows set aside as unusable.
	MaxBadFraction float64 `flag:"max_bad_fraction,common" group:"Data"`
	Job            Job     `group:"Job"`
}

// Report holds the options of pipelines.Report.
type Report struct {
	Model string          // directory of the model, or an alias
	Data  dataset.Options `group:"Data" omit:"Columns,Drop,Weight,ID,Time"`
	// HTML file to write. The default is report.html in the directory of the model.
	Out string `flag:"out,common" group:"Model and output" placeholder:"FILE"`
	// Columns whose values are scored separately, as for evaluate; with --data.
	Slices []string `flag:"slices,common" group:"Model and output" list:"commas" placeholder:"COLUMNS"`

	// Largest share (0 to 1) of rows set aside as unusable.
	MaxBadFraction float64 `flag:"max_bad_fraction,common" group:"Data"`

	Job Job `group:"Job"`
}

// TwoSample holds the options of pipelines.TwoSample: two tables and the features in which they are compared.
type TwoSample struct {
	A, B string // names or patterns of the files of the two tables; Data names none

	// Directory of a model whose features and columns are used for the comparison, or an alias such as
	// DIR@champion. The default is to choose columns, scaling and width from the rows of both tables.
	//
	// Options that the recipe determines must then have their defaults.
	Recipe  string `flag:"recipe,common" group:"Model and output" placeholder:"DIR"`
	Prepare `omit:"Data.Files,Data.Label,Data.LabelText,Data.Weight,Task,Split,Room"`

	// Smallest p-value that passes: below it the exit code is 4. With equal distributions this happens
	// with that probability. 0 is no bound.
	MinP float64 `flag:"min_p,common" group:"Model and output"`

	// Largest distance, from 0 to 1, by which a column or the features may have moved: if the lower
	// 95% bound of a distance is larger, the exit code is 4. Unlike --min_p it lets small differences
	// of large tables pass. 0 is no bound.
	MaxDrift float64 `flag:"max_drift,common" group:"Model and output"`
}

// NewTwoSample returns the defaults of the command.
func NewTwoSample() TwoSample { return defaults[TwoSample]() }

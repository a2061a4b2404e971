package options

import "github.com/bochner-ml/bochner/io/dataset"

// CompareKernel says which kernel to compare with its features, and on which rows.
type CompareKernel struct {
	Prepare `omit:"Split,Room"`
	Budgets []int   `flag:"budgets,common" group:"Comparison" default:"64,256,1024,4096" placeholder:"LIST" help:"Numbers of features, separated by commas; replaces --features."`
	Seeds   int     `flag:"seeds,common" group:"Comparison" default:"10" help:"Number of seeds per map."`
	Rows    int     `flag:"rows,common" group:"Comparison" default:"200" help:"Rows of the sample, at most 2000; all pairs are compared."`
	Epsilon float64 `flag:"epsilon,common" group:"Comparison" default:"0.1" help:"Error for which to print the number of features that the bounds require."`
	All     bool    // compare all ways to draw the kernel's frequencies
	Out     string  `flag:"out,common" group:"Model and output" placeholder:"PATH" help:"Directory to create for the table and the plots; it must not exist."`
}

// CompareModels says which models to compare, and on which data.
type CompareModels struct {
	Champion   string          `flag:"champion,common" group:"Model and output" placeholder:"DIR" help:"Directory of the model in use, or an alias such as DIR@champion (see bochner models --help)."`
	Challenger string          `flag:"challenger,common" group:"Model and output" placeholder:"DIR" help:"Directory of the model that may replace it, or an alias."`
	Data       dataset.Options `group:"Data" omit:"Columns,Drop,Weight,ID,Time"`
	// Gate has conditions for paired.ParseCondition, separated by commas; "" for none.
	Gate string `flag:"gate,common" group:"Model and output" list:"joined" placeholder:"CONDITION" help:"Condition in words, such as 'not worse by 0.2% at 95%' or 'better at 95%'. Several are separated by commas, or given one by one; all must hold."`
	// Slices are columns, by name or 1-based position, for whose values models are compared separately.
	Slices []string `flag:"slices,common" group:"Model and output" list:"commas" placeholder:"COLUMNS" help:"Columns of the champion whose values are compared separately, as for evaluate."`
	// Group has the columns that together name the group of a row. Rows of a group depend on each other, so tests
	// count groups. The default are the columns that group the models' folds, if the data has them.
	Group []string `flag:"group_column" group:"Model and output" list:"commas" placeholder:"COLUMNS" help:"Columns, separated by commas, that together name the group of a row, such as a patient: tests then count groups instead of rows. The default is the --group_column of the models, if the data has it."`

	// Report is a file for a report on the comparison; "" for none.
	Report string `flag:"report,common" group:"Model and output" placeholder:"FILE" help:"HTML file for a report on the comparison."`

	MaxBadFraction float64 `flag:"max_bad_fraction,common" group:"Data" help:"Largest share (0 to 1) of rows set aside as unusable."`

	Job Job `group:"Job"`
}

// Evaluate says which model to evaluate, and on which data.
type Evaluate struct {
	Model string          `flag:"model,common" group:"Model and output" placeholder:"DIR" help:"Directory of the model, or an alias such as DIR@champion (see bochner models --help)."`
	Data  dataset.Options `group:"Data" omit:"Columns,Drop,Weight,ID,Time"`
	Gate  string          `flag:"gate,common" group:"Model and output" list:"joined" placeholder:"CONDITION" help:"Condition on a score, such as accuracy>=0.95, auc>=0.9, rmse<=3 or rmse:TARGET<=3. Several are separated by commas, or given one by one; all must hold."`
	// Threshold is as in models.Applier; nil for the model's own.
	Threshold *float64 `flag:"threshold,common" group:"Model and output" help:"For two classes: predict the positive one if its probability (for a model without probabilities: its score minus the other, halved) is at least this number. By default the class with the larger probability or score is predicted."`
	// Slices are columns, by name or 1-based position, for whose values rows are scored separately.
	Slices []string `flag:"slices,common" group:"Model and output" list:"commas" placeholder:"COLUMNS" help:"Columns, by name or position, separated by commas, whose values are scored separately: categories, times (by month), or numbers with up to 512 values. One of the columns need not be used by the model."`
	// Group has the columns that together name the group of a row. Rows of a group depend on each other, so
	// intervals count groups. The default are the columns that group the model's folds, if the data has them.
	Group []string `flag:"group_column" group:"Model and output" list:"commas" placeholder:"COLUMNS" help:"Columns, separated by commas, that together name the group of a row, such as a patient: intervals then count groups instead of rows. The default is the --group_column of the model, if the data has it."`
	// Reliability is a file for a reliability diagram, .png or .svg; "" for none.
	Reliability string `flag:"reliability" group:"Model and output" placeholder:"FILE" help:"File for a reliability diagram, .png or .svg; the model must have probabilities."`

	// Report is a file for a report on the model and its scores; "" for none.
	Report string `flag:"report,common" group:"Model and output" placeholder:"FILE" help:"HTML file for a report on the model and its scores on this data: curves, confusions, reliability, effects of columns, the worst rows (see bochner report --help)."`

	MaxBadFraction float64 `flag:"max_bad_fraction,common" group:"Data" help:"Largest share (0 to 1) of rows set aside as unusable."`

	Job Job `group:"Job"`
}

// Verify says which model to verify, and with which data, which must be its training data.
type Verify struct {
	Model          string          `flag:"model,common" group:"Model and output" placeholder:"DIR" help:"Directory of the model, or an alias such as DIR@champion (see bochner models --help)."`
	Data           dataset.Options `group:"Data" omit:"Columns,Drop,Weight,Time"`
	MaxBadFraction float64         `flag:"max_bad_fraction,common" group:"Data" help:"Largest share (0 to 1) of rows set aside as unusable."`
	Job            Job             `group:"Job"`
}

// Report says which model to report on.
type Report struct {
	Model string          // directory of the model, or an alias
	Data  dataset.Options `group:"Data" omit:"Columns,Drop,Weight,ID,Time"`
	// Out is the file to write; "" is report.html in the directory of the model.
	Out    string   `flag:"out,common" group:"Model and output" placeholder:"FILE" help:"HTML file to write. The default is report.html in the directory of the model."`
	Slices []string `flag:"slices,common" group:"Model and output" list:"commas" placeholder:"COLUMNS" help:"Columns whose values are scored separately, as for evaluate; with --data."`

	MaxBadFraction float64 `flag:"max_bad_fraction,common" group:"Data" help:"Largest share (0 to 1) of rows set aside as unusable."`

	Job Job `group:"Job"`
}

// TwoSample says which two tables to compare, and in which features.
type TwoSample struct {
	A, B string // names or patterns of the files of the two tables
	// Recipe is the model whose recipe is used. Other options except A, B, Data, MinP, MaxDrift, MaxBadFraction
	// and Job are then ignored. "" makes a recipe from the rows of both tables.
	Recipe  string          `flag:"recipe,common" group:"Model and output" placeholder:"DIR" help:"Directory of a model whose features and columns are used for the comparison, or an alias such as DIR@champion. The default is to choose columns, scaling and width from the rows of both tables."`
	Data    dataset.Options `group:"Data" omit:"Data,Label,LabelText,Weight"`
	Prepare `omit:"Data,Task,Split,Room"`
	// The tables pass if the p-value is at least MinP, and the lower bounds on the distances of columns and
	// features are at most MaxDrift; 0 for no bound.
	MinP     float64 `flag:"min_p,common" group:"Model and output" help:"Smallest p-value that passes: below it the exit code is 4. With equal distributions this happens with that probability. 0 is no bound."`
	MaxDrift float64 `flag:"max_drift,common" group:"Model and output" help:"Largest distance, from 0 to 1, by which a column or the features may have moved: if the lower 95% bound of a distance is larger, the exit code is 4. Unlike --min_p it lets small differences of large tables pass. 0 is no bound."`
}

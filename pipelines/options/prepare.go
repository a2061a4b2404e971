package options

import (
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/features/preprocess"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/profile"
)

// Prepare holds the options for data, labels and features.
type Prepare struct {
	Data dataset.Options `group:"Data"`

	// Task: classification, regression or auto. auto takes as classes texts, up to 10 distinct whole
	// numbers, or up to 100 counted from 0 or 1; other numbers are targets.
	Task models.Task `flag:"task,common" group:"Data" default:"auto" values:"auto,classification,regression"`

	// Preprocessing steps, separated by commas: a number to divide by, standard, minmax, unit, none;
	// for images also crop:SIZE, gray, whiten, hog, patchpca:SIZE:STRIDE:KEEP, unitpixels (each pixel,
	// or patch after patchpca, to length 1), patches:SIZE:CELLS:FILTERS (see --kernel patches). auto
	// divides images by 255, standardises CSV and TSV, and leaves LIBSVM unchanged.
	Scale  []string                 `flag:"scale,common" group:"Data" list:"commas" default:"auto" placeholder:"STEPS" values:"auto,none,standard,minmax,unit,gray,whiten,hog,crop:,patchpca:,unitpixels,patches:"`
	Types  Types                    `group:"Columns of tables"`
	Encode preprocess.ColumnOptions `group:"Columns of tables"`

	// For a regression whose model is a recipe for later data (see bochner sum): how far the grid of
	// targets reaches beyond the targets of this data on either side, as a multiple of their range.
	// 0.5 doubles the range. Later targets beyond the grid cannot be used.
	Room   float64        `flag:"target_room" group:"Learner"`
	Kernel kernel.Options // nil is the Gaussian kernel with its defaults

	Split Split `group:"Learner"`

	// Random seed of features, folds and samples.
	Seed uint64 `flag:"seed" group:"Features" default:"1"`

	// Largest share (0 to 1) of rows set aside as unusable.
	MaxBadFraction float64 `flag:"max_bad_fraction,common" group:"Data"`

	Job Job `group:"Job"`
}

// TaskAuto is the value of Prepare.Task that decides by the labels.
const TaskAuto models.Task = "auto"

// LearnedDir returns the directory of features learned earlier, if the kernel names one, and otherwise "".
func (o Prepare) LearnedDir() string {
	if f, ok := o.Kernel.(kernel.Learned); ok {
		return f.Directory()
	}
	return ""
}

// Split names the columns that assign rows to folds. With the zero value the content of the rows does.
type Split struct {
	// Columns, separated by commas, that together name the group of a row, such as a patient or a
	// machine. Rows of a group are held out together, so held-out figures are for new groups. The
	// columns are not features.
	Group []string `flag:"group_column" placeholder:"COLUMNS" list:"commas"`

	// Column with the number of each row's fold. These folds replace those of --folds; where only one
	// is held out, it is the one with the smallest number. The column is not a feature.
	Fold string `flag:"fold_column" placeholder:"COLUMN"`

	// Hold out the latest rows by --time_column: a fifth of them with --folds 5. Without a search,
	// lambda is chosen on all periods except the earliest, each judged by weights from the rows before
	// it.
	Time bool `flag:"time_split"`

	// For --time_split: do not learn from rows in this period before held-out rows: 7d, 12h, 30m or
	// 10s for dates, a number for a column of numbers. Learner ridge only.
	Gap string `flag:"time_gap"`
}

// By returns what assigns rows to folds; "" for their content.
func (s Split) By() profile.FoldBy {
	switch {
	case len(s.Group) > 0:
		return profile.ByGroup
	case s.Fold != "":
		return profile.ByFold
	case s.Time:
		return profile.ByTime
	}
	return ""
}

// Flag returns the name of the flag that determines By.
func (s Split) Flag() string {
	return map[profile.FoldBy]string{profile.ByGroup: "--group_column", profile.ByFold: "--fold_column",
		profile.ByTime: "--time_split"}[s.By()]
}

// Into sets options of the data so that rows have the keys by which they are split.
func (s Split) Into(o *dataset.Options) {
	o.Group, o.Fold, o.Keys = s.Group, s.Fold, schema.Role(s.By())
}

// Types holds the options for the types of columns, which are given by name, position or pattern. Other types are
// inferred from the data.
type Types struct {
	// Columns of numbers, by name, position or pattern; rows with other texts there cannot be used.
	Numeric []string `flag:"numeric" placeholder:"COLUMNS" list:"commas"`

	// Columns whose texts, including numbers, are levels of categories.
	Categorical []string `flag:"categorical" placeholder:"COLUMNS" list:"commas"`

	// Texts that mean a missing value, like empty fields, in upper or lower case; the default is ?,
	// n/a, na, nan, null, which your texts replace.
	Missing []string `flag:"missing" list:"commas"`

	// Character before the fraction of numbers, also of labels and weights: a point or a comma.
	Decimal string `flag:"decimal"`

	// Character between the groups of three digits of large numbers, also of labels and weights.
	Thousands string `flag:"thousands"`

	// What replaces missing values in columns of numbers: mean (the default) or median.
	Fill Fill `flag:"fill" values:"mean,median"`

	// File with the role and type of each column, as bochner inspect --write_schema writes it; it may
	// be edited. It replaces the other flags of columns.
	Schema string `flag:"schema" placeholder:"FILE"`

	// Largest number of levels of a category; rarer texts count as one level. 0 is 1000, or hashing
	// where that would cover less than nine in ten rows.
	MaxLevels int `flag:"max_levels"`

	// Described is the content of Schema. Jobs set it when they open the data.
	Described *schema.Description
}

// Fill is what replaces missing numbers.
type Fill string

// Values of Types.Fill.
const (
	FillMean   Fill = schema.Mean
	FillMedian Fill = schema.Median
)

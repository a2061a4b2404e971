package command

import (
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/internal/prepare"
)

// tableFlags are the flags of jobs that choose the columns of a table and their types.
type tableFlags struct {
	choice columnChoice
	types  prepare.Types
}

// columnChoice says which columns are used, and how.
type columnChoice struct {
	Columns []string `flag:"columns" list:"commas" help:"Columns to use, by name, position or pattern such as 'x*', separated by commas, or @FILE with a name on each line. The default is all but the label and those of --drop, --weight_column, --id_column and --time_column."`
	Drop    []string `flag:"drop" list:"commas" help:"Columns to leave out, given as for --columns."`
	Weight  string   `flag:"weight_column" help:"Column with the weight of each row: a number ≥ 0."`
	ID      string   `flag:"id_column" help:"Column that identifies each row. It is not a feature and is copied to predictions."`
	Time    string   `flag:"time_column" help:"Column with the time of each row: dates, or numbers such as seconds. It is not a feature; train --time_split holds out the latest rows, and evaluate --slices scores rows by its months. Dates that are to be features, as days, month, weekday and hour, need no flag."`
}

func (f *tableFlags) register(fs *pflag.FlagSet) {
	for _, o := range f.options() {
		addOption(fs, o)
	}
}

func (f *tableFlags) options() []*option.Option {
	return append(option.List(&f.choice), option.List(&f.types)...)
}

// names returns the names of the flags.
func (f *tableFlags) names() (names []string) {
	for _, o := range f.options() {
		names = append(names, o.Name)
	}
	return names
}

// into sets the options of the data.
func (f *tableFlags) into(o *dataset.Options) {
	o.Columns, o.Drop = f.choice.Columns, f.choice.Drop
	o.Weight, o.ID, o.Time = f.choice.Weight, f.choice.ID, f.choice.Time
}

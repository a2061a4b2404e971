package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// GroupOf is the annotation of a flag that names its group. Flags made from a registry have
// it; the groups of other flags are in the table below.
const GroupOf = "group"

// OtherGroup is for flags without a group.
const OtherGroup = "Other"

// Group is a heading of the help with the names of its flags, in order.
type Group struct {
	Title  string
	Common string // flags that --help shows
	More   string // flags that --help_all adds
}

// Groups are the groups of flags, in the order of the help.
var Groups = []Group{
	{"Model and output",
		"models model champion challenger sums of without keep out out_format scores probabilities threshold max_drift slices gate components picture",
		"recipe save_sums certificate lines model_digest reliability curve expect why by last events importance"},
	{"Streams",
		"stream",
		"dead_letters reload poll settle max_age files_per_round until_idle outstanding id_attribute time_attribute message_columns copy_attributes"},
	{"Retraining",
		"day sums_dir keep_sums window held_out paired_gate redraw",
		""},
	{"Data",
		"data ids label label_files task scale max_bad_fraction",
		"format header delimiter encoding dim label_strip label_case strict"},
	{"Columns of tables",
		"drop write_schema",
		"columns weight_column id_column time_column categorical numeric missing fill max_levels decimal thousands schema encode category_weight"},
	{"Features",
		"kernel features width search",
		"seed worth time gamma draw form nu q pool skeleton hybrid frequencies"},
	{"Comparison",
		"budgets seeds rows epsilon noise",
		""},
	{"Learner",
		"learner loss lambda folds calibrate",
		"group_column time_split time_gap fold_column positive C select grid solver tolerance preconditioner target_room class_weight epsilon bias passes method rate batch augment init"},
	{"Iterative learners",
		"",
		"rounds gap patience max_time partitions rounds_per_job keep_bytes"},
	{"Learned features",
		"",
		"align preset align_lambda align_c chains steps take align_rate sample exact_chains proposals rho pick harmonics"},
	{"Job",
		"plan runner resume config json",
		"lanes threads worker_bytes work timings quiet verbose help help_all"},
}

// AlsoCommon lists flags that only the help of one command shows.
var AlsoCommon = map[string]string{
	"align":   "align chains steps take align_rate sample",
	"predict": "lines",
	"kernel":  "draw",
}

// commonOf lists the flags that --help shows for a command that has those of another, too.
var commonOf = map[string]string{
	"retrain": "models data label day sums_dir keep_sums window held_out gate paired_gate max_drift redraw kernel features width seed lambda max_bad_fraction runner config json",
}

// MostFlags is the largest number of flags that --help shows.
const MostFlags = 25

// FlagGroup is a group with its flags of one command.
type FlagGroup struct {
	Title string
	Flags []*pflag.Flag
}

// Grouped returns the visible flags of a command by group; with all, including those that only
// --help_all shows. hidden is the number of flags left out.
func Grouped(cmd *cobra.Command, all bool) (shown []FlagGroup, hidden int) {
	var titles []string
	place := map[string]int{} // position of a flag in the table
	for i, g := range Groups {
		titles = append(titles, g.Title)
		for j, name := range strings.Fields(g.Common + " " + g.More) {
			place[g.Title+" "+name] = 1 + i*1000 + j
		}
	}
	byTitle := map[string][]*pflag.Flag{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if !all && !isCommon(cmd, f) {
			hidden++
			return
		}
		title := TitleOf(cmd, f)
		if !slices.Contains(titles, title) {
			titles = append(titles, title)
		}
		byTitle[title] = append(byTitle[title], f)
	})
	for _, title := range titles {
		flags := byTitle[title]
		if len(flags) == 0 {
			continue
		}
		slices.SortStableFunc(flags, func(a, b *pflag.Flag) int {
			pa, pb := place[title+" "+a.Name], place[title+" "+b.Name]
			if pa == 0 || pb == 0 { // flags of registries come after those of the table
				return pb - pa
			}
			return pa - pb
		})
		shown = append(shown, FlagGroup{title, flags})
	}
	return shown, hidden
}

// TitleOf returns the title of a flag's group: that of its annotation, or the first group of
// the table with its name. --epsilon of the command kernel belongs to Comparison.
func TitleOf(cmd *cobra.Command, f *pflag.Flag) string {
	if own := f.Annotations[GroupOf]; len(own) == 1 {
		return own[0]
	}
	for _, g := range Groups {
		if g.Title == "Comparison" && cmd.Flags().Lookup("learner") != nil {
			continue
		}
		if slices.Contains(strings.Fields(g.Common+" "+g.More), f.Name) {
			return g.Title
		}
	}
	return OtherGroup
}

// isCommon tells whether --help of the command shows a flag.
func isCommon(cmd *cobra.Command, f *pflag.Flag) bool {
	if slices.Contains(strings.Fields(AlsoCommon[cmd.Name()]+" help help_all"), f.Name) || countFlags(cmd) <= MostFlags {
		return true
	}
	if own, ok := commonOf[cmd.Name()]; ok {
		return slices.Contains(strings.Fields(own), f.Name)
	}
	title := TitleOf(cmd, f)
	for _, g := range Groups {
		if g.Title == title {
			return slices.Contains(strings.Fields(g.Common), f.Name)
		}
	}
	return false
}

// countFlags returns the number of flags of a command that are not hidden.
func countFlags(cmd *cobra.Command) (n int) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			n++
		}
	})
	return n
}

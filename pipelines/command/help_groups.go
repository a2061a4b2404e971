package command

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// titles are the headings of the groups of flags, in the order of the help.
var titles = []string{
	"Model and output", "Server", "Streams", "Retraining", "Data", "Columns of tables", "Features", "Comparison", "Learner",
	"Iterative learners", "Learned features", "Job",
}

// otherGroup is for flags without a group.
const otherGroup = "Other"

// mostFlags is the largest number of flags of a command that --help may show.
const mostFlags = 25

// flagGroup is a group with its flags of one command.
type flagGroup struct {
	Title string
	Flags []*pflag.Flag
}

// grouped returns the visible flags of a command by group, common ones first. With all, it includes
// the flags that only --help_all shows. hidden is the number of flags that are left out.
func grouped(cmd *cobra.Command, all bool) (shown []flagGroup, hidden int) {
	for _, title := range append(slices.Clone(titles), otherGroup) {
		var common, more []*pflag.Flag
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			switch {
			case f.Hidden || titleOf(f) != title:
			case isMarkedCommon(f):
				common = append(common, f)
			default:
				more = append(more, f)
			}
		})
		if !all && countFlags(cmd) > mostFlags {
			hidden += len(more)
			more = nil
		}
		if flags := append(common, more...); len(flags) > 0 {
			shown = append(shown, flagGroup{title, flags})
		}
	}
	return shown, hidden
}

// titleOf returns the title of a flag's group.
func titleOf(f *pflag.Flag) string {
	switch group := optionOf(f).Group; {
	case isHelp(f):
		return "Job"
	case slices.Contains(titles, group):
		return group
	}
	return otherGroup
}

func isHelp(f *pflag.Flag) bool { return f.Name == "help" || f.Name == "help_all" }

// isMarkedCommon reports whether a flag is tagged as common, or is a flag of the help itself.
func isMarkedCommon(f *pflag.Flag) bool { return optionOf(f).Common || isHelp(f) }

// isCommon reports whether --help of the command shows a flag.
func isCommon(cmd *cobra.Command, f *pflag.Flag) bool {
	return isMarkedCommon(f) || countFlags(cmd) <= mostFlags
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

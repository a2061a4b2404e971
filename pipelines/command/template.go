package command

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Root returns the command tree with all flags, for tools that check command lines.
func Root() *cobra.Command { return newRoot() }

// templateArgs returns the command line that does the job of cmd on one worker: the given flags,
// except for those that say where the job runs.
func templateArgs(cmd *cobra.Command, args []string) []string {
	line := append([]string{cmd.Name()}, args...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "config" || f.Name == "runner" || f.Name == "resume" {
			return
		}
		values := []string{f.Value.String()}
		if many, ok := f.Value.(pflag.SliceValue); ok {
			values = many.GetSlice()
		}
		for _, v := range values {
			line = append(line, "--"+f.Name+"="+v)
		}
	})
	if slices.Contains(directoryJobs, cmd.Name()) {
		line = append(line, "--resume") // continues a failed attempt
	}
	return line
}

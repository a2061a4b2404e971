package command

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/pipelines/engine"
)

// versionReport is the output of `bochner version`.
type versionReport engine.BuildInfo

// WriteTo writes the report for people.
func (v versionReport) WriteTo(w io.Writer) (int64, error) {
	commit := ""
	if v.Commit != "" {
		commit = ", commit " + v.Commit
		if v.Modified {
			commit += " with changes"
		}
	}
	n, err := fmt.Fprintf(w, "bochner %s%s\n%s, %s/%s, kernels for %s\n", v.Version, commit, v.Go, v.OS, v.Arch, v.CPU)
	return int64(n), err
}

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program",
		Long: `Version prints the version of the program, the commit and the version of Go that it was
built from, and the level of the processor that its kernels use. The level changes the
speed and never a model.`,
		Example: `  bochner version --json`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd, asJSON, versionReport(engine.Build()))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print the result as JSON.")
	return cmd
}

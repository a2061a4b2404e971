package command

import (
	"embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// texts has a file for each command. Its first line is the usage and its second one a summary; after an
// empty line follows what the command does, and after the line "Examples:" there are examples.
//
//go:embed help/*.txt
var texts embed.FS

// described returns the command that the file help/NAME.txt describes.
func described(name string) *cobra.Command {
	data, err := texts.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic("command: " + err.Error())
	}
	text, examples, _ := strings.Cut(string(data), "\nExamples:\n\n")
	use, text, _ := strings.Cut(text, "\n")
	short, long, _ := strings.Cut(text, "\n")
	return &cobra.Command{
		Use: use, Short: short, Long: strings.Trim(long, "\n"), Example: strings.TrimRight(examples, "\n"),
		Args: cobra.NoArgs,
	}
}

// topic returns a command that prints only its text, and what more adds to it.
func topic(name string, more func() string) *cobra.Command {
	cmd := described(name)
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), cmd.Long+more()) })
	cmd.Args = nil
	return cmd
}

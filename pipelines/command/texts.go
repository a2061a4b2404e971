package command

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/internal/option"
)

// texts holds a file for each command. The first line is the usage and the second a summary. After an
// empty line comes the long text, and after the line "Examples:" the examples.
//
//go:embed help/*.txt
var texts embed.FS

// fieldTexts holds the help of options without a tag help: the first paragraph of the comment of each
// field, after a line with its option.Option.Field.
//
//go:generate env UPDATE_GOLDEN=1 go test -vet=off -run CLI .
//go:embed options.txt
var fieldTexts string

// commandFromText returns a command with the usage and texts of help/NAME.txt.
func commandFromText(name string) *cobra.Command {
	data, err := texts.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic("command: " + err.Error())
	}
	text, examples, _ := strings.Cut(string(data), "\nExamples:\n\n")
	use, text, _ := strings.Cut(text, "\n")
	short, long, _ := strings.Cut(text, "\n")
	return &cobra.Command{
		Use: use, Short: short, Long: strings.Trim(long, "\n"), Example: strings.TrimRight(examples, "\n"),
		Args: noArguments,
	}
}

// dataFiles adds arguments that are not flags to --data, such as the files that a shell lists for a pattern.
func dataFiles(cmd *cobra.Command, args []string) error {
	for _, name := range args {
		if err := cmd.Flags().Set("data", name); err != nil {
			return err
		}
	}
	return nil
}

// noArguments refuses arguments that are not flags.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q: %s takes only flags; quote patterns, as in --sums 'sums/*'", args[0],
			cmd.CommandPath())
	}
	return nil
}

// oneArgument requires one argument: one of the choices, if there are any.
func oneArgument(what string, choices []string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fmt.Errorf("%s needs the name of %s; have %s", cmd.CommandPath(), what, strings.Join(choices, ", "))
		case len(args) > 1:
			return fmt.Errorf("unexpected argument %q after %q: %s takes one", args[1], args[0], cmd.CommandPath())
		case !slices.Contains(choices, args[0]):
			return fmt.Errorf("unknown %s %q%s; have %s", what[strings.IndexByte(what, ' ')+1:], args[0],
				option.DidYouMean(args[0], choices), strings.Join(choices, ", "))
		}
		return nil
	}
}

// topic returns a command that only prints its text, followed by the text that more returns.
func topic(name string, more func() string) *cobra.Command {
	cmd := commandFromText(name)
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), cmd.Long+more()) })
	cmd.Args = nil
	return cmd
}

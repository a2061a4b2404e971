package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/pipelines"
)

// unknownFlag adds to the error of a flag that there is not the name of one that
// may be meant.
func unknownFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w%s", err, meant(cmd.Flags(), unknown.GetSpecifiedName()))
	}
	return err
}

// inOneLine returns the text of an error, with cobra's list of the commands that
// may be meant put as it is put elsewhere.
func inOneLine(err error) string {
	text, list, found := strings.Cut(err.Error(), "\n\nDid you mean this?\n\t")
	if !found {
		return text
	}
	return fmt.Sprintf("%s (did you mean %q?)", text, strings.Join(strings.Fields(list), ", "))
}

// meant returns ` (did you mean "lambda"?)` if a flag has a name close to that.
func meant(fs *pflag.FlagSet, name string) string {
	var names []string
	fs.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return pipelines.DidYouMean(name, names)
}

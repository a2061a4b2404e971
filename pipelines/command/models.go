package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/registry"
)

// modelsActions are the first arguments of the command models.
var modelsActions = []string{"list", "promote", "rollback", "history"}

// commandLine is the command with the flags that were set, for the history.
func commandLine(cmd *cobra.Command, args ...string) string {
	words := append([]string{cmd.CommandPath()}, args...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		words = append(words, fmt.Sprintf("--%s=%s", f.Name, f.Value))
	})
	return strings.Join(words, " ")
}

func modelsCommand() *cobra.Command {
	var (
		r      registry.Registry
		n      registry.Note
		model  string
		asJSON bool
		last   int
	)
	cmd := &cobra.Command{
		Use:   "models list|promote|rollback|history --models DIR",
		Short: "Say which model of a directory is in use, and since when",
		Long: `Models manages a directory of models. Each of its directories is a model that never
changes; the aliases champion, challenger and previous say which of them is in use.
Every command that reads a model takes an alias: --model DIR@champion.

  list       prints the models with their aliases
  promote    makes --model the champion, and the champion before it the previous one
  rollback   makes the previous champion champion again, or the earlier champion --model
  history    prints what happened, the latest first: when, what, by whom, and why

The aliases are in the file aliases.json, which is replaced by compare-and-swap: of two
processes that promote at the same time one succeeds, and the other ends with code 3
and says who was faster. With --expect a promotion happens only if that model is
champion. Promote checks the files of the model first. A rollback goes further back
each time. The history is a file for each event, which is never replaced.`,
		Example: `  bochner models promote --models gs://BUCKET/models --model 2026-11-20 --why 'first model'
  bochner models list --models gs://BUCKET/models
  bochner predict --model gs://BUCKET/models@champion --data new.csv --out predictions
  bochner models rollback --models gs://BUCKET/models --why 'complaints about region 7'`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: modelsActions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runJob(func(cmd *cobra.Command) error {
				ctx := cmd.Context()
				var result io.WriterTo
				s, err := r.State(ctx)
				if err != nil {
					return err
				}
				if s.Rebuilt != "" {
					fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", s.Rebuilt)
				}
				switch action := args[0]; action {
				case "list":
					result, err = r.List(ctx)
				case "history":
					h := &registry.Events{Dir: r.Dir}
					h.Events, err = r.History(ctx, last)
					result = h
				default:
					n.Command = commandLine(cmd, action)
					if model != "" {
						if model, err = r.Name(ctx, model); err != nil {
							return err
						}
					}
					switch {
					case action == "rollback":
						result, err = r.Rollback(ctx, model, n)
					case model == "":
						return exit.Usage("models promote: no model: name one of %s with --model", r.Dir)
					default:
						result, err = r.Promote(ctx, model, n)
					}
				}
				if err != nil {
					return err
				}
				return show(cmd, asJSON, result)
			})(cmd, args)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&r.Dir, "models", "", "Directory of models.")
	fs.StringVar(&model, "model", "", "Model of that directory, by name, place or alias.")
	fs.StringVar(&n.Expect, "expect", "", "Name of the model that must be champion before; - for none. If another is, nothing changes.")
	fs.StringVar(&n.Why, "why", "", "Reason, for the history.")
	fs.StringVar(&n.By, "by", "", "Who does this, for the history. The default is the user and the machine.")
	fs.IntVar(&last, "events", 0, "Number of events that history prints; 0 prints all.")
	fs.BoolVar(&asJSON, "json", false, "Print the result as JSON.")
	return cmd
}

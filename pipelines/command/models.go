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

// commandLine returns the command with the flags that were set, for the history.
func commandLine(cmd *cobra.Command, args ...string) string {
	words := append([]string{cmd.CommandPath()}, args...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		words = append(words, fmt.Sprintf("--%s=%s", f.Name, f.Value))
	})
	return strings.Join(words, " ")
}

// changeFlags are the flags of a change of the champion.
type changeFlags struct {
	// Who does this, for the history. The default is the user and the machine.
	By string `flag:"who" group:"Model and output" placeholder:"TEXT"`

	// Reason, for the history.
	Why string `flag:"why" group:"Model and output" placeholder:"TEXT"`

	// Name of the model that must be the champion now; - for none. If another model is, nothing
	// changes.
	Expect string `flag:"expect" group:"Model and output" placeholder:"MODEL"`
}

func modelsCommand() *cobra.Command {
	var o struct {
		Models string `flag:"models,common" group:"Model and output" placeholder:"DIR" help:"Directory of models."`
		changeFlags
		LogFlags
		Model  string `flag:"model,common" group:"Model and output" placeholder:"DIR" help:"Model of that directory: its name, path or alias."`
		Events int    `flag:"events" group:"Model and output" help:"Number of events that history prints; 0 prints all."`
	}
	cmd := newCommand("models", &o, func(cmd *cobra.Command, args []string) (io.WriterTo, error) {
		ctx, r := cmd.Context(), registry.Registry{Dir: o.Models}
		s, err := r.State(ctx)
		if err != nil {
			return nil, err
		}
		if log := jobLog(cmd); s.Rebuilt != "" && log != nil {
			fmt.Fprintf(log, "note: %s\n", s.Rebuilt)
		}
		action := args[0]
		switch action {
		case "list":
			return r.List(ctx)
		case "history":
			events, err := r.History(ctx, o.Events)
			return &registry.Events{Dir: r.Dir, Events: events}, err
		}
		change := registry.Change{By: o.By, Why: o.Why, Command: commandLine(cmd, action)}
		switch o.Expect {
		case "":
		case "-":
			change.IfChampion = registry.ChampionIs("")
		default:
			change.IfChampion = registry.ChampionIs(o.Expect)
		}
		model := o.Model // o.Model is the value of the flag
		if model != "" {
			if model, err = r.Name(ctx, model); err != nil {
				return nil, err
			}
		}
		switch {
		case action == "rollback":
			return r.Rollback(ctx, model, change)
		case model == "":
			return nil, exit.Usagef("--model is missing: name a model of %s", r.Dir)
		}
		return r.Promote(ctx, model, change)
	})
	cmd.Args, cmd.ValidArgs = oneArgument("an action", modelsActions), modelsActions
	return cmd
}

package command

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/options"
	"github.com/bochner-ml/bochner/pipelines/results"
	_ "github.com/bochner-ml/bochner/transforms/pubsub" // pubsub://
)

// Values of --data, --ids and --out.
const (
	standardInput  = "-"
	standardOutput = "-"
)

func predictCommand() *cobra.Command {
	var o struct {
		Forever bool `flag:"stream,common" group:"Streams" help:"Predict every file that appears, or every message, until the command is stopped. See bochner help stream."`
		options.PredictStream
	}
	o.PredictStream = options.NewPredictStream()
	o.MaxBadFraction = 0 // of a batch
	return newCommand("predict", &o, func(cmd *cobra.Command, _ []string) (io.WriterTo, error) {
		if o.Forever {
			return nil, predictStream(cmd, o.PredictStream)
		}
		batches := namesOf(&options.Predict{})
		only := slices.DeleteFunc(namesOf(&options.PredictStream{}), func(name string) bool {
			return slices.Contains(batches, name)
		})
		if err := refuse(cmd, only, "is for --stream"); err != nil {
			return nil, err
		}
		batch := o.Predict // a copy: o.Out is the value of the flag
		if err := checkOutFormat(cmd, o.Out, o.Format); err != nil {
			return nil, err
		}
		if o.Out == standardOutput {
			if out, ok := cmd.OutOrStdout().(*output); ok {
				if err := out.checkOpen(); err != nil {
					return nil, err
				}
			}
			batch.Out, batch.Join = "", cmd.OutOrStdout()
			cmd.SetOut(cmd.ErrOrStderr()) // standard output has only predictions
		}
		result, err := pipelines.Predict(cmd.Context(), batch)
		if err != nil || batch.Join != nil && isSet(cmd, "quiet") && !isSet(cmd, "json") {
			return nil, err
		}
		return result, nil
	})
}

// checkOutFormat refuses a file whose extension contradicts --out_format.
func checkOutFormat(cmd *cobra.Command, out, format string) error {
	name := strings.TrimSuffix(strings.ToLower(out), ".gz")
	for _, other := range pipelines.PredictFormats() {
		if cmd.Flags().Changed("out_format") && other != format && strings.HasSuffix(name, "."+other) {
			return exit.Usagef("--out_format %s: the name %s means %s; leave out one of the two", format, out, other)
		}
	}
	return nil
}

// predictStream predicts until the stream ends, and prints the counts of each round.
func predictStream(cmd *cobra.Command, o options.PredictStream) error {
	switch {
	case cmd.Flags().Changed("resume") || cmd.Flags().Changed("work"):
		return exit.Usagef("--stream continues from the files in --out, without --resume and --work")
	case o.Out == standardOutput:
		return exit.Usagef("--stream writes a file for each file: give a directory with --out")
	case !cmd.Flags().Changed("max_bad_fraction"):
		o.MaxBadFraction = options.NewPredictStream().MaxBadFraction
	}
	line := func(r results.StreamRound) error {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
	}
	o.Each = func(r results.StreamRound) error {
		switch {
		case isSet(cmd, "json"):
			return line(r)
		case !isSet(cmd, "quiet"):
			fmt.Fprintln(cmd.ErrOrStderr(), r)
		}
		return nil
	}
	last, err := pipelines.PredictStream(cmd.Context(), o)
	if err != nil || last == nil {
		return err
	}
	if isSet(cmd, "json") {
		return line(*last)
	}
	_, err = last.WriteTo(cmd.OutOrStdout())
	return err
}

package command

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/exit"
	_ "github.com/bochner-ml/bochner/transforms/pubsub" // pubsub://
)

// streamFlags are those of predict --stream.
type streamFlags struct {
	on bool
	o  pipelines.StreamOptions
}

// streamNames lists the flags that have a meaning only with --stream.
var streamNames = strings.Fields("dead_letters reload poll settle max_age files_per_round until_idle outstanding id_attribute time_attribute message_columns copy_attributes")

func (f *streamFlags) register(fs *pflag.FlagSet) {
	fs.BoolVar(&f.on, "stream", false, "Predict every file that appears, or every message, until the command is stopped. See bochner help stream.")
	fs.StringVar(&f.o.Dead, "dead_letters", "", "With --stream: directory of the files that name what has no predictions, or of messages also a topic. The default is --out with -dead added.")
	fs.DurationVar(&f.o.Reload, "reload", time.Minute, "With --stream: how often --model is looked up; a new model takes the place of the old one between two files or messages. 0 is never.")
	fs.DurationVar(&f.o.Poll, "poll", 5*time.Second, "With --stream: how often the files are listed.")
	fs.DurationVar(&f.o.Settle, "settle", 10*time.Second, "With --stream: how long nothing must have been written to a file on disk before it is read; 0 if files are renamed into place. Objects of gs:// are whole when they appear.")
	fs.DurationVar(&f.o.MaxAge, "max_age", 0, "With --stream: files that were written longer ago are not read; 0 for all.")
	fs.IntVar(&f.o.PerRound, "files_per_round", 64, "With --stream: largest number of files or messages that are taken at a time; others wait.")
	fs.BoolVar(&f.o.UntilIdle, "until_idle", false, "With --stream: stop when no file is left, or no message has come for --settle.")
	f.o.Messages.Outstanding = 1000
	for _, o := range option.List(&f.o.Messages) {
		addOption(fs, o)
	}
}

// unused refuses flags of a stream without one.
func (f *streamFlags) unused(cmd *cobra.Command) error {
	return refuse(cmd, streamNames, "is for --stream")
}

// run predicts a stream with the options of a batch.
func (f *streamFlags) run(cmd *cobra.Command, batch pipelines.PredictOptions, asJSON, quiet bool) error {
	if cmd.Flags().Changed("resume") || cmd.Flags().Changed("work") {
		return exit.Usage("--stream continues from the files in --out, without --resume and --work")
	}
	o := f.o
	o.PredictOptions = batch
	if batch.Out == standardOutput {
		return exit.Usage("--stream writes a file for each file: give a directory with --out")
	}
	if !cmd.Flags().Changed("max_bad_fraction") {
		o.MaxBadFraction = 1 // a bad row gets a dead letter, and so has its file
	}
	line := func(r pipelines.StreamRound) error {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
	}
	o.Each = func(r pipelines.StreamRound) error {
		switch {
		case asJSON:
			return line(r)
		case !quiet:
			fmt.Fprintln(cmd.ErrOrStderr(), r)
		}
		return nil
	}
	last, err := pipelines.PredictStream(cmd.Context(), o)
	if err != nil || last == nil {
		return err
	}
	if asJSON {
		return line(*last)
	}
	_, err = last.WriteTo(cmd.OutOrStdout())
	return err
}

func streamHelp() *cobra.Command {
	cmd := &cobra.Command{Use: "stream", Short: "How predict --stream works"}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprint(cmd.OutOrStdout(), streamText) })
	return cmd
}

const streamText = `bochner predict --stream predicts every file that appears under --data, on disk or in
gs://, or every message of a Pub/Sub subscription or topic, until it is stopped.

  bochner predict --stream --model gs://BUCKET/models@champion \
      --data 'gs://BUCKET/in/dt=*/*.csv' --out gs://BUCKET/predictions --model_digest
  bochner predict --stream --model gs://BUCKET/models@champion --out_format jsonl \
      --data pubsub://projects/P/subscriptions/rows --out pubsub://projects/P/topics/predictions \
      --dead_letters pubsub://projects/P/topics/bad --copy_attributes message_id

Names         in/dt=7/a.csv gets OUT/dt=7/a.csv.predictions.csv: its path below the
              directory that all patterns begin with, and a suffix. A file appears
              whole, and a file that is done again replaces it, so every row is in the
              output exactly once, whatever is killed. What is done is what is in OUT
              and in the directory of dead letters; there is no other state. A stream
              that begins again continues from there, and a file that is moved away and
              comes back is not done again. Two streams cannot have one OUT.
Whole files   An object of gs:// is whole when it appears. A file on disk is read when
              nothing has been written to it for --settle. Write under a name that the
              pattern does not match, or that begins with a dot, and rename the file.
              A file is known by its name: if it is written to after it is done, that is
              noted and counted as changed, and it is not read again.
Waiting       Links without a target, links out of the directory before the first
              wildcard, pipes, sockets, devices, directories, and a directory that does
              not exist are not read. Each is noted once and counted as waiting and in
              the backlog, until there is a file in its place. They are not followed or
              quoted, and do not keep other files from their predictions.
Messages      A message is like a file: it has one or more rows in any format, such as an
              object of JSON on each line, or CSV with a header or --message_columns. It
              gets OUT/ID.predictions.csv, named by its identifier, so a message that is
              delivered again replaces its predictions by others of the same rows. To a
              topic, one message is published for each; it has the attributes of the first
              and bochner_message_id, by which readers tell copies: a topic gets each at
              least once. A message is acknowledged when its predictions are stored, or its
              dead letter. At most --outstanding are received and not acknowledged.
              PUBSUB_EMULATOR_HOST names a server for tests.
Dead letters  DEAD/PATH.file.json says why a file has no predictions; remove it to have
              the file tried again. DEAD/PATH.rows.json lists rows that could not be
              read, which have a line without a prediction; with --max_bad_fraction,
              a file with a larger share of them is bad. The stream continues. Those of
              messages have their content; in a topic they are that content, and the
              attribute bochner_error says why.
Model         --model is looked up every --reload. A new model is loaded while the old
              one is in use, and takes its place between two files, so all rows of a
              file are predicted by one model; --model_digest writes which. A model that
              is damaged, absent or needs other columns is not used, which is noted
              once; the old one stays.
Age           The stream keeps in memory the names that match now. Remove old files, or
              use patterns of few days, so that lists stay short. --max_age leaves old
              files out.
Pressure      At most --files_per_round files are taken at a time, those written first
              before others. The backlog is all files that are not done, and what waits.
Numbers       After each round a line on standard error, or with --json one on standard
              output: files, rows, rows set aside, changed files, backlog, what of it
              waits, rows a second, and quantiles of the time from when a file was written
              until its predictions were whole.
Stopping      SIGINT or SIGTERM: the file that is being done is finished, and the exit
              code is 0. A second signal ends the process at once.
Runners       --runner direct, the default, and universal run one small pipeline after
              the other. On flink and dataflow the stream is one pipeline that does not
              end; its counters are files_done, files_bad, files_retried, files_changed,
              files_waiting and the distribution file_latency_msec. Flink does not read
              messages. Several processes can share a subscription if they write to a
              topic, or each to a directory of its own.
`

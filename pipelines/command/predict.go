package command

import (
	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/pipelines"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// standardOutput is the value of --out for predictions on standard output.
const standardOutput = "-"

func predictCommand() *cobra.Command {
	var (
		data dataFlags
		jobs jobFlags
		o    pipelines.PredictOptions
		s    streamFlags
	)
	cmd := &cobra.Command{
		Use:   "predict --model DIR --data FILES --out DIR",
		Short: "Apply a model to data",
		Long: `Predict applies the model to every row of --data and creates the directory --out.

The directory appears complete or not at all. It contains files of predictions with one
line per row. In the order of their names, the files follow the order of the rows, file
by file in the order of --data; manifest.json lists the rows of each file. CSV files
start with a header line. Blank lines of the data are not rows and get no prediction;
manifest.json counts them. To join predictions to the data by line, add --lines.

Columns of CSV files are matched by name with those of the training data if both have
a header; the label column can be missing. With --max_bad_fraction, a row that cannot
be read gets a line without a prediction.

With --out -, the predictions are written to standard output as CSV or JSON lines, with
one header, when all of them are made; the summary goes to standard error. They are
complete if the exit code is 0. If the reader closes the pipe, as head does, the job ends
without a message and the exit code is 141. Until all predictions are made they are in a
temporary directory (TMPDIR).
This needs a runner in this process, such as direct.

The column that --id_column names, here or in training, is copied to the predictions.

--scores adds columns score_CLASS, or an object "scores" to each line of JSON;
--probabilities adds columns probability_CLASS, or an object "probabilities". The
probabilities of a row add up to 1. With --threshold, a row of two classes is predicted
to be of the positive one if its probability is at least the threshold, instead of the more
probable one.

The summary names columns whose values have moved from those of the training, with the
distance that is certain: the difference of a share of rows, such as those with a value
below some number, missing, or of a level. With --max_drift nothing is written if a
column has moved farther.

With --stream the command does not end: every file that appears under --data gets a file
of predictions in --out, named by it (bochner help stream).`,
		Example: `  bochner predict --model model --data 'new-*.csv' --out predictions
  bochner predict --model model --data new.csv --out scores --out_format parquet --scores
  bochner predict --model model --data new.csv --out - --quiet | head
  bochner predict --stream --model models@champion --data 'in/*.csv' --out predictions`,
		Args: cobra.NoArgs,
		RunE: runJob(func(cmd *cobra.Command) error {
			o.Data, o.MaxBadFraction, o.Job = data.opts, data.maxBad, jobs.job(cmd)
			if s.on {
				return s.run(cmd, o, jobs.json, jobs.quiet)
			}
			if err := s.unused(cmd); err != nil {
				return err
			}
			job := o // the flag keeps its value
			if o.Out == standardOutput {
				if out, is := cmd.OutOrStdout().(*exit.Output); is {
					if err := out.Open(); err != nil {
						return err
					}
				}
				job.Out, job.Join = "", cmd.OutOrStdout()
				cmd.SetOut(cmd.ErrOrStderr()) // for all the rest
			}
			result, err := pipelines.Predict(cmd.Context(), job)
			if err != nil || job.Join != nil && jobs.quiet && !jobs.json {
				return err
			}
			return show(cmd, jobs.json, result)
		}),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.Model, "model", "", "Directory of the model, or an alias such as DIR@champion (see the command models).")
	fs.StringVar(&o.Out, "out", "", "Directory to create for the predictions, which must not exist; or - for standard output.")
	formatFlag(fs, &o.Format, "csv", "predictions", pipelines.PredictFormats())
	fs.BoolVar(&o.Scores, "scores", false, "Also write the score of every output.")
	fs.BoolVar(&o.Lines, "lines", false, "Also write the line of the file on which each row starts, to join predictions to rows where files have blank lines, comments or records of several lines. Each file is then read by one reader.")
	fs.BoolVar(&o.Probabilities, "probabilities", false, "Also write the probability of every class. The prediction is the most probable class; of several, the one with the largest score. The model must have been trained with --calibrate, or with --loss softmax or logistic.")
	fs.BoolVar(&o.Digest, "model_digest", false, "Also write the digest of the model, the sha256 of its manifest, in each row.")
	thresholdFlag(fs, &o.Threshold)
	fs.Float64Var(&o.MaxDrift, "max_drift", 0, "Largest distance, from 0 to 1, by which a column may have moved from the rows of the training; 0 for no bound. If one has certainly moved farther, nothing is written and the exit code is 4.")
	fs.StringVar(&data.opts.ID, "id_column", "", "Column that identifies each row, by name or position; it is copied to the predictions. The default is that of the training data.")
	s.register(fs)
	data.register(fs)
	jobs.register(fs)
	return cmd
}

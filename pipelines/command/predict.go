package command

import (
	"github.com/spf13/cobra"

	"github.com/bochner-ml/bochner/pipelines"
)

func predictCommand() *cobra.Command {
	var (
		data dataFlags
		jobs jobFlags
		o    pipelines.PredictOptions
	)
	cmd := &cobra.Command{
		Use:   "predict --model DIR --data FILES --out DIR",
		Short: "Apply a model to data",
		Long: `Predict applies the model to every row of --data and makes the directory --out.

The directory appears whole or not at all. It holds files of predictions, one line
for each row: put together in the order of their names they are in the order of the
rows, file by file in the order of --data. manifest.json says which rows each file
has. CSV files begin with a header line. Blank lines of the data are not rows and get no
prediction; manifest.json counts them. To join predictions to the data by line, add --lines.

Columns of CSV files are found by the names that the training data had, if both have
a header; the label column may be missing. With --max_bad_fraction, a row that cannot
be read has a line without a prediction.

--scores adds columns score_CLASS, or an object "scores" to each line of JSON;
--probabilities adds columns probability_CLASS, or an object "probabilities". The
probabilities of a row add up to 1.`,
		Example: `  bochner predict --model model --data 'new-*.csv' --out predictions
  bochner predict --model model --data new.csv --out scores --out_format jsonl --scores`,
		Args: cobra.NoArgs,
		RunE: job(func(cmd *cobra.Command) error {
			o.Data, o.MaxBadFraction, o.Job = data.opts, data.maxBad, jobs.job(cmd)
			result, err := pipelines.Predict(cmd.Context(), o)
			if err != nil {
				return err
			}
			return show(cmd, jobs.json, result)
		}),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.Model, "model", "", "Directory of the model.")
	fs.StringVar(&o.Out, "out", "", "Directory to make for the predictions; it must not exist.")
	fs.StringVar(&o.Format, "out_format", "csv", "Format of the predictions: csv, jsonl.")
	fs.BoolVar(&o.Scores, "scores", false, "Write the score of every output beside the prediction.")
	fs.BoolVar(&o.Lines, "lines", false, "Write the line of its file on which each row begins, to join predictions to rows where files have blank lines, comments or records of several lines. A file is then read by one reader.")
	fs.BoolVar(&o.Probabilities, "probabilities", false, "Write the probability of every class beside the prediction, which is the most probable class; of several, the one with the largest score. The model must have been trained with --calibrate, or with --loss softmax or logistic.")
	data.register(fs)
	jobs.register(fs)
	return cmd
}

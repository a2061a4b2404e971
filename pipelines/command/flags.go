package command

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bochner-ml/bochner/internal/option"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/job"
)

// refuse returns an error if one of the flags is given, with why it cannot be.
func refuse(cmd *cobra.Command, names []string, why string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return exit.Usage("--%s %s", name, why)
		}
	}
	return nil
}

// dataFlags are the flags of every job that reads data.
type dataFlags struct {
	opts   dataset.Options
	maxBad float64
}

func (f *dataFlags) register(fs *pflag.FlagSet) {
	AddData(fs, &f.opts)
	fs.StringVar(&f.opts.Format, "format", "auto", "Format of the files: auto (detected from the content), "+strings.Join(dataset.Names(), ", ")+". Compression with gzip or zstd is detected.")
	fs.StringVar(&f.opts.Label, "label", "", "Label column of formats with columns (CSV, TSV, JSON lines, Parquet, Avro), by name or position (1 is the first, -1 the last). Several, separated by commas or given by a pattern with *, are the targets of one regression.")
	fs.StringVar(&f.opts.LabelText.Strip, "label_strip", "", "Characters to remove from both ends of labels, such as '.' or ' .'. The model stores them; predictions and scores of it read labels in the same way.")
	fs.Var((*labelCase)(&f.opts.LabelText.Lower), "label_case", "Case of labels: keep, lower (labels, and the classes they are compared with, in lower case).")
	fs.BoolVar(&f.opts.Strict, "strict", false, "Refuse data that looks incomplete or duplicated: missing shards of a set such as -00003-of-00010, several links to one file, empty files, columns that only some files have. Without --strict these are notes.")
	f.opts.Formats = dataset.NewOptions()
	for _, of := range f.opts.Formats {
		for _, o := range option.List(of) {
			addOption(fs, o)
		}
	}
	fs.Float64Var(&f.maxBad, "max_bad_fraction", 0, "Largest share of rows, from 0 to 1, that may be unusable and set aside.")
}

// jobFlags are the flags of every job that runs pipelines.
type jobFlags struct {
	opts  job.Options
	json  bool
	quiet bool
}

func (f *jobFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.opts.Engine.Runner, "runner", "direct", "Beam runner: direct (this process), universal and flink (a job server at --endpoint), dataflow (Google Cloud). See bochner help runner.")
	fs.IntVar(&f.opts.Engine.Lanes, "lanes", 0, "Number of parallel readers; 0 chooses for the runner. Does not change results.")
	fs.IntVar(&f.opts.Engine.Threads, "threads", 0, "Threads that each parallel reader uses for linear algebra; 0 chooses for the runner. Does not change results.")
	fs.Var((*byteCount)(&f.opts.Engine.WorkerBytes), "worker_bytes", "Memory in bytes, as a number or as 8GB, that a worker with one parallel reader may take. Sums that are larger, and rows that are carried in place of them, are stored in stripes, for each of which the data is read again. 0 is the memory of the machine in one process, and no limit elsewhere. Does not change results.")
	fs.StringVar(&f.opts.Work, "work", "", "Work directory, new or empty. The default is a hidden directory beside the output. It is removed when the job succeeds.")
	fs.BoolVar(&f.opts.Resume, "resume", false, "Continue from what an interrupted run left in the work directory.")
	fs.Int64Var(&f.opts.ShardBytes, "shard_bytes", 0, "Size of the shards that plain files are cut into; 0 is 32 MiB. Does not change results.")
	fs.Lookup("shard_bytes").Hidden = true // for tests
	fs.DurationVar(&f.opts.Engine.Checkpoint, "checkpoint", 0, "Least time between two checkpoints of a parallel reader; 0 is a minute, a negative one is after every shard. Does not change results.")
	fs.Lookup("checkpoint").Hidden = true // for tests
	fs.BoolVar(&f.json, "json", false, "Print the result as JSON.")
	fs.BoolVar(&f.quiet, "quiet", false, "Print no progress and no notes.")
	fs.BoolVar(&f.opts.Engine.Verbose, "verbose", false, "Print the log of Beam.")
	fs.String("config", "", "YAML file that sets flags by name. Flags on the command line take precedence.")
	addBeamFlags(fs)
}

// job returns the options, with notes to the command's standard error.
func (f *jobFlags) job(cmd *cobra.Command) job.Options {
	if !f.opts.Engine.Verbose {
		// Workers in this process take Beam's log lines from their job.
		slog.SetDefault(slog.New(slog.DiscardHandler))
	}
	if !f.quiet {
		f.opts.Log = cmd.ErrOrStderr()
	}
	f.opts.LimitMemory = true
	return f.opts
}

// addBeamFlags adds Beam's own flags, which the help does not show.
func addBeamFlags(fs *pflag.FlagSet) {
	flag.CommandLine.VisitAll(func(g *flag.Flag) {
		if fs.Lookup(g.Name) != nil || strings.HasPrefix(g.Name, "test.") {
			return
		}
		fs.AddGoFlag(g)
		fs.Lookup(g.Name).Hidden = true
	})
}

func runnerHelp() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runner",
		Short: "How to choose and configure the Beam runner",
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		var flags strings.Builder
		flag.CommandLine.VisitAll(func(g *flag.Flag) {
			if !strings.HasPrefix(g.Name, "test.") {
				_, usage := flag.UnquoteUsage(g)
				fmt.Fprintf(&flags, "  --%s\n        %s\n", g.Name, strings.ReplaceAll(usage, "\n", " "))
			}
		})
		fmt.Fprintf(cmd.OutOrStdout(), runnerText, flags.String())
	})
	return cmd
}

const runnerText = `Every job runs on a Beam runner. The runner changes the speed of a job, never its
result.

  --runner direct     In this process, with one reader; linear algebra uses all
                      cores. The default, and the fastest on one machine. It
                      opens no port.
  --runner universal  On the job server at --endpoint, such as a standalone
                      prism. Workers must see the data, the model and the work
                      directory under the same names. The program passes itself to
                      the workers as --worker_binary, which requires a static
                      build (CGO_ENABLED=0 go install, or make build). With
                      --environment_type LOOPBACK this process is the worker.
                      Anyone who can reach the port of a job server or of a worker
                      pool can run programs there; the ports are open on all
                      interfaces.
  --runner flink      The same on the job server of Flink, which assigns the
                      readers to its tasks.
  --runner dataflow   On Google Cloud Dataflow, in --project and --region. Data,
                      model and work directory are in gs://. The program passes
                      itself to the workers through --staging_location. Each
                      reader (--lanes) is one thread on one virtual CPU: --lanes 32
                      --machine_type n2-highmem-4 means 8 workers. train --plan
                      prints what fits.

Workers that a pool starts as separate processes:

  bochner train … --runner universal --endpoint localhost:8073 \
      --environment_type EXTERNAL --environment_config localhost:50000

On Dataflow:

  bochner train --data 'gs://BUCKET/train-*.csv' --label y --model gs://BUCKET/model \
      --runner dataflow --project PROJECT --region europe-west4 \
      --staging_location gs://BUCKET/staging --temp_location gs://BUCKET/temp \
      --lanes 32 --machine_type n2-highmem-4 --disk_size_gb 30

Beam's own flags are accepted after the name of every job:

%s`

// byteCount is the value of a flag that takes a number of bytes.
type byteCount int64

func (n *byteCount) String() string { return strconv.FormatInt(int64(*n), 10) }

func (n *byteCount) Set(text string) error {
	v, err := option.ParseBytes(text)
	if err == nil {
		*n = byteCount(v)
	}
	return err
}

func (*byteCount) Type() string { return "int64" }

// labelCase is the value of --label_case: whether labels are read in lower case.
type labelCase bool

func (c *labelCase) String() string {
	if *c {
		return "lower"
	}
	return "keep"
}

func (c *labelCase) Set(text string) error {
	if text != "keep" && text != "lower" {
		return errors.New("want keep or lower")
	}
	*c = text == "lower"
	return nil
}

func (*labelCase) Type() string { return "string" }

// thresholdFlag adds --threshold.
func thresholdFlag(fs *pflag.FlagSet, to **float64) {
	fs.Var(&optionalNumber{to}, "threshold", "For two classes: predict the positive one if its probability is at least this number, or, for a model without probabilities, if half the difference of its score and the other is. The default predicts the more probable class, or the one with the larger score.")
}

// optionalNumber is the value of a flag that has no number by default.
type optionalNumber struct{ to **float64 }

func (n *optionalNumber) String() string {
	if n.to == nil || *n.to == nil {
		return ""
	}
	return strconv.FormatFloat(**n.to, 'g', -1, 64)
}

func (n *optionalNumber) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return errors.New("want a number")
	}
	*n.to = &v
	return nil
}

func (*optionalNumber) Type() string { return "float64" }

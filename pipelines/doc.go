// Package pipelines contains the jobs, such as Train, Predict, Evaluate, Retrain and Serve. Each is
// a function that takes the options and returns the result of its name. Package command makes a command
// of each. A job builds one graph of transforms per pass over the data, runs it on a Beam runner,
// and decides between passes what to do next.
//
// Most jobs are implemented in packages under pipelines/internal: training, days (Sum, Fit, Forget, Retrain),
// apply (Predict, Featurize, InspectData), evaluate, sumdirs, ask and serve. Options are structs of
// package options, results are structs of package results. FitStored and TrainRows are not jobs but
// transforms, for pipelines of other programs.
//
// Errors name options by the flags of the command: --max_bad_fraction is the field MaxBadFraction.
//
// A job runs in the process that calls it. Only Serve listens on a port, unless a runner needs one.
// A job prints only to options.Job.Log, never ends the process, and leaves the program's loggers
// alone, except that Beam's log lines about the job are dropped unless engine.Engine.Verbose is
// set. The runners universal, flink and dataflow start the program again as a worker: such a
// program calls flag.Parse and then beam.Init at the beginning of main.
package pipelines

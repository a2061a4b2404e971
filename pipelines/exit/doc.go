// Package exit defines the errors that jobs return, and the exit code of each. CodeOf takes the first line that
// applies:
//
//	error                       code           what to do
//	nil                         0
//	context.Canceled            130            run the command again, with --resume
//	*UsageError                 2              correct the flags
//	*GateError                  4              look at the result, which is complete: a score missed a condition
//	*OutcomeError               8, 9, 10       read its text: retrain made or promoted no model
//	models.ErrBadModel          6              train the model again, or upgrade the program
//	*fault.Fault of a worker    1, 3, 5, 6, 7  depends on its Kind
//	*storage.Error              3 or 5         3 if the storage refused the request; otherwise try again
//	*DataError, *dataset.Error  3              correct the data
//	any other, as *RunnerError  1              try again
//
// ResumableError and DoneError wrap one of these and keep its code. A ResumableError adds that finished work was
// kept, and how to continue. A DoneError adds that the job has published its output, and that only a later step
// failed, such as printing.
//
// A job returns its result together with an error if the job itself is done: then HasResult is true, and the command
// prints both. With any other error there is no result.
//
// Workers cannot return these types, because runners pass on only the text of errors. Package fault puts a Kind into
// this text, and CodeOf maps the Kind to a code.
package exit

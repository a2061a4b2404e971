package pipelines

import (
	"context"
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// Exit codes of the command.
const (
	ExitOK          = 0
	ExitInternal    = 1 // the runner failed, or lost a worker
	ExitUsage       = 2 // flags that do not fit
	ExitData        = 3 // data refused, or a place that cannot be written to: mend it and run again
	ExitGate        = 4 // a score did not pass --gate
	ExitStorage     = 5 // the storage failed: running again may help
	ExitModel       = 6 // a model directory is damaged or too new
	ExitCrash       = 7 // the program itself failed, in a panic, or ran out of memory
	ExitInterrupted = 130
)

// UsageError says that flags or options do not fit.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

func usage(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// DataError says why data cannot be used.
type DataError struct{ Err error }

func (e *DataError) Error() string { return e.Err.Error() }
func (e *DataError) Unwrap() error { return e.Err }

func refuse(format string, args ...any) error { return &DataError{fmt.Errorf(format, args...)} }

// GateError says that a score did not pass.
type GateError struct{ Message string }

func (e *GateError) Error() string { return e.Message }

// KeptError is an error of a place that cannot be written to, in a job that has kept
// what it had finished.
type KeptError struct {
	Err  error
	Work string // directory
}

func (e *KeptError) Error() string {
	return fmt.Sprintf("%v\nwhat is finished is kept in %s: the same command with --resume continues from there; to make the result elsewhere, add --work %[2]s to that", e.Err, e.Work)
}
func (e *KeptError) Unwrap() error { return e.Err }

// writing tells whether the job failed because a place could not be written to.
func writing(err error) bool {
	var reported *fault.Fault
	if errors.As(err, &reported) {
		return reported.Kind == fault.Place
	}
	var storeErr *storage.Error
	return errors.As(err, &storeErr) && storeErr.Writing()
}

// damaged tells whether the job failed because state is not what was written, so that
// its part is to be done again.
func damaged(err error) bool {
	var reported *fault.Fault
	return errors.Is(err, storage.ErrDamaged) || errors.As(err, &reported) && reported.Kind == fault.Damaged
}

// RunnerError says that a runner failed, or a worker of its was lost, for a
// reason that lies neither in the data nor in the storage. Running the job again
// may help.
type RunnerError struct {
	Runner string
	Err    error
}

func (e *RunnerError) Error() string { return fmt.Sprintf("pipelines: runner %s: %v", e.Runner, e.Err) }
func (e *RunnerError) Unwrap() error { return e.Err }

// ExitCode returns the code with which the command ends after the error.
func ExitCode(err error) int {
	var (
		reported  *fault.Fault
		usageErr  *UsageError
		dataErr   *DataError
		formatErr *dataset.Error
		gateErr   *GateError
		storeErr  *storage.Error
	)
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &usageErr):
		return ExitUsage
	case errors.As(err, &gateErr):
		return ExitGate
	case errors.Is(err, models.ErrBadModel):
		return ExitModel
	case errors.As(err, &reported):
		switch reported.Kind {
		case fault.Data, fault.Place:
			return ExitData
		case fault.Storage, fault.Damaged:
			return ExitStorage
		case fault.BadModel:
			return ExitModel
		case fault.Crash:
			return ExitCrash
		}
		return ExitInternal
	case errors.As(err, &storeErr): // also in the error of a file that it kept from being read
		if storeErr.Refused() {
			return ExitData
		}
		return ExitStorage
	case errors.As(err, &dataErr), errors.As(err, &formatErr):
		return ExitData
	}
	return ExitInternal
}

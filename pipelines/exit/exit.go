package exit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// Code is an exit code of the command.
type Code int

// Exit codes of the command.
const (
	CodeOK          Code = 0
	CodeFailed      Code = 1  // the runner failed or lost a worker
	CodeUsage       Code = 2  // wrong flags
	CodeData        Code = 3  // data was refused, or a place cannot be written to: fix it and run again
	CodeGate        Code = 4  // a score did not pass --gate
	CodeStorage     Code = 5  // the storage failed: running again may help
	CodeModel       Code = 6  // a model directory is damaged or too new
	CodeCrash       Code = 7  // the program itself failed, in a panic, or ran out of memory
	CodeRefused     Code = 8  // retrain: the data of the day was refused, and no model was made
	CodeNothing     Code = 9  // retrain: no new data, and no model was made
	CodeLost        Code = 10 // retrain: another run was faster, or is still running
	CodeInterrupted Code = 130
)

// UsageError means that options are wrong. Its text names them by the flags of the command: --max_bad_fraction is
// the field MaxBadFraction.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// DataError means that the data cannot be used.
type DataError struct{ Err error }

func (e *DataError) Error() string { return e.Err.Error() }
func (e *DataError) Unwrap() error { return e.Err }

// Dataf returns a DataError.
func Dataf(format string, args ...any) error { return &DataError{fmt.Errorf(format, args...)} }

// GateError means that a condition on scores was not met.
type GateError struct{ Message string }

func (e *GateError) Error() string { return e.Message }

// NotPassed returns a GateError that names the failed conditions, or nil if there are none.
func NotPassed(failed []string) error {
	if len(failed) == 0 {
		return nil
	}
	return &GateError{Message: "gate not passed: " + strings.Join(failed, "; ")}
}

// OutcomeError is the outcome of a retraining that promoted no model, with its exit code.
type OutcomeError struct {
	Code    Code
	Message string
}

func (e *OutcomeError) Error() string { return e.Message }

// ResumableError means that a place cannot be written to, but the finished work of the job is kept.
type ResumableError struct {
	Err  error
	Work string // directory
	Same bool   // the same command continues without --resume
}

func (e *ResumableError) Error() string {
	if e.Same {
		return fmt.Sprintf("%v\nthe finished part is in %s: the same command continues from there", e.Err, e.Work)
	}
	return fmt.Sprintf("%v\nthe finished part is in %s: the same command with --resume continues from there; to create "+
		"the result elsewhere, also add --work %[2]s", e.Err, e.Work)
}
func (e *ResumableError) Unwrap() error { return e.Err }

// DoneError means that a job has published its output, but failed to write or print something else.
type DoneError struct {
	Err error
	Out string // directory that the job created; "" if unknown
}

func (e *DoneError) Error() string {
	if e.Out == "" {
		return fmt.Sprintf("%v\nthe job itself is done", e.Err)
	}
	return fmt.Sprintf("%v\n%s is complete", e.Err, e.Out)
}
func (e *DoneError) Unwrap() error { return e.Err }

// AfterPublish returns a DoneError if err is not nil.
func AfterPublish(out string, err error) error {
	if err == nil {
		return nil
	}
	return &DoneError{err, out}
}

// WriteFailed reports whether the job failed because a place could not be written to, or access was denied.
func WriteFailed(err error) bool {
	if reported, ok := errors.AsType[*fault.Fault](err); ok {
		return reported.Kind == fault.Place
	}
	failed, ok := errors.AsType[*storage.Error](err)
	return ok && (failed.Writing() || failed.Denied())
}

// Damaged reports whether the job failed because state in the work directory is damaged. The part
// that wrote it must run again.
func Damaged(err error) bool {
	reported, ok := errors.AsType[*fault.Fault](err)
	return errors.Is(err, storage.ErrDamaged) || ok && reported.Kind == fault.Damaged
}

// RunnerError means that a runner failed or lost a worker, for a reason other than the data or
// the storage. Running the job again may help.
type RunnerError struct {
	Runner string
	Err    error
}

func (e *RunnerError) Error() string { return fmt.Sprintf("pipelines: runner %s: %v", e.Runner, e.Err) }
func (e *RunnerError) Unwrap() error { return e.Err }

// faultCodes holds the exit codes of faults that workers report. Other faults have CodeFailed.
var faultCodes = map[fault.Kind]Code{
	fault.Data: CodeData, fault.Place: CodeData, fault.Storage: CodeStorage,
	fault.Damaged: CodeStorage, fault.Model: CodeModel, fault.Crash: CodeCrash,
}

// is reports whether an error is a T, or wraps one.
func is[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// HasResult reports whether a job returns its result together with the error, because the job is done: err is nil,
// a decision on the result, or about something that was to be written in addition.
func HasResult(err error) bool {
	return err == nil || is[*GateError](err) || is[*OutcomeError](err) || is[*DoneError](err)
}

// CodeOf returns the exit code for an error.
func CodeOf(err error) Code {
	outcome, noModel := errors.AsType[*OutcomeError](err)
	reported, inWorker := errors.AsType[*fault.Fault](err)
	stored, inStorage := errors.AsType[*storage.Error](err)
	switch {
	case err == nil:
		return CodeOK
	case errors.Is(err, context.Canceled):
		return CodeInterrupted
	case is[*UsageError](err):
		return CodeUsage
	case is[*GateError](err):
		return CodeGate
	case noModel:
		return outcome.Code
	case errors.Is(err, models.ErrBadModel):
		return CodeModel
	case inWorker:
		return cmp.Or(faultCodes[reported.Kind], CodeFailed)
	case inStorage: // also inside the error of a file that could not be read
		if stored.Refused() {
			return CodeData
		}
		return CodeStorage
	case is[*DataError](err), is[*dataset.Error](err):
		return CodeData
	}
	return CodeFailed
}

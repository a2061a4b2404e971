package transforms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/io/storage"
)

// Kind tells whose the fault of a failed pipeline is.
type Kind string

// The kinds of Fault.
const (
	Data     Kind = "data"     // the data, or where they are to go, cannot be used
	Storage  Kind = "storage"  // the storage failed; trying again may help
	BadModel Kind = "model"    // a model directory is damaged
	Internal Kind = "internal" // anything else
)

// Fault is an error of a worker in a form that survives the way through a
// runner, which passes errors on as text between texts of its own.
type Fault struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
}

func (f *Fault) Error() string { return f.Message }

const faultMark = "bochner-fault:"

// asFault wraps the error of a worker so that FindFault finds it again.
func asFault(kind Kind, err error) error {
	if err == nil {
		return nil
	}
	var e *storage.Error
	if errors.As(err, &e) && kind != BadModel {
		if kind = Storage; e.Refused() {
			kind = Data
		}
	}
	text, _ := json.Marshal(Fault{Kind: kind, Message: err.Error()})
	return fmt.Errorf("%s%s", faultMark, text)
}

// FindFault returns the fault that a worker reported, from the error of the
// runner; or the error itself where it holds none.
func FindFault(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	_, rest, found := strings.Cut(err.Error(), faultMark)
	if !found {
		return err
	}
	var f Fault
	// Runners may have quoted the text once more.
	for _, text := range []string{rest, strings.ReplaceAll(rest, `\"`, `"`)} {
		if json.NewDecoder(strings.NewReader(text)).Decode(&f) == nil && f.Message != "" {
			return &f
		}
	}
	return err
}

package exit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/transforms/fault"
)

func TestCodeMapsErrorsToExitCodes(t *testing.T) {
	broken := &storage.Error{Op: "read", Name: "f", Err: syscall.EIO}
	missing := &storage.Error{Op: "open", Name: "f", Err: fs.ErrNotExist}
	for _, c := range []struct {
		err  error
		want Code
	}{
		{nil, 0},
		{errors.New("boom"), 1},
		{&RunnerError{"prism", errors.New("boom")}, 1},
		{Usagef("bad flag"), 2},
		{Dataf("bad data"), 3},
		{&dataset.Error{Name: "f", Err: errors.New("bad")}, 3},
		{missing, 3},
		{&storage.Error{Op: "read", Name: "f", Err: &storage.ReasonError{Text: "403", Kind: fs.ErrPermission, FromServer: true}}, 3},
		{&dataset.Error{Name: "f", Err: missing}, 3},
		{&GateError{"not passed"}, 4},
		{errors.Join(&GateError{"not passed"}, nil), 4},
		{&OutcomeError{CodeRefused, "refused"}, 8},
		{broken, 5},
		{&dataset.Error{Name: "f", Err: fmt.Errorf("gzip: %w", broken)}, 5},
		{Dataf("first row: %w", broken), 5},
		{fmt.Errorf("%w: torn", models.ErrBadModel), 6},
		{&fault.Fault{Kind: fault.Data, Message: "m"}, 3},
		{&fault.Fault{Kind: fault.Storage, Message: "m"}, 5},
		{&fault.Fault{Kind: fault.Model, Message: "m"}, 6},
		{&fault.Fault{Kind: fault.Internal, Message: "m"}, 1},
		{context.Canceled, 130},
		{fmt.Errorf("draining: %w", context.DeadlineExceeded), 1}, // also of a time that the program gives itself
		{fmt.Errorf("reading: %w", context.Canceled), 130},
		{errors.Join(Usagef("x"), context.Canceled), 130},
	} {
		if got := CodeOf(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
		if c.err != nil {
			if got := CodeOf(fmt.Errorf("wrapped: %w", c.err)); got != c.want {
				t.Errorf("%v, wrapped: %d, want %d", c.err, got, c.want)
			}
		}
	}
}

// A file without read permission has no data error, so that a retraining does not leave it out as bad data.
func TestMissingRightsAreNotBadData(t *testing.T) {
	denied := &storage.Error{Op: "open", Name: "f",
		Err: &storage.ReasonError{Text: "403", Kind: fs.ErrPermission, FromServer: true}}
	found, _ := fault.Find(fault.Wrap(fault.Data, denied))
	for _, err := range []error{denied, found} {
		if !WriteFailed(err) || CodeOf(err) != CodeData {
			t.Errorf("%v: of a place %t, code %d", err, WriteFailed(err), CodeOf(err))
		}
	}
}

package fault

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/storage"
)

// hardTexts are messages that quoting, cutting and wrapping could harm.
var hardTexts = []string{
	"plain",
	`label "a\"b" is not one of the 3 classes`,
	"two\nlines\tand a tab",
	"σ = 7 ≥ 0, \x00 and \u2028",
	`{"kind":"data"} } "`,
	"bochner-fault: {",
	`C:\dir\n`,
	strings.Repeat("long ", 3000) + "end",
}

func TestFaultsSurviveRunnersText(t *testing.T) {
	for _, text := range hardTexts {
		for _, kind := range []Kind{Data, Storage, Model, Internal} {
			err := Wrap(kind, errors.New(text))
			if again := Wrap(Internal, err); again.Error() != err.Error() {
				t.Errorf("a fault was wrapped in another: %v", again)
			}
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%q: a person cannot read it in %v", text, err)
			}
			for name, wrapped := range map[string]error{
				"as it is":       err,
				"wrapped":        fmt.Errorf("rpc error: desc = bundle failed:\n\t%w\ncaused by: x", err),
				"quoted":         fmt.Errorf("failed: %q", err.Error()),
				"quoted twice":   fmt.Errorf("failed: %s", strconv.Quote(strconv.Quote(err.Error()))),
				"indented":       errors.New("job failed:\n" + strings.ReplaceAll(err.Error(), "\n", "\n\t\t") + "\ngoroutine 7"),
				"two, the first": errors.New(err.Error() + "\n" + Wrap(Internal, errors.New("other")).Error()),
			} {
				if f, ok := Find(wrapped); !ok || f.Kind != kind || f.Message != text {
					t.Errorf("%q, %s: got %v", text, name, f)
				}
			}
		}
	}
}

// A Fault that a worker has found in the report of another one is marked like any other error, and is not
// marked again.
func TestFaultThatIsReportedTwiceSurvives(t *testing.T) {
	reported := OfReports([]dataset.Report{{}, {Fault: "data.csv: has changed", Storage: true}})
	marked := Wrap(Internal, reported)
	got, ok := Find(errors.New("DoFn failed:\n\t" + marked.Error()))
	if !ok || *got != (Fault{Storage, "data.csv: has changed"}) {
		t.Errorf("%v of %v", got, marked)
	}
	if again := Wrap(Internal, fmt.Errorf("reader 1: %w", marked)); strings.Count(again.Error(), faultMark) != 1 {
		t.Errorf("marked twice: %v", again)
	}
}

func TestErrorsWithoutAFaultHaveNone(t *testing.T) {
	for _, err := range []error{
		nil, errors.New("boom"), errors.New("bochner-fault:"), errors.New("bochner-fault:!!! x"),
		errors.New("bochner-fault:AAAA x"),
		fmt.Errorf("%w: bochner-fault:", context.Canceled),
	} {
		if f, ok := Find(err); ok {
			t.Errorf("%v has the fault %v", err, f)
		}
	}
}

func TestStorageFaultsTellWhetherToRetry(t *testing.T) {
	for cause, want := range map[error]Kind{syscall.EIO: Storage, syscall.ENOSPC: Place,
		syscall.EACCES: Place, storage.ErrDamaged: Damaged} {
		err := fmt.Errorf("writing: %w", &storage.Error{Op: "create", Name: "x", Err: cause})
		if f, ok := Find(Wrap(Internal, err)); !ok || f.Kind != want {
			t.Errorf("%v: got %+v, want the kind %v", cause, f, want)
		}
		if f, ok := Find(Wrap(Model, err)); !ok || f.Kind != Model {
			t.Errorf("%v of a model: %+v", cause, f)
		}
	}
}

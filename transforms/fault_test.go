package transforms

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/internal/testing/prismtest"
	"github.com/bochner-ml/bochner/transforms/fault"
)

func init() {
	beam.RegisterDoFn(reflect.TypeFor[*failFn]())
}

// failFn fails with a fault, or panics.
type failFn struct {
	Text  string
	Panic bool
}

func (f *failFn) ProcessElement([]byte) (int, error) {
	if f.Panic {
		panic(f.Text)
	}
	return 0, fault.Wrap(fault.Data, errors.New(f.Text))
}

// hardText is a message that quoting, cutting and wrapping could harm.
var hardText = `label "a\"b" is not in {"kind":"data"} } ", C:\dir\n` + "\nσ = 7 ≥ 0,\ta tab, \x00 and \u2028\n" +
	strings.Repeat("long ", 3000) + "end"

func TestFaultsPassThroughRunners(t *testing.T) {
	for name, execute := range prismtest.Runners {
		for _, text := range []string{"plain", "bochner-fault: {", hardText} {
			p, s := beam.NewPipelineWithRoot()
			beam.ParDo(s, &failFn{Text: text}, beam.Impulse(s))
			_, err := execute(context.Background(), p)
			if f, ok := fault.Find(err); !ok || f.Kind != fault.Data || f.Message != text {
				t.Errorf("%s: %q: got %v", name, text, f)
			}
		}
		p, s := beam.NewPipelineWithRoot()
		beam.ParDo(s, &failFn{Text: "as a panic", Panic: true}, beam.Impulse(s))
		if _, err := execute(context.Background(), p); err == nil || !strings.Contains(err.Error(), "as a panic") {
			t.Errorf("%s: a panic gives %v", name, err)
		}
	}
}

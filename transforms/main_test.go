package transforms

import (
	"context"
	"os"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "transforms-test-") // prism leaves a file for each job
	if err != nil {
		panic(err)
	}
	os.Setenv("TMPDIR", dir)
	beamlog.SetLogger(silent{})
	beam.Init()
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// silent drops what Beam logs.
type silent struct{}

func (silent) Log(context.Context, beamlog.Severity, int, string) {}

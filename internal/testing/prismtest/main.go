//go:build unix

package prismtest

import (
	"context"
	"os"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	//lint:ignore SA1019 the direct runner is the fastest on one machine; nothing here depends on it alone
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct"
)

// Runners are the runners of this process.
var Runners = map[string]func(context.Context, *beam.Pipeline) (beam.PipelineResult, error){
	"direct": direct.Execute,
	"prism":  execute,
}

// Main runs the tests of a package that runs pipelines, and ends the process. Beam logs
// nothing, and the files that prism leaves are removed.
func Main(m *testing.M) {
	dir, err := os.MkdirTemp("", "pipelines-test-")
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

package engine

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/storage/gcs"
)

// emulatorOption is the pipeline option that tells workers, which are started
// without the flags of the program, what UseStorageEmulator was told.
const emulatorOption = "storage_emulator"

// UseStorageEmulator has gs:// mean a server for tests at host:port, which is asked
// without credentials, in this process and in the workers of its jobs.
func UseStorageEmulator(address string) { beam.PipelineOptions.Set(emulatorOption, address) }

func init() {
	gcs.UseEmulator(func() string { return beam.PipelineOptions.Get(emulatorOption) })
}

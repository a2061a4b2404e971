package remote

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/bochner-ml/bochner/io/storage/gcs"
)

// emulatorOption is the pipeline option that passes the address of UseStorageEmulator to workers,
// which do not get the program's flags.
const emulatorOption = "storage_emulator"

// UseStorageEmulator has this process and the workers of its jobs send requests for gs:// to a test
// server at address, a host:port, without credentials.
func UseStorageEmulator(address string) { beam.PipelineOptions.Set(emulatorOption, address) }

func init() {
	gcs.UseEmulator(func() string { return beam.PipelineOptions.Get(emulatorOption) })
}

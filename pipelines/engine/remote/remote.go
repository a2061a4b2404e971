// Package remote registers the runners whose workers are not in this process: universal and flink,
// which submit jobs to a job server, and dataflow. A program imports it to have them. They take
// their options from Beam's flags, such as --endpoint and --project.
package remote

import (
	"debug/elf"
	"fmt"
	"os"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/bochner-ml/bochner/io/storage/gcs"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// readers is the default number of readers on a cluster.
const readers = 8

// executable returns the path of this program; tests replace it.
var executable = os.Executable

// workerBinary returns the path of the program that a runner starts as a worker: --worker_binary,
// or this program. By default Beam would compile the source, which is usually not available.
func workerBinary() (string, error) {
	if binary := *jobopts.WorkerBinary; binary != "" {
		return binary, nil
	}
	binary, err := executable()
	if err != nil {
		return "", fmt.Errorf(
			"pipelines: cannot find this program to start it on workers: %w; give a binary with --worker_binary", err)
	}
	return binary, nil
}

// checkStatic refuses a program for Linux that needs shared libraries, and returns its
// architecture. linux is false for other files.
func checkStatic(binary string) (machine elf.Machine, linux bool, err error) {
	f, err := elf.Open(binary)
	if err != nil {
		return 0, false, nil
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return 0, true, exit.Usagef(
				"%s needs shared libraries, which workers may not have: Go used the C compiler of the machine. "+
					"Build it with CGO_ENABLED=0 go install github.com/bochner-ml/bochner/pipelines/bochner@latest, or in a clone "+
					"with make build; or name a static build with --worker_binary", binary)
		}
	}
	return f.Machine, true, nil
}

// emulatorOption is the pipeline option that passes the address of UseStorageEmulator to workers,
// which do not get the program's flags.
const emulatorOption = "storage_emulator"

// UseStorageEmulator has this process and the workers of its jobs send requests for gs:// to a test
// server at address, a host:port, without credentials.
func UseStorageEmulator(address string) { beam.PipelineOptions.Set(emulatorOption, address) }

func init() {
	gcs.UseEmulator(func() string { return beam.PipelineOptions.Get(emulatorOption) })
}

package remote

import (
	"debug/elf"
	"fmt"
	"os"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"github.com/bochner-ml/bochner/pipelines/exit"
)

// self returns the file of this program.
var self = os.Executable

// workerBinary returns the program that a runner starts as a worker: --worker_binary, or this
// program. Without it Beam would compile the source, which is usually not available.
func workerBinary() (string, error) {
	if binary := *jobopts.WorkerBinary; binary != "" {
		return binary, nil
	}
	binary, err := self()
	if err != nil {
		return "", fmt.Errorf(
			"pipelines: cannot find this program to start it on workers: %w; give a binary with --worker_binary", err)
	}
	return binary, nil
}

// static refuses a program for Linux that needs shared libraries. It returns the machine of a
// program for Linux.
func static(binary string) (machine elf.Machine, linux bool, err error) {
	f, err := elf.Open(binary)
	if err != nil {
		return 0, false, nil
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return 0, true, exit.Usage(
				"%s needs shared libraries, which workers may not have: Go used the C compiler of the machine. "+
					"Build it with CGO_ENABLED=0 go install github.com/bochner-ml/bochner/pipelines/bochner@latest, or in a clone with make build; "+
					"or name a static build with --worker_binary", binary)
		}
	}
	return f.Machine, true, nil
}

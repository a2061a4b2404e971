package engine

import (
	"debug/elf"
	"fmt"
	"os"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"github.com/bochner-ml/bochner/pipelines/exit"
)

// workerBinary returns the program that a runner is to start as a worker: the one named by
// --worker_binary, or else this program itself. Without it Beam would compile the source,
// which is not at hand where the program runs.
func workerBinary() (string, error) {
	if binary := *jobopts.WorkerBinary; binary != "" {
		return binary, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("pipelines: cannot find this program to give it to workers: %w; name a binary with --worker_binary", err)
	}
	return self, nil
}

// static refuses a program for Linux that needs shared libraries. It returns the machine
// that the program is for, if it is one for Linux.
func static(binary string) (machine elf.Machine, linux bool, err error) {
	f, err := elf.Open(binary)
	if err != nil {
		return 0, false, nil
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return 0, true, exit.Usage("%s is linked with shared libraries that workers may not have: build it with CGO_ENABLED=0, or name another with --worker_binary", binary)
		}
	}
	return f.Machine, true, nil
}

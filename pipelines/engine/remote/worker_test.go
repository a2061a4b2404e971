package remote

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"github.com/bochner-ml/bochner/pipelines/engine"
	"github.com/bochner-ml/bochner/pipelines/exit"
)

// program writes the headers of a program for Linux.
func program(t *testing.T, segment elf.ProgType) string {
	t.Helper()
	var b bytes.Buffer
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: 64, Ehsize: 64,
		Phentsize: 56, Phnum: 1}
	copy(h.Ident[:], elf.ELFMAG+"\x02\x01\x01") // 64 bits, little endian, version 1
	for _, header := range []any{h, elf.Prog64{Type: uint32(segment)}} {
		if err := binary.Write(&b, binary.LittleEndian, header); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(t.TempDir(), "bochner")
	if err := os.WriteFile(name, b.Bytes(), 0o777); err != nil {
		t.Fatal(err)
	}
	return name
}

// A dynamically linked program, as go install makes on a machine with a C compiler, is rejected for workers.
func TestDynamicBinaryIsRejectedForWorkers(t *testing.T) {
	*jobopts.Endpoint = "127.0.0.1:1" // nobody listens there
	defer func() {
		*jobopts.Endpoint, *jobopts.WorkerBinary, *jobopts.EnvironmentType, executable = "", "", "", os.Executable
	}()
	for _, test := range []struct {
		name        string
		segment     elf.ProgType
		environment string
		code        exit.Code
		want        string
	}{
		{"shared libraries", elf.PT_INTERP, "EXTERNAL", exit.CodeUsage, "CGO_ENABLED=0 go install github.com/bochner-ml"},
		{"static", elf.PT_LOAD, "EXTERNAL", exit.CodeFailed, "no job server at --endpoint 127.0.0.1:1"},
		{"this process is the worker", elf.PT_INTERP, "LOOPBACK", exit.CodeFailed, "no job server at --endpoint 127.0.0.1:1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := program(t, test.segment)
			executable = func() (string, error) { return file, nil }
			*jobopts.WorkerBinary, *jobopts.EnvironmentType = "", test.environment
			err := jobServer{engine.Flink}.Ready(t.Context(), engine.Engine{})
			if exit.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.want) {
				t.Errorf("code %d: %v", exit.CodeOf(err), err)
			}
		})
	}
}

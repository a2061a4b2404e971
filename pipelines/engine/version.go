package engine

import (
	"runtime"
	"runtime/debug"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/transforms"
)

// version is that of the program; the linker may set it.
var version = "0.1.0"

// Version returns the version of the program.
func Version() string { return version }

// Program names the build: what one has left in a work directory is not for another,
// which may compute otherwise.
func Program() string { return version + " " + transforms.Build() }

// BuildInfo tells what a program is made of.
type BuildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`   // empty where the program was built without version control
	Modified bool   `json:"modified,omitempty"` // whether the files were those of the commit and others
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	CPU      string `json:"cpu"` // level of the processor that the kernels use: avx512, avx2, go
}

// Build returns what this program is made of.
func Build() BuildInfo {
	b := BuildInfo{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: blas.Level()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

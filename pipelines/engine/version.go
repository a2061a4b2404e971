package engine

import (
	"runtime"
	"runtime/debug"

	"github.com/bochner-ml/bochner/internal/blas"
	"github.com/bochner-ml/bochner/transforms"
)

// version is the program's version; the linker may set it.
var version = "0.1.0"

// Version returns the version of the program.
func Version() string { return version }

// Program identifies the build. A build continues only from state that it has written itself,
// because another build may compute differently.
func Program() string { return version + " " + transforms.Build() }

// BuildInfo describes the build of a program.
type BuildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`   // empty if the program was built without version control
	Modified bool   `json:"modified,omitempty"` // whether there were uncommitted changes
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	CPU      string `json:"cpu"` // instruction set of the linear algebra: avx512, avx2, go
}

// Build returns the description of this build.
func Build() BuildInfo {
	b := BuildInfo{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: blas.ISA()}
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

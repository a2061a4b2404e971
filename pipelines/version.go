package pipelines

import "github.com/bochner-ml/bochner/transforms"

// version is that of the program; the linker may set it.
var version = "0.1.0"

// Version returns the version of the program.
func Version() string { return version }

// program names the build: what one has left in a work directory is not for another,
// which may compute otherwise.
func program() string { return version + " " + transforms.Build() }

package pipelines

// version is that of the program; the linker may set it.
var version = "0.1.0"

// Version returns the version of the program.
func Version() string { return version }

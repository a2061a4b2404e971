package transforms

import "runtime/debug"

// build is the name of the build, if the linker sets it.
var build string

// Build names the build of this program: as set by the linker, or by the version of its
// module, which Go derives from the tag or commit. It is empty if unknown, as in a build
// without version control.
func Build() string {
	if build != "" {
		return build
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return ""
}

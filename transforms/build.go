package transforms

import "runtime/debug"

// build is the name of the build where the linker sets it.
var build string

// Build names the build of this program: as the linker was told, or by the version of
// its module, which Go makes of the tag or commit that it is built from. It is empty
// where nobody knows, as in a build without version control.
func Build() string {
	if build != "" {
		return build
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return ""
}

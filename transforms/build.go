package transforms

import (
	"runtime/debug"
	"sync"
)

// Build names the build of this program: the commit that it was built from, with
// "-modified" behind it where files differed from that, or the version of its module.
// It is empty where the program knows neither, as a test's.
var Build = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var commit, modified string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "-modified"
		}
	}
	if commit != "" {
		return commit + modified
	}
	if info.Main.Version == "(devel)" {
		return ""
	}
	return info.Main.Version
})

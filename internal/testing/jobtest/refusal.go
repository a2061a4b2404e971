package jobtest

import (
	"strings"
	"testing"
)

// IsRefusal checks that a command printed why it refused in words that a person can act on, the given
// ones among them, and no result.
func IsRefusal(t testing.TB, stdout, stderr string, words ...string) {
	t.Helper()
	wrong := func(format string, args ...any) {
		t.Helper()
		t.Errorf(format+"\n%s", append(args, stderr)...)
	}
	if stdout != "" {
		wrong("a result was printed: %q", stdout)
	}
	for _, w := range words {
		if !strings.Contains(stderr, w) {
			wrong("the message lacks %q", w)
		}
	}
	for _, noise := range []string{
		"panic", "goroutine ", ".go:", "beam", "bundle", "bochner-fault", "%!", "\t", "csvio: ", "dataset: ", "idxio: ",
		"jsonlio: ", "models: models", "pipelines: ", "storage: ",
	} {
		if strings.Contains(stderr, noise) {
			wrong("the message has %q in it", noise)
		}
	}
	if lines := strings.Count(stderr, "\n"); lines < 1 || lines > 3 || !strings.HasPrefix(stderr, "bochner: ") {
		wrong("a message of %d lines, want one to three that begin with the program's name", lines)
	}
}

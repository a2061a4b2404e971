// Package campaign decides how much of a long test is run.
package campaign

import (
	"flag"
	"os"
	"testing"
)

// Whole reports whether tests are to run as a whole, which make test-long asks for.
func Whole() bool { return os.Getenv("BOCHNER_LONG") != "" }

// Pick returns the size of a test: short, or whole if tests run as a whole.
func Pick(short, whole int) int {
	if Whole() {
		return whole
	}
	return short
}

// Chosen reports whether a test is to run that make test leaves to make test-long: tests run as a
// whole, or -run names some.
func Chosen() bool { return Whole() || flag.Lookup("test.run").Value.String() != "" }

// Long skips a test that is not Chosen. Cheaper tests assert most of its claim.
func Long(t testing.TB) {
	t.Helper()
	if !Chosen() {
		t.Skip("make test-long runs it, and go test -run")
	}
}

// Package campaign says how much of a long test is run.
package campaign

import "os"

// Whole tells whether tests are to run as a whole, which make test-long asks for.
func Whole() bool { return os.Getenv("BOCHNER_LONG") != "" }

// Of returns the size of a test: short, or whole if tests run as a whole.
func Of(short, whole int) int {
	if Whole() {
		return whole
	}
	return short
}

package stattest

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var (
	instruction = regexp.MustCompile(`\((.*)\.go:\d+\)\t(F[A-Z]+)\s`)
	fused       = regexp.MustCompile("^FN?M(ADD|SUB)")
)

// NoFusedMultiplyAdd fails the test if the package in the working directory,
// compiled for arm64, holds a fused multiply-add anywhere but in the files of
// these names, without .go. Go's compiler fuses a product that is not rounded
// explicitly with the sum it is part of, where the processor can, and results
// would then differ between processors.
func NoFusedMultiplyAdd(t *testing.T, except ...string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-gcflags=-S", ".")
	cmd.Env = append(cmd.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	multiplies := false
	for line := range bytes.Lines(out) {
		if !bytes.Contains(line, []byte("\tF")) {
			continue // of most lines this is soon known
		}
		l := instruction.FindSubmatch(line)
		if l == nil {
			continue
		}
		multiplies = multiplies || string(l[2]) == "FMULD"
		if fused.Match(l[2]) && !slices.Contains(except, filepath.Base(string(l[1]))) {
			t.Errorf("%s", line)
		}
	}
	if !multiplies {
		t.Error("found no multiplication in the listing")
	}
}

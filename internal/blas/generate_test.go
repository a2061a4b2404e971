//go:build amd64 && !purego

package blas

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestAssemblyMatchesTheGenerator runs when the generator's own modules are
// at hand; it does not download them. BLAS_GENERATE=1 makes that a failure.
func TestAssemblyMatchesTheGenerator(t *testing.T) {
	goTool := func(env string, args ...string) ([]byte, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = "_asm"
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", env)
		return cmd.CombinedOutput()
	}
	must := os.Getenv("BLAS_GENERATE") != ""
	env := "GOPROXY=off"
	if must {
		env = "BLAS_GENERATE=1"
	}
	if out, err := goTool(env, "build", "-o", os.DevNull, "."); err != nil {
		if must {
			t.Fatalf("the generator does not build: %v\n%s", err, out)
		}
		t.Skipf("the generator's modules are not in the module cache; BLAS_GENERATE=1 fetches them: %v\n%s", err, out)
	}
	// The command line is part of the generated files, so the paths must be those
	// of go:generate: the files are made beside a copy of the generator.
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "_asm"), os.DirFS("_asm")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", ".", "-out", "../kernels_amd64.s", "-stubs", "../kernels_amd64.go", "-pkg", "blas")
	cmd.Dir = filepath.Join(dir, "_asm")
	cmd.Env = append(os.Environ(), "GOWORK=off", env)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"kernels_amd64.s", "kernels_amd64.go"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes; run go generate", name)
		}
	}
}

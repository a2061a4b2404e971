//go:build !purego

package blas

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestAssemblyMatchesTheGenerator runs when the generator's own modules are
// at hand; it does not download them. BLAS_GENERATE=1 makes that a failure.
func TestAssemblyMatchesTheGenerator(t *testing.T) {
	mustGenerate(t, "_asm", "kernels_amd64", "-pkg", "blas")
}

func TestAssemblyOfArm64MatchesTheGenerator(t *testing.T) { mustGenerate(t, "_neon", "kernels_arm64") }

func mustGenerate(t *testing.T, generator, name string, args ...string) {
	if os.Getenv("BOCHNER_TEST_EXEC") != "" {
		t.Skip("an emulated program has no Go to build with")
	}
	goTool := func(dir, env string, args ...string) ([]byte, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", env)
		return cmd.CombinedOutput()
	}
	must := os.Getenv("BLAS_GENERATE") != ""
	env := "GOPROXY=off"
	if must {
		env = "BLAS_GENERATE=1"
	}
	if out, err := goTool(generator, env, "build", "-o", os.DevNull, "."); err != nil {
		if must {
			t.Fatalf("the generator does not build: %v\n%s", err, out)
		}
		t.Skipf("the generator's modules are not in the module cache; BLAS_GENERATE=1 fetches them: %v\n%s", err, out)
	}
	// The command line is part of the generated files, so the paths must be those
	// of go:generate: the files are made beside a copy of the generator.
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, generator), os.DirFS(generator)); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"run", ".", "-out", "../" + name + ".s", "-stubs", "../" + name + ".go"}, args...)
	if out, err := goTool(filepath.Join(dir, generator), env, args...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, file := range []string{name + ".s", name + ".go"} {
		got, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes; run go generate", file)
		}
	}
}

// The assembly for arm64 is words, with the instruction beside each.
func TestWordsAreTheInstructionsBesideThem(t *testing.T) {
	const tool = "aarch64-linux-gnu-"
	if _, err := exec.LookPath(tool + "as"); err != nil {
		t.Skip("the GNU assembler for aarch64 is missing; install it (Debian, Ubuntu: apt-get install binutils-aarch64-linux-gnu)")
	}
	text, err := os.ReadFile("kernels_arm64.s")
	if err != nil {
		t.Fatal(err)
	}
	var source bytes.Buffer
	lines := regexp.MustCompile(`(?m)^\tWORD \$0x([0-9a-f]{8}) // (.*)$`).FindAllSubmatch(text, -1)
	if n := bytes.Count(text, []byte("WORD")); len(lines) != n || n < 1000 {
		t.Fatalf("%d of %d words have an instruction beside them", len(lines), n)
	}
	for _, line := range lines {
		source.Write(append(line[2], '\n'))
	}
	dir := t.TempDir()
	from, object, raw := filepath.Join(dir, "k.s"), filepath.Join(dir, "k.o"), filepath.Join(dir, "k.bin")
	if err := os.WriteFile(from, source.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{tool + "as", "-march=armv8.2-a+dotprod+i8mm", "-o", object, from},
		{tool + "objcopy", "-O", "binary", "-j", ".text", object, raw}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	want, err := os.ReadFile(raw)
	if err != nil || len(want) != 4*len(lines) {
		t.Fatalf("%d bytes of code for %d instructions: %v", len(want), len(lines), err)
	}
	for i, line := range lines {
		word, _ := strconv.ParseUint(string(line[1]), 16, 32)
		b := want[4*i:]
		if assembled := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24; word != assembled {
			t.Errorf("%s is %#08x, want %#08x", line[2], word, assembled)
		}
	}
}

//go:build !purego

package blas

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
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
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly -trimpath", env)
		return cmd.CombinedOutput()
	}
	must := os.Getenv("BLAS_GENERATE") != ""
	env := "GOPROXY=off"
	if must {
		env = "BLAS_GENERATE=1"
	}
	if out, err := goTool(generator, env, "list", "-deps", "."); err != nil {
		if must {
			t.Fatalf("the generator's modules are missing: %v\n%s", err, out)
		}
		t.Skipf("the generator's modules are not in the module cache; BLAS_GENERATE=1 fetches them: %v\n%s", err, out)
	}
	// The command line is part of the generated files, so the paths must be those
	// of go:generate: the files are made next to a copy of the generator.
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

// Each word of the assembly for arm64 encodes the instruction in its comment.
func TestEncodedWordsMatchTheAssembly(t *testing.T) {
	var code, source []byte
	for _, line := range lines(t, "kernels_arm64.s", "WORD", `\tWORD \$0x([0-9a-f]{8}) // (.*)\n`, 1000) {
		code = append(code, unhex(line[1], 4)...)
		source = append(append(source, line[2]...), '\n')
	}
	mustAssemble(t, code, source, "aarch64-linux-gnu-", "binutils-aarch64-linux-gnu", "-march=armv8.2-a+dotprod+i8mm")
}

// The bytes of each dot product of AVX-VNNI encode the instruction in the comment above them.
func TestEncodedBytesMatchTheAssembly(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the GNU assembler of this machine is for another")
	}
	var code, source []byte
	form := `\t// (\{vex\} .*)\n\tLONG +\$0x([0-9a-f]{8})\n\tBYTE +\$0x([0-9a-f]{2})\n`
	for _, line := range lines(t, "kernels_amd64.s", "LONG", form, 20) {
		code = append(append(code, unhex(line[2], 4)...), unhex(line[3], 1)...)
		source = append(append(source, line[1]...), '\n')
	}
	mustAssemble(t, code, source, "", "binutils")
}

// lines returns the matches of a form in a file, which all lines with a word must have.
func lines(t *testing.T, name, word, form string, least int) [][][]byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(form).FindAllSubmatch(text, -1)
	if n := bytes.Count(text, []byte("\t"+word)); len(found) != n || n < least {
		t.Fatalf("%s: %d of %d %ss have an instruction beside them", name, len(found), n, word)
	}
	return found
}

// unhex returns a number as bytes, the lowest first.
func unhex(digits []byte, size int) []byte {
	v, _ := strconv.ParseUint(string(digits), 16, 32)
	return binary.LittleEndian.AppendUint32(nil, uint32(v))[:size]
}

// mustAssemble compares code with what the GNU assembler makes of its source.
func mustAssemble(t *testing.T, code, source []byte, prefix, pkg string, flags ...string) {
	t.Helper()
	if _, err := exec.LookPath(prefix + "as"); err != nil {
		t.Skipf("%sas is missing; install it (Debian, Ubuntu: apt-get install %s)", prefix, pkg)
	}
	dir := t.TempDir()
	from, object, raw := filepath.Join(dir, "k.s"), filepath.Join(dir, "k.o"), filepath.Join(dir, "k.bin")
	if err := os.WriteFile(from, source, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{append([]string{prefix + "as", "-o", object, from}, flags...),
		{prefix + "objcopy", "-O", "binary", "-j", ".text", object, raw}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	want, err := os.ReadFile(raw)
	if err != nil || len(want) != len(code) {
		t.Fatalf("%d bytes of code, %d assembled: %v", len(code), len(want), err)
	}
	instructions := bytes.Split(source, []byte("\n"))
	size := len(code) / (len(instructions) - 1)
	for i := range len(instructions) - 1 {
		if got, want := code[i*size:][:size], want[i*size:][:size]; !bytes.Equal(got, want) {
			t.Errorf("%s is % x, want % x", instructions[i], got, want)
		}
	}
}

package blas

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestEnvironmentForcesAnISA(t *testing.T) {
	if os.Getenv("BLAS_TEST_TELL_LEVEL") != "" {
		os.Stdout.WriteString("level=" + ISA() + ";")
		return
	}
	tell := func(name string) string {
		args := []string{os.Args[0], "-test.run=^TestEnvironmentForcesAnISA$"}
		if emulator := os.Getenv("BOCHNER_TEST_EXEC"); emulator != "" {
			args = append([]string{emulator}, args...)
		}
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "BLAS_TEST_TELL_LEVEL=1", "BOCHNER_CPU="+name)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		_, s, _ := strings.Cut(string(out), "level=")
		s, _, _ = strings.Cut(s, ";")
		return s
	}
	for _, name := range ISAs() {
		if got := tell(name); got != name {
			t.Errorf("BOCHNER_CPU=%s gave %q", name, got)
		}
	}
	for _, name := range []string{"", "mmx", "AVX2"} {
		if got := tell(name); got != ISAs()[0] {
			t.Errorf("BOCHNER_CPU=%q gave %q, want the best level %q", name, got, ISAs()[0])
		}
	}
}

// The CPU gives the instruction sets; BLAS_TEST_LEVELS lists the instruction sets of an emulated one.
func TestISAsMatchTheCPU(t *testing.T) {
	want := os.Getenv("BLAS_TEST_LEVELS")
	if want == "" {
		t.Skip("BLAS_TEST_LEVELS does not say what this CPU has")
	}
	if got := strings.Join(ISAs(), ","); got != want {
		t.Errorf("levels %s, want %s", got, want)
	}
}

func TestSetISAListsISAs(t *testing.T) {
	was := ISA()
	err := SetISA("mmx")
	if err == nil || !strings.Contains(err.Error(), `"mmx"`) || !strings.Contains(err.Error(), "go") {
		t.Errorf("SetISA of an unknown name: %v", err)
	}
	if ISA() != was {
		t.Errorf("the level became %q", ISA())
	}
	if names := ISAs(); names[len(names)-1] != "go" || !slices.Contains(names, was) {
		t.Errorf("levels %q", names)
	}
	t.Logf("levels %q; plain Go fuses multiply-adds: %v", ISAs(), fused)
}

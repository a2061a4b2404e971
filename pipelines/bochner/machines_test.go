package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// machines are kinds of processors that emulators run programs for: their names for Go and in the names
// of the emulators, and CPUs that differ in what they have, with "" for the emulator's best.
var machines = []struct {
	goarch, emulator string
	cpus             []string
	env              []string // of one more run
}{
	{"arm64", "qemu-aarch64", []string{"", "neoverse-n1", "cortex-a57"}, []string{"BOCHNER_CPU=go"}},
	{"s390x", "qemu-s390x", []string{""}, nil},
	{"riscv64", "qemu-riscv64", []string{""}, nil},
	{"ppc64le", "qemu-ppc64le", []string{""}, nil},
}

// Models are the same on all machines. BOCHNER_MACHINES names the machines to emulate, such as arm64,s390x;
// programs for each are built, which takes minutes.
func TestOtherMachinesTrainTheSameModel(t *testing.T) {
	names := os.Getenv("BOCHNER_MACHINES")
	if names == "" {
		t.Skip("BOCHNER_MACHINES names no machine to emulate")
	}
	trainings := []struct {
		tb    table
		flags []string
	}{
		{generated(t, "moons", 300), []string{"--features", "96"}},
		{generated(t, "friedman", 300), []string{"--features", "64", "--kernel", "laplace", "--learner", "cg"}},
		{sparse(), []string{"--features", "64", "--kernel", "maxout", "--q", "4", "--learner", "sgd", "--rounds", "3"}},
	}
	var want []map[string]string
	for _, tr := range trainings {
		want = append(want, variant{}.train(t, tr.tb, tr.flags...))
	}
	native := binary
	defer func() { binary = native }()
	for _, name := range strings.Split(names, ",") {
		found := false
		for _, m := range machines {
			if m.goarch != name {
				continue
			}
			found = true
			emulator, err := exec.LookPath(m.emulator)
			if err != nil {
				t.Fatalf("%v; install it (Debian, Ubuntu: apt-get install qemu-user)", err)
			}
			dir := t.TempDir()
			t.Setenv("GOARCH", m.goarch)
			if err := build(filepath.Join(dir, "program")); err != nil {
				t.Fatal(err)
			}
			os.Unsetenv("GOARCH")
			binary = filepath.Join(dir, "emulated")
			write(t, dir, "emulated", "#!/bin/sh\nexec "+emulator+" '"+filepath.Join(dir, "program")+"' \"$@\"\n")
			if err := os.Chmod(binary, 0o755); err != nil {
				t.Fatal(err)
			}
			for i, cpu := range append(m.cpus, m.env...) {
				v := variant{name: name + " " + cpu, env: m.env}
				if i < len(m.cpus) {
					v.env = []string{"QEMU_CPU=" + cpu}
					if cpu == "" {
						v.env = []string{"GOARCH="} // not none, with which a command runs in this process
					}
				}
				for k, tr := range trainings {
					if k > 0 && i > 0 && i < len(m.cpus) {
						continue // these CPUs differ in products of bytes, which only ridge has
					}
					same(t, v.name+": "+tr.tb.name, want[k], v.train(t, tr.tb, tr.flags...))
				}
			}
		}
		if !found {
			t.Errorf("BOCHNER_MACHINES: no machine is called %q", name)
		}
	}
}

package main

import (
	"os"
	"testing"

	"github.com/bochner-ml/bochner/pipelines/command"
)

// asProgram has the binary of the tests be the program.
const asProgram = "BOCHNER_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(command.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// Through kills, new models, a broken one, a bad file and a bad row, every row is predicted once.
func TestAShortStream(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	short := trial{Binary: self, Env: []string{asProgram + "=1"}, Rows: 3000, PerFile: 50, Reloads: 2, Kills: 2, Runner: "direct", Dir: t.TempDir(), Log: t.Output()}
	if err := short.run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

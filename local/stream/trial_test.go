//go:build unix

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

// Through ten new models, kills of the stream and of its job server, a broken model, a bad file and a bad row, every row
// is predicted once.
func TestAShortStream(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, short := range []trial{
		{Runner: "direct", Reloads: 2, Kills: 2},
		{Runner: "universal", Reloads: 10, Kills: 3, Managers: 1},
	} {
		t.Run(short.Runner, func(t *testing.T) {
			short.Binary, short.Env, short.Rows, short.PerFile, short.Dir, short.Log = self, []string{asProgram + "=1"}, 3000, 50, t.TempDir(), t.Output()
			if err := short.run(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

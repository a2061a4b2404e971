//go:build unix

package main

import (
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/streamtrial"
)

// Through ten new models, kills of the stream and of its job server, a broken model, a bad file and a bad row, every row
// is predicted once.
func TestStreamPredictsEachRowOnceThroughKillsAndReloads(t *testing.T) {
	for _, short := range []streamtrial.Trial{
		{Runner: "direct", Reloads: 2, Kills: 2},
		{Runner: "universal", Reloads: 10, Kills: 3, Managers: 1},
	} {
		t.Run(short.Runner, func(t *testing.T) {
			short.Binary, short.Rows, short.PerFile, short.Dir, short.Log = binary, 3000, 50, t.TempDir(), t.Output()
			if err := short.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

package main

import (
	"testing"

	"github.com/bochner-ml/bochner/models/align"
)

func TestEveryRowIsHeldOutInOneOfFiveTrials(t *testing.T) {
	var d digits
	for i := range 23 {
		d.x, d.class = append(d.x, float32(i)), append(d.class, int32(i%2))
	}
	held := map[float32]int{}
	for trial := range 5 {
		rest, out := d.fifth(trial)
		if len(rest.x)+len(out.x) != 23 {
			t.Fatalf("trial %d: %d and %d rows of 23", trial, len(rest.x), len(out.x))
		}
		for i, v := range out.x {
			if held[v]++; out.class[i] != int32(v)%2 {
				t.Errorf("row %g has the class of another", v)
			}
		}
	}
	if len(held) < 20 { // the rows at the seam may be passed over
		t.Errorf("%d of 23 rows were held out", len(held))
	}
}

func TestHarmonicsAndFrequenciesThatWereLearnedTellClassesApart(t *testing.T) {
	g := game{rows: 800, chains: 20, steps: 20, gameC: 1, width: 1, c: 100}
	train, test, err := g.sets(t.Context(), "checkerboard", 1)
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := chosenHarmonics(train, 200, 60)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := judge(chosen, train, test, 100); err != nil || got < 97 {
		t.Errorf("checkerboard: %.2f %% with %d harmonics, %v", got, len(chosen.Terms), err)
	}

	if train, test, err = g.sets(t.Context(), "windmill", 1); err != nil {
		t.Fatal(err)
	}
	width := medianDistance(train.x, 2)
	found, err := g.play(train, 2, width, 40, 1)
	if err != nil {
		t.Fatal(err)
	}
	accuracy := func(w []float32) float64 {
		r, err := g.recipe(w, nil, 2, 40, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := judge(r, train, test, g.c)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if drawn, learned := accuracy(align.Propose(40, 2, width, 1)), accuracy(found); learned < drawn+3 || learned < 90 {
		t.Errorf("windmill: %.2f %% with learned frequencies, %.2f %% with drawn ones", learned, drawn)
	}
}

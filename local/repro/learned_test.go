package main

import (
	"testing"

	"github.com/bochner-ml/bochner/features/learned"
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

func TestLearnedHarmonicsSeparateClasses(t *testing.T) {
	g := game{chains: 20, steps: 20, rate: 1, gameC: 1, width: 1}
	train, test, err := sets(t.Context(), "checkerboard", 800, 1)
	if err != nil {
		t.Fatal(err)
	}
	chosen, _, err := align.Harmonics(train.rows(3, 2), 200, align.HarmonicOptions(1./800, 60), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := judge(chosen, train, test, 100); err != nil || got < 97 {
		t.Errorf("checkerboard: %.2f%% with %d harmonics, %v", got, len(chosen.Terms), err)
	}

	if train, test, err = sets(t.Context(), "windmill", 800, 1); err != nil {
		t.Fatal(err)
	}
	width := medianDistance(train.x, 2)
	found, err := g.play(train, 2, width, 40, 1)
	if err != nil {
		t.Fatal(err)
	}
	accuracy := func(w []float32) float64 {
		r, err := recipeOf(&learned.Frequencies{In: 2, Count: 40, W: w})
		if err != nil {
			t.Fatal(err)
		}
		got, err := judge(r, train, test, 100)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if drawn, learned := accuracy(align.Propose(40, 2, width, 1)), accuracy(found); learned < drawn+3 || learned < 90 {
		t.Errorf("windmill: %.2f%% with learned frequencies, %.2f%% with drawn ones", learned, drawn)
	}
}

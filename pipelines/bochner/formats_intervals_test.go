package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
)

// certainties are what another program reads of intervals, sets and novelty.
type certainties struct {
	Sketch    struct{ Leverage float64 }
	Intervals struct {
		Rows, Groups float64
		Scaled       bool
		Scores       [][]float64
	}
	u *outsider // with the weights of the sketch
}

func readCertainties(t *testing.T, dir string, m *outsider) *certainties {
	t.Helper()
	c := new(certainties)
	if err := json.Unmarshal([]byte(read(t, dir, "manifest.json")), c); err != nil {
		t.Fatal(err)
	}
	w := tensors(t, read(t, dir, "sketch.safetensors"))
	c.u = &outsider{Features: m.Features, weights: w["weights"], intercept: w["intercept"]}
	return c
}

func (c *certainties) novelty(phi []float64) (sum float64) {
	for _, t := range c.u.scores(phi) {
		sum += t * t
	}
	return sum
}

// score is q for a level and an output.
func (c *certainties) score(t *testing.T, level float64, output int) float64 {
	t.Helper()
	n, g := c.Intervals.Rows, c.Intervals.Groups
	if g == 0 {
		g = n
	}
	k := level * (n + n/g)
	if whole := math.Round(k); math.Abs(k-whole) < 1e-9*k {
		k = whole
	}
	place, at := n+1-math.Ceil(k), -1
	if place < 1 {
		t.Fatalf("no interval for %g", level)
	}
	for i := 1.0; i <= place; i += max(1, math.Floor(i/100)) {
		at++
	}
	return c.Intervals.Scores[output][at]
}

func TestAnotherProgramReadsIntervals(t *testing.T) {
	t.Parallel()
	for i, flags := range []string{
		"friedman --lambda 1e-3,1e-4",
		"friedman --lambda 1e-2,1e-3 --intervals plain --kernel linear",
		"moons --noise 0.5 --lambda 1e-4 --calibrate platt",
	} {
		dir, args := t.TempDir(), strings.Fields(flags)
		generate := []string{"generate", args[0], "--rows", "1200", "--out", "data.csv"}
		if args = args[1:]; args[0] == "--noise" {
			generate, args = append(generate, args[:2]...), args[2:]
		}
		must(t, dir, generate...)
		model := fmt.Sprint("model", i)
		if args[len(args)-1] != "linear" {
			args = append(args, "--features", "96")
		}
		must(t, dir, append([]string{"train", "--data", "data.csv", "--label", "y", "--search", "none", "--quiet",
			"--model", model}, args...)...)
		m := readOutsider(t, dir+"/"+model)
		c := readCertainties(t, dir+"/"+model, m)
		_, data := numbersOf(t, read(t, dir, "data.csv"))
		for _, level := range []float64{0.5, 0.9, 0.95} {
			said := must(t, dir, "predict", "--model", model, "--data", "data.csv", "--interval", fmt.Sprint(level), "--novelty",
				"--out", "-", "--quiet")
			records, err := csv.NewReader(strings.NewReader(said)).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			for n, row := range data {
				x := row[:len(row)-1]
				for i, v := range x {
					x[i] = float64(float32(v))
				}
				phi := m.Recipe.features(x)
				s, novelty := m.scores(phi), c.novelty(phi)
				got := records[n+1]
				near := func(what, text string, want, unit float64) {
					t.Helper()
					if v, err := strconv.ParseFloat(text, 64); err != nil || math.Abs(v-want) > 1e-4*unit {
						t.Fatalf("%s, level %g, row %d: %s %s, by the documents %g", flags, level, n, what, text, want)
					}
				}
				near("novelty", got[len(got)-1], novelty, max(1, novelty))
				if m.Task == "classification" {
					c.compareSet(t, m, s, level, got)
					continue
				}
				half := (m.TargetGrid.High - m.TargetGrid.Low) / 2
				w := c.score(t, level, 0)
				if c.Intervals.Scaled {
					w *= math.Sqrt(1 + c.Sketch.Leverage*novelty)
				}
				near("low", got[1], m.TargetGrid.Low+half+half*(s[0]-w), half)
				near("high", got[2], m.TargetGrid.Low+half+half*(s[0]+w), half)
			}
		}
	}
}

// compareSet compares a set with the one by the documents, unless a probability is at the edge.
func (c *certainties) compareSet(t *testing.T, m *outsider, s []float64, level float64, got []string) {
	t.Helper()
	var want []string
	least := -c.score(t, level, 0)
	for i, p := range m.probabilities(s) {
		if math.Abs(p-least) < 1e-5 {
			return
		}
		if name := m.Vocabulary.Classes[i]; p >= least || name == got[0] {
			want = append(want, name)
		}
	}
	if set := strings.Join(want, "|"); set != got[1] {
		t.Fatalf("level %g: the set %s, by the documents %s", level, got[1], set)
	}
}

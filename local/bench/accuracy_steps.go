//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// steps are the variations of the default that a search tries, in the order of the table.
var steps = []string{"width", "kernel", "view", "diagonal metric", "full metric", "two columns", "piecewise linear"}

// trial is a trial of a search, as search.json of a model has it.
type trial struct {
	candidate
	Rows   int     `json:"rows"`
	Loss   float64 `json:"loss"`
	Failed string  `json:"failed"`
}

type candidate struct {
	View      string  `json:"view"`
	Kernel    string  `json:"kernel"`
	Width     float64 `json:"width"`
	Metric    string  `json:"metric"`
	Rounds    int     `json:"rounds"`
	Pair      float64 `json:"pair"`
	Piecewise bool    `json:"piecewise_linear"`
}

// stepsOf returns the least held-out loss of each step's trials, as a ratio to the loss of the default
// candidate on as many rows. For features added to a kernel, it is the ratio to the loss of the same candidate
// without them. It is nil if the model has no search.
func stepsOf(model string) (map[string]float64, error) {
	text, err := os.ReadFile(filepath.Join(model, "search.json"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found struct {
		Default trial   `json:"default"`
		Trials  []trial `json:"trials"`
	}
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, err
	}
	type place struct {
		candidate
		rows int
	}
	loss := map[place]float64{}
	for _, t := range found.Trials {
		if t.Failed == "" {
			loss[place{t.candidate, t.Rows}] = t.Loss
		}
	}
	best := map[string]float64{}
	for p, v := range loss {
		step, beside := stepFrom(found.Default.candidate, p.candidate)
		if base, ok := loss[place{beside, p.rows}]; ok && step != "" {
			if ratio := v / base; best[step] == 0 || ratio < best[step] {
				best[step] = ratio
			}
		}
	}
	return best, nil
}

// stepFrom returns the name of the only property that a candidate changes, and the candidate to compare it
// with. The name is empty if it changes several. A metric may also change view, kernel and width.
func stepFrom(standard, c candidate) (name string, beside candidate) {
	beside = standard
	switch {
	case c.Piecewise:
		beside = c
		beside.Piecewise = false
		return "piecewise linear", beside
	case c.Pair > 0:
		beside = c
		beside.Pair = 0
		return "two columns", beside
	case c.Metric != "":
		return c.Metric + " metric", beside
	}
	changed := 0
	for what, differs := range map[string]bool{"width": c.Width != standard.Width, "kernel": c.Kernel != standard.Kernel,
		"view": c.View != standard.View} {
		if differs {
			name = what
			changed++
		}
	}
	if changed != 1 {
		return "", beside
	}
	return name, beside
}

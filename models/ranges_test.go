package models

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/score"
)

// inRounds is a classifier that was fitted in rounds, with all that a manifest can
// say of one.
func inRounds(t testing.TB) *Model {
	t.Helper()
	m := classifier(t)
	dual, gap := 0.125, 0.0625
	m.Manifest.Learner = Learner{Kind: "svm", Lambda: 0.001, Folds: 5, Log: &TrainingLog{
		Loss:       "hinge",
		Options:    json.RawMessage(`{"loss":"hinge","outputs":3,"dim":5,"rows":94,"lambda":0.001,"partitions":2}`),
		Partitions: 2, Rounds: 7, Ended: "a reason", Rows: 94, Objective: 0.1875, Optimality: Optimality{Dual: &dual, Gap: &gap},
		HeldOut: iterative.HeldOut{HeldOutRows: 24, HeldOutLoss: 0.5, HeldOutErrors: 3},
		Path: []LambdaTrial{{Lambda: 0.001, Rounds: 3, Objective: 0.25,
			HeldOut: iterative.HeldOut{HeldOutRows: 24, HeldOutLoss: 0.75, HeldOutErrors: 4}}},
	}}
	m.Manifest.Probabilities = &Probabilities{Kind: score.Platt, Curves: make([]score.CalibrationCurve, 3), Rows: 24,
		Folds: 5}
	return m
}

// A reader rejects a manifest with a number made negative, or a λ, count or size made enormous, unless that
// number may be anything.
func TestEveryNumberOfAManifestIsChecked(t *testing.T) {
	anything := map[string]bool{
		"learner.log.objective": true, "learner.log.dual": true, "learner.log.held_loss": true,
		"learner.log.path[].objective": true, "learner.log.path[].held_loss": true,
		"scores.accuracy": true, "scores.auc": true,
	}
	for _, model := range []*Model{classifier(t), inRounds(t)} {
		manifest, weights := encode(t, model)
		seen := map[string]bool{}
		eachNumber(manifest, func(path, now string, edited func(string) []byte) {
			seen[path] = true
			values := []string{"-1", "-9223372036854775808"}
			if _, err := strconv.ParseInt(now, 10, 64); err == nil && !strings.Contains(path, "table") &&
				path != "learner.folds" &&
				!strings.HasSuffix(path, "rounds") && path != "probabilities.folds" {
				values = append(values, "9223372036854775807")
			}
			for _, v := range values {
				if _, _, err := decode(seal(edited(v)), weights); (err == nil) != anything[path] {
					t.Errorf("%s: %s: %v", path, v, err)
				}
			}
		})
		if len(seen) < 15 {
			t.Errorf("numbers that were tried: %v", seen)
		}
	}
}

// eachNumber calls f for every number of a manifest, with its path and a function
// that returns the manifest with another one in its place.
func eachNumber(manifest []byte, f func(path, now string, edited func(string) []byte)) {
	d := json.NewDecoder(bytes.NewReader(manifest))
	d.UseNumber()
	type level struct {
		array, key bool
		name       string
	}
	var stack []level
	for {
		token, err := d.Token()
		if err != nil {
			return
		}
		top := len(stack) - 1
		switch v := token.(type) {
		case json.Delim:
			switch v {
			case '{', '[':
				stack = append(stack, level{array: v == '[', key: v == '{'})
				continue
			}
			stack = stack[:top]
			top--
		case string:
			if top >= 0 && !stack[top].array && stack[top].key {
				stack[top].name, stack[top].key = v, false
				continue
			}
		case json.Number:
			var path []string
			for _, l := range stack {
				if l.array {
					path[len(path)-1] += "[]"
				} else {
					path = append(path, l.name)
				}
			}
			end := int(d.InputOffset())
			start := end - len(v.String())
			if strings.Contains(strings.Join(path, "."), "input.options") ||
				strings.Contains(strings.Join(path, "."), "recipe.recipe") {
				break // the format's and the recipe's own
			}
			f(strings.Join(path, "."), v.String(), func(to string) []byte {
				return append(append(bytes.Clone(manifest[:start]), to...), manifest[end:]...)
			})
		}
		if top >= 0 && !stack[top].array {
			stack[top].key = true
		}
	}
}

func TestManifestsOfRoundsThatContradictThemselvesAreRejected(t *testing.T) {
	nan := math.NaN()
	for want, spoil := range map[string]func(m *Manifest){
		"the number of partitions must be 1 to 16384 (have 0)": func(m *Manifest) { m.Learner.Log.Partitions = 0 },
		"to 16384 (have -2)":                                   func(m *Manifest) { m.Learner.Log.Partitions = -2 },
		"to 16384 (have 1000000000)":                           func(m *Manifest) { m.Learner.Log.Partitions = 1e9 },
		"lambda is 0.001, elsewhere in the manifest it is 0":   func(m *Manifest) { m.Learner.Lambda = 0 },
		"loss is hinge, elsewhere in the manifest it is huber": func(m *Manifest) { m.Learner.Log.Loss = "huber" },
		"rows is 94, elsewhere in the manifest it is 90":       func(m *Manifest) { m.Learner.Log.Rows = 90 },
		"partitions is 2, elsewhere in the manifest it is 3":   func(m *Manifest) { m.Learner.Log.Partitions = 3 },
		"94 training rows and 25 held-out rows, of 118":        func(m *Manifest) { m.Learner.Log.HeldOutRows = 25 },
		"25 errors of 24 rows":                                 func(m *Manifest) { m.Learner.Log.HeldOutErrors = 25 },
		"a gap without a dual":                                 func(m *Manifest) { m.Learner.Log.Dual = nil },
		"lambda is NaN":                                        func(m *Manifest) { m.Learner.Lambda = nan },
		"no kind":                                              func(m *Manifest) { m.Learner.Kind = "" },
		"profile: classes have 117 rows, want 118":             func(m *Manifest) { m.Profile.ClassCounts[0]-- },
		"profile: 9223372036854775807 rows of class 1":         func(m *Manifest) { m.Profile.ClassCounts[1] = math.MaxInt64 },
		"probabilities fitted to 119 of 118 rows":              func(m *Manifest) { m.Probabilities.Rows = 119 },
		`an entry for "../x"`: func(m *Manifest) {
			m.Files = append(m.Files,
				NewFileEntry("../x", nil))
		},
		"two entries for weights.safetensors":                   func(m *Manifest) { m.Files = append(m.Files, m.Files[0]) },
		"which is not a SHA-256":                                func(m *Manifest) { m.Files[0].SHA256 = "abc" },
		"lambda 0.001: 3 rounds, 25 errors of 24 held-out rows": func(m *Manifest) { m.Learner.Log.Path[0].HeldOutErrors = 25 },
	} {
		m := inRounds(t)
		encode(t, m)
		spoil(m.Manifest)
		if _, err := m.Manifest.Encode(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

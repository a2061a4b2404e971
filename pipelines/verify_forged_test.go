package pipelines

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/learned"
	"github.com/bochner-ml/bochner/internal/testing/jobtest"
	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/models"
	"github.com/bochner-ml/bochner/models/iterative"
	"github.com/bochner-ml/bochner/models/score"
	"github.com/bochner-ml/bochner/models/svm"
	"github.com/bochner-ml/bochner/pipelines/exit"
	"github.com/bochner-ml/bochner/pipelines/internal/training"
	"github.com/bochner-ml/bochner/pipelines/options"
)

// forge writes a copy of a model with an edited manifest and a new checksum. It returns an error if
// no reader would take the manifest.
func forge(t *testing.T, from, to string, edit func(*models.Manifest)) error {
	t.Helper()
	m, err := models.CheckDir(jobtest.Ctx, from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	edit(m)
	if after, err := json.Marshal(m); err == nil && bytes.Equal(before, after) {
		t.Fatalf("the edit changes nothing in %s", to)
	}
	data, err := m.Encode()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, models.ManifestFile), data, 0o666)
}

// verified returns the text and JSON of a verification, without the model's name.
func verified(t *testing.T, dir string, data dataset.Options) (string, error) {
	t.Helper()
	v, err := VerifyOptimum(jobtest.Ctx, options.VerifyOptimum{Model: dir, Data: data})
	if err != nil {
		return "", err
	}
	if !v.Holds {
		t.Fatal("no error, and it does not hold")
	}
	v.Model = "model"
	j, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return jobtest.Text(t, v) + string(j), nil
}

// An edit forges a part of a manifest.
type edit = func(*models.Manifest)

// within replaces a text in the JSON of a recipe.
func within(t *testing.T, s *features.Sealed, old, new string) { replaceJSON(t, &s.JSON, old, new) }

// setting replaces a text in the options of the learner.
func setting(t *testing.T, old, new string) edit {
	return func(m *models.Manifest) { replaceJSON(t, &m.Learner.Log.Options, old, new) }
}

func replaceJSON(t *testing.T, data *json.RawMessage, old, new string) {
	var b bytes.Buffer
	if err := json.Compact(&b, *data); err != nil {
		t.Error(err)
	}
	if !bytes.Contains(b.Bytes(), []byte(old)) {
		t.Errorf("no %s in %s", old, b.Bytes())
	}
	*data = bytes.Replace(b.Bytes(), []byte(old), []byte(new), 1)
}

// both makes one edit of several.
func both(edits ...edit) edit {
	return func(m *models.Manifest) {
		for _, e := range edits {
			e(m)
		}
	}
}

func withoutFile(name string) edit {
	return func(m *models.Manifest) {
		m.Files = slices.DeleteFunc(m.Files, func(f models.FileEntry) bool { return f.Name == name })
	}
}

func withoutLambda(m *models.Manifest) { m.Learner.Lambda = 0 }

// editsOfSVM are edits of the model of any svm.
func editsOfSVM(t *testing.T) map[string]edit {
	return map[string]edit{
		"lambda":                withoutLambda,
		"lambda of the options": setting(t, `"lambda":0.001`, `"lambda":0.01`),
		"lambda everywhere": both(func(m *models.Manifest) { m.Learner.Lambda = 0.01 },
			setting(t, `"lambda":0.001`, `"lambda":0.01`)),
		"bias":                setting(t, `"bias":1`, `"bias":2`),
		"no intercept":        setting(t, `"bias":1`, `"bias":0`),
		"seed of the options": setting(t, `"seed":"3"`, `"seed":"4"`),
		"objective":           func(m *models.Manifest) { m.Learner.Log.Objective *= 1.001 },
		"objective and dual":  func(m *models.Manifest) { m.Learner.Log.Objective *= 0.9; *m.Learner.Log.Dual *= 0.9 },
		"dual":                func(m *models.Manifest) { *m.Learner.Log.Dual *= 1.001 },
		"gap":                 func(m *models.Manifest) { *m.Learner.Log.Gap /= 2 },
		"a larger gap":        func(m *models.Manifest) { *m.Learner.Log.Gap *= 2 },
		"no gap":              func(m *models.Manifest) { m.Learner.Log.Gap = nil },
		"no dual":             func(m *models.Manifest) { m.Learner.Log.Dual = nil },
		"rows learned from":   func(m *models.Manifest) { m.Learner.Log.Rows-- },
		"rows":                func(m *models.Manifest) { m.Rows.Used--; m.Rows.Read-- },
		"rows set aside":      func(m *models.Manifest) { m.Rows.Read++; m.Rows.SetAside++ },
		"rows held out":       func(m *models.Manifest) { m.Learner.Log.HeldOutRows ^= 1 },
		"partitions":          func(m *models.Manifest) { m.Learner.Log.Partitions = 1 },
		"no partitions":       func(m *models.Manifest) { m.Learner.Log.Partitions = 0 },
		"fewer than none":     func(m *models.Manifest) { m.Learner.Log.Partitions = -3 },
		"a thousand million":  func(m *models.Manifest) { m.Learner.Log.Partitions = 1e9 },
		"kind":                func(m *models.Manifest) { m.Learner.Kind = "ridge" },
		"rounds":              func(m *models.Manifest) { m.Learner.Log.Rounds += 7 },
		"why it ended":        func(m *models.Manifest) { m.Learner.Log.Ended = "the gap is 0" },
		"errors held out": func(m *models.Manifest) {
			m.Learner.Log.HeldOutLoss /= 2
			m.Learner.Log.HeldOutErrors /= 2
			m.Program = "v9"
		},
		"a path":                  func(m *models.Manifest) { m.Learner.Log.Path = []models.LambdaTrial{{Lambda: 1e-9}} },
		"folds":                   func(m *models.Manifest) { m.Learner.Folds += 2 },
		"seed":                    func(m *models.Manifest) { m.Seed++ },
		"width":                   func(m *models.Manifest) { m.Profile.Width *= 2 },
		"scores":                  func(m *models.Manifest) { m.Scores = map[string]float64{"accuracy": 1} },
		"fingerprint":             func(m *models.Manifest) { m.Fingerprint = strings.Repeat("0", 64) },
		"checksum of the weights": func(m *models.Manifest) { m.Files[0].SHA256 = strings.Repeat("0", 64) },
		"no state":                withoutFile(training.StateFile),
		"no dual variables":       withoutFile("dual-00001.safetensors"),
		"a column":                func(m *models.Manifest) { slices.Reverse(m.Input.Columns) },
	}
}

// editsOfClasses are edits of a classifier.
func editsOfClasses(t *testing.T) map[string]edit {
	return map[string]edit{
		"names of classes":  func(m *models.Manifest) { slices.Reverse(m.Vocabulary.Classes) },
		"a class":           func(m *models.Manifest) { m.Vocabulary.Classes[1] = "7" },
		"counts of classes": func(m *models.Manifest) { m.Profile.ClassCounts[0]--; m.Profile.ClassCounts[1]++ },
		"loss":              func(m *models.Manifest) { m.Learner.Log.Loss = "logistic" },
		"loss everywhere": both(func(m *models.Manifest) { m.Learner.Log.Loss = "logistic" },
			setting(t, `"loss":"hinge"`, `"loss":"logistic"`)),
		"probabilities": func(m *models.Manifest) { m.Probabilities = &models.Probabilities{Kind: models.Logistic} },
	}
}

func merged(all ...map[string]edit) map[string]edit {
	out := map[string]edit{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// For every edit of a manifest, verify rejects the model or prints word for word what it prints for the honest
// one: it trusts nothing that it prints.
func TestNoFieldOfAManifestIsCertifiedUnchecked(t *testing.T) {
	dir := t.TempDir()
	data := dataset.Options{Files: []string{jobtest.Write(t, dir, "data.csv",
		strings.Join(jobtest.Made(t, "moons", 300, 1), ""))}, Label: "y"}
	numbers := dataset.Options{Files: []string{jobtest.Write(t, dir, "numbers.csv",
		strings.Join(jobtest.Made(t, "friedman", 200, 1), ""))}, Label: "y"}
	always, classes := editsOfSVM(t), editsOfClasses(t)
	for name, c := range map[string]struct {
		data   dataset.Options
		change func(*options.Train)
		edits  map[string]edit
	}{
		"classes": {data, func(o *options.Train) {}, merged(always, classes, map[string]edit{
			"seed of the features": func(m *models.Manifest) { within(t, &m.Recipe, `"seed":3`, `"seed":4`) },
			"width of the recipe":  func(m *models.Manifest) { within(t, &m.Recipe, `"width":`, `"width":1`) },
		})},
		"held out": {data, func(o *options.Train) { o.Lambda.Folds = 5 }, merged(always, classes, map[string]edit{
			"nothing held out": func(m *models.Manifest) {
				m.Learner.Log.HeldOutRows, m.Learner.Log.HeldOutErrors = 0, 0
			},
		})},
		"weights of classes": {data, func(o *options.Train) {
			o.Learner.(*svm.LearnerOptions).Weights = []string{"1=3"}
			o.Calibrate = score.Platt
		}, merged(always, classes, map[string]edit{
			"weights": setting(t, `"weights":[1,3]`, `"weights":[1,1]`),
		})},
		"numbers": {numbers, func(o *options.Train) { o.Scale = []string{"standard"} }, merged(always, map[string]edit{
			"range of the targets": func(m *models.Manifest) { m.TargetGrid[0].High++ },
			"scale":                func(m *models.Manifest) { within(t, &m.Recipe, `"mean":[`, `"mean":[1`) },
		})},
		"learned": {data, func(o *options.Train) {
			o.Kernel = &learned.Options{Features: 8}
			o.Learned = options.Game{Chains: 8, Steps: 4, Take: 4}
		}, map[string]edit{
			"no frequencies": withoutFile("frequencies.safetensors"),
			"lambda":         withoutLambda,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := fixed(3)
			o.Data, o.Model = c.data, filepath.Join(dir, strings.ReplaceAll(name, " ", "_"))
			o.Lambda.Path = []float64{1e-3}
			o.Learner = &svm.LearnerOptions{Shared: iterative.Shared{Stop: iterative.Stop{Rounds: 4, Gap: 1e-9},
				Running: iterative.Running{Partitions: 2}}, Bias: 1}
			c.change(&o)
			if _, err := trainPlain(jobtest.Ctx, o); err != nil {
				t.Fatal(err)
			}
			checkForgeries(t, o.Model, c.data, c.edits)
		})
	}
}

// checkForgeries fails if an edited copy of a model is certified in other words than the model, or if fewer than
// half of the copies are refused.
func checkForgeries(t *testing.T, model string, data dataset.Options, edits map[string]edit) {
	honest, err := verified(t, model, data)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for what, edit := range edits {
		to := filepath.Join(t.TempDir(), what)
		if forge(t, model, to, edit) != nil {
			refused++ // where a manifest is read, too
			continue
		}
		switch got, err := verified(t, to, data); {
		case err != nil && (exit.CodeOf(err) == exit.CodeFailed):
			t.Errorf("%s: fails instead of refusing: %v", what, err)
		case err != nil:
			refused++
		case got != honest:
			t.Errorf("%s: certified unchecked:\n%s\nhonest:\n%s", what, got, honest)
		}
	}
	if refused < len(edits)/2 {
		t.Errorf("%d of %d edits were refused", refused, len(edits))
	}
}

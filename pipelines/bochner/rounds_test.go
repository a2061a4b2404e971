package main

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/campaign"
	"github.com/bochner-ml/bochner/models"
)

// learners are flags of learners in rounds, few enough rounds that they end by
// their number.
func learners() map[string][]string {
	return map[string][]string{
		"svm hinge": {"--learner", "svm", "--rounds", "4", "--lambda", "1e-3", "--partitions", "4"},
		"svm squared hinge": {"--learner", "svm", "--loss", "squared_hinge", "--rounds", "4", "--lambda", "1e-3",
			"--class_weight", "balanced", "--partitions", "2"},
		"svm, 1 partition": {"--learner", "svm", "--rounds", "2", "--lambda", "1e-3"},
		"sgd softmax":      {"--learner", "sgd", "--rounds", "3", "--lambda", "1e-4", "--folds", "5", "--partitions", "8"},
		"sgd falling rate": {"--learner", "sgd", "--method", "sgd", "--loss", "hinge", "--rounds", "3", "--lambda", "0",
			"--batch", "7", "--partitions", "8"},
		"svm logistic path": {"--learner", "svm", "--loss", "logistic", "--rounds", "3", "--lambda", "1e-2,1e-3",
			"--partitions", "3"},
	}
}

// steady change nothing of which a model of rounds depends.
func steady() []variant {
	var list []variant
	for _, v := range variants {
		if v.cut.files <= 1 {
			v.readers = 0
			list = append(list, v)
		}
	}
	return append(list,
		variant{name: "no features kept", args: []string{"--keep_bytes", "0"}},
		variant{name: "some features kept", args: []string{"--keep_bytes", "100000"}},
		variant{name: "all rounds in one job", args: []string{"--rounds_per_job", "20", "--runner", "prism"}},
		variant{name: "three rounds in a job", args: []string{"--rounds_per_job", "3"}},
		variant{
			name: "prism over compressed small shards in plain Go", cut: cut{gzip: true}, env: []string{"BOCHNER_CPU=go"},
			args: []string{"--runner", "prism", "--readers", "3", "--threads", "1", "--rounds_per_job", "2", smallShards},
		},
	)
}

// steadyOnOneCore changes several of them.
var steadyOnOneCore = variant{
	name: "on one core, no features kept", env: []string{"GOMAXPROCS=1", "BOCHNER_CPU=avx2"},
	args: []string{"--threads", "3", "--keep_bytes", "0", smallShards},
}

// onOneCoreToo adds steadyOnOneCore to a list of ways, in the short form of the tests to the first list only.
func onOneCoreToo(list []variant, i int) []variant {
	if long() || i == 0 {
		list = append(list, steadyOnOneCore)
	}
	return list
}

func TestModelOfRoundsIsTheSameByteForByte(t *testing.T) {
	all := learners()
	for i, name := range slices.Sorted(maps.Keys(all)) {
		learner := all[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tb := generated(t, "moons", 450)
			flags := append([]string{"--features", "64"}, learner...)
			want := variant{}.train(t, tb, flags...)
			if want["curve.json"] == "" {
				t.Fatal("no curve of the rounds")
			}
			for _, v := range onOneCoreToo(share(steady(), i, len(all)), i) {
				got := v.train(t, tb, flags...)
				same(t, v.name, want, got)
				if want["curve.json"] != got["curve.json"] {
					t.Errorf("%s: another curve", v.name)
				}
			}
			// It depends on the files and on the partitions: the test can fail.
			got := variant{cut: cut{files: 7}}.train(t, tb, flags...)
			if same := got["weights.safetensors"] == want["weights.safetensors"]; same != (name == "svm, 1 partition") {
				t.Errorf("the same weights from other files: %v", same)
			}
		})
	}
}

// Neither files nor partitions change a model of cg, whose sums are exact.
func TestConjugateGradientsGiveTheSameModelFromAnyFilesAndPartitions(t *testing.T) {
	campaign.Long(t)
	t.Parallel()
	tb := generated(t, "moons", 300)
	flags := []string{"--features", "64", "--solver", "cg", "--lambda", "1e-1,1e-2", "--preconditioner", "20", "--search",
		"none"}
	want := variant{}.train(t, tb, flags...)
	if want["curve.json"] == "" {
		t.Fatal("no curve of the rounds")
	}
	var manifest struct {
		Learner struct {
			Log struct{ Residual *float64 }
		}
	}
	if err := json.Unmarshal([]byte(want["manifest.json"]), &manifest); err != nil {
		t.Fatal(err)
	}
	if r := manifest.Learner.Log.Residual; r == nil || !(*r > 0 && *r <= 0.01*math.Sqrt(1e-1)) {
		t.Errorf("the manifest has residual %v", r)
	}
	for _, v := range []variant{mixtures[0],
		{name: "1 partition on one core", env: []string{"GOMAXPROCS=1"}, args: []string{"--partitions", "1"}},
		{name: "5 partitions, many rounds in a job, 3 readers",
			args: []string{"--partitions", "5", "--rounds_per_job", "9", "--runner", "prism", "--readers", "3", smallShards}}} {
		v.readers = 0
		got := v.train(t, tb, flags...)
		if slices.Contains(v.args, "--partitions") { // which the manifest has
			got["manifest.json"] = want["manifest.json"]
		}
		same(t, v.name, want, got)
		if want["curve.json"] != got["curve.json"] {
			t.Errorf("%s: another curve", v.name)
		}
	}
}

// Folds choose λ, or calibrate; the model is always fitted to all rows.
func TestConjugateGradientsLearnFromAllRows(t *testing.T) {
	t.Parallel()
	tb := generated(t, "moons", 300)
	flags := []string{"--features", "64", "--solver", "cg", "--lambda", "1e-2", "--preconditioner", "20", "--search",
		"none"}
	for _, folds := range []string{"1", "5"} {
		got := variant{}.train(t, tb, append(flags, "--folds", folds)...)
		var manifest struct {
			Learner struct{ Log struct{ Rows int } }
		}
		if err := json.Unmarshal([]byte(got["manifest.json"]), &manifest); err != nil || manifest.Learner.Log.Rows != 300 {
			t.Errorf("with %s folds the weights are fitted to %d rows, %v", folds, manifest.Learner.Log.Rows, err)
		}
	}
}

func TestManyFeaturesAreFittedByConjugateGradients(t *testing.T) {
	t.Parallel()
	dir := choreData(t, someTenths)
	data := filepath.Join(dir, "many.csv")
	if r := run(t, dir, "generate", "moons", "--rows", "33000", "--out", data); r.code != 0 {
		t.Fatal(r.stderr)
	}
	for _, test := range []struct {
		passes string
		flags  []string
	}{
		{"503 over", []string{"--features", "32768"}},
		{"2 over", []string{"--features", "30000"}},
	} {
		r := run(t, dir, append([]string{"train", "--data", data, "--label", "y", "--plan", "--search", "none", "--lambda",
			"1e-3", "--model", "m"}, test.flags...)...)
		if r.code != 0 || !strings.Contains(r.stdout, "passes    "+test.passes) {
			t.Errorf("%v: exit code %d, want %s\n%s%s", test.flags, r.code, test.passes, r.stdout, r.stderr)
		}
	}
}

func TestRoundsResumeAfterAKill(t *testing.T) {
	campaign.Long(t)
	t.Parallel()
	for _, learner := range [][]string{
		{"--learner", "svm", "--lambda", "1e-4", "--rounds", "10", "--gap", "1e-12", "--partitions", "8"}, {"--solver", "cg",
			"--lambda", "1e-2,1e-3", "--rounds", "8"},
	} {
		undisturbed(t, &chore{dir: choreData(t, someTenths), out: "model", args: append([]string{
			"train", "--data", "data.csv", "--label", "y", "--features", "512", "--model", "model", "--threads", "1"},
			learner...),
		}).survives(t, 2, 20)
	}
}

func TestGapMatchesTheCurve(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "500", "--out", "data.csv")
	must(t, dir, "train", "--data", "data.csv", "--label", "y", "--features", "64", "--learner", "svm", "--lambda", "1e-2",
		"--gap", "1e-6", "--model", "m")
	var m struct {
		Learner struct {
			Log struct {
				Objective, Dual, Gap float64
				Rounds               int
				Ended                string
			}
		}
	}
	if err := json.Unmarshal([]byte(read(t, dir, "m/manifest.json")), &m); err != nil {
		t.Fatal(err)
	}
	c := m.Learner.Log
	if !(c.Gap >= 0 && c.Gap <= 1e-6*c.Objective) || c.Gap != c.Objective-c.Dual || !strings.Contains(c.Ended, "gap") {
		t.Errorf("%+v", c)
	}
	var curve []struct{ Objective, Dual float64 }
	if err := json.Unmarshal([]byte(read(t, dir, "m/curve.json")), &curve); err != nil {
		t.Fatal(err)
	}
	if len(curve) != c.Rounds+1 {
		t.Fatalf("%d points of the curve after %d rounds", len(curve), c.Rounds)
	}
	for i, p := range curve {
		if gap := p.Objective - p.Dual; gap < -1e-9*p.Objective {
			t.Errorf("round %d: gap %g", i, gap)
		}
		if i > 0 && p.Dual < curve[i-1].Dual-1e-7 {
			t.Errorf("round %d: the dual falls from %g to %g", i, curve[i-1].Dual, p.Dual)
		}
	}
}

func TestInitStartsFromAnEarlierModel(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "2000", "--out", "data.csv")
	train := func(model, rounds string, args ...string) float64 {
		must(t, dir, append([]string{
			"train", "--data", "data.csv", "--label", "y", "--features", "64", "--width", "0.5", "--scale", "none",
			"--learner", "svm", "--lambda", "1e-4", "--model", model, "--rounds", rounds,
		}, args...)...)
		var m struct {
			Learner struct{ Log struct{ Objective float64 } }
		}
		if err := json.Unmarshal([]byte(read(t, dir, model+"/manifest.json")), &m); err != nil {
			t.Fatal(err)
		}
		return m.Learner.Log.Objective
	}
	train("long", "60")
	if cold, warm := train("cold", "2"), train("warm", "2", "--init", "long"); !(warm < cold) {
		t.Errorf("objective %g after two rounds, and %g of those that go on from a good model", cold, warm)
	}
}

// halves writes n records of CIFAR-10 of two classes, bright above and bright below.
func halves(t *testing.T, dir string, n int) {
	r := rand.New(rand.NewPCG(3, 4))
	var data []byte
	for i := range n {
		data = append(data, byte(i%2))
		for j := range 3072 {
			v := r.IntN(128)
			if (j%1024 < 512) == (i%2 == 0) {
				v += 64
			}
			data = append(data, byte(v))
		}
	}
	write(t, dir, "pictures.bin", string(data))
}

func TestAugmentationIsIndependentOfFilesAndReaders(t *testing.T) {
	campaign.Long(t)
	dir := t.TempDir()
	halves(t, dir, 300)
	train := func(args ...string) map[string]string {
		t.Helper()
		must(t, dir, append([]string{
			"train", "--data", "pictures.bin", "--format", "cifar10", "--scale", "crop:24,255", "--features", "64",
			"--width", "20",
			"--learner", "sgd", "--rounds", "3", "--lambda", "1e-4", "--folds", "5", "--model", "m",
		}, args...)...)
		defer os.RemoveAll(filepath.Join(dir, "m"))
		return files(t, filepath.Join(dir, "m"))
	}
	const changes = "--augment=crop,flip,brightness:0.2,contrast:0.3,saturation:0.4"
	want := train(changes)
	if train()["weights.safetensors"] == want["weights.safetensors"] {
		t.Error("the same weights without changes of the pictures")
	}
	for _, args := range [][]string{
		{"--runner", "prism", "--readers", "3", "--rounds_per_job", "2"}, {"--keep_bytes", "0", "--threads",
			"1"}, {"--threads", "3"},
	} {
		same(t, strings.Join(args, " "), want, train(append(args, changes)...))
	}
	for _, test := range []struct{ flag, want string }{
		{"--augment=shear", `unknown word "shear"`}, {"--augment=flip:1", "want flip and crop alone"},
		{"--augment=brightness:2", "want an amount above 0"}, {"--augment=brightness",
			"an amount from 0 to 1 after the others"},
	} {
		r := run(t, dir, "train", "--data", "pictures.bin", "--format", "cifar10", "--learner", "sgd", "--model", "m",
			test.flag)
		if r.code != 2 || !strings.Contains(r.stderr, test.want) {
			t.Errorf("%s: exit code %d, want 2 and %q:\n%s", test.flag, r.code, test.want, r.stderr)
		}
	}
	r := run(t, dir, "train", "--data", "pictures.bin", "--format", "cifar10", "--learner", "sgd", "--model", "m",
		"--augment", "crop")
	if r.code != 2 || !strings.Contains(r.stderr, "--scale, which must begin with one") {
		t.Errorf("a crop of no size: exit code %d\n%s", r.code, r.stderr)
	}
}

func TestVerifyCatchesATamperedModel(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "generate", "moons", "--rows", "900", "--out", "data.csv")
	data := []string{"--data", "data.csv", "--label", "y"}
	must(t, dir, append([]string{"train", "--features", "64", "--learner", "svm", "--lambda", "1e-3", "--rounds", "20",
		"--model", "m"}, data...)...)
	must(t, dir, append([]string{"train", "--features", "64", "--learner", "svm", "--loss", "squared_hinge", "--lambda",
		"1e-2,1e-3", "--rounds", "5", "--model", "path"}, data...)...)
	verify := func(model string, args ...string) result {
		t.Helper()
		return run(t, dir, append([]string{"verify", "--model", model}, append(data, args...)...)...)
	}
	for _, model := range []string{"m", "path"} {
		for _, args := range [][]string{nil, {"--runner", "prism", "--readers", "3"}, {"--threads", "1"}} {
			if r := verify(model, args...); r.code != 0 || !strings.Contains(r.stdout, "the certificate holds") {
				t.Errorf("%s %v: exit code %d\n%s%s", model, args, r.code, r.stdout, r.stderr)
			}
		}
	}
	// A weight is changed, and all checksums made to fit.
	weights := []byte(read(t, dir, "m/weights.safetensors"))
	weights[len(weights)-3] ^= 0x40
	write(t, dir, "m/weights.safetensors", string(weights))
	if r := verify("m"); r.code != 6 {
		t.Errorf("a changed weight, with the old checksums: exit code %d\n%s", r.code, r.stderr)
	}
	forge(t, filepath.Join(dir, "m"))
	r := verify("m")
	if r.code != 4 || !strings.Contains(r.stderr, "the certificate does not hold") ||
		!strings.Contains(r.stderr, "the objective is") {
		t.Errorf("a changed weight: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}

	must(t, dir, "generate", "moons", "--rows", "900", "--seed", "2", "--out", "other.csv")
	if r := run(t, dir, "verify", "--model", "path", "--data", "other.csv", "--label", "y"); r.code != 3 ||
		!strings.Contains(r.stderr, "these are not the rows") {
		t.Errorf("other rows: exit code %d\n%s", r.code, r.stderr)
	}
	must(t, dir, append([]string{"train", "--features", "64", "--lambda", "1e-3", "--model", "ridge"}, data...)...)
	if r := verify("ridge"); r.code != 2 || !strings.Contains(r.stderr, "gives no certificate") {
		t.Errorf("ridge: exit code %d\n%s", r.code, r.stderr)
	}
}

// forge makes the checksums of a model's manifest match its files.
func forge(t *testing.T, dir string) {
	t.Helper()
	var files struct{ Files []models.FileEntry }
	text := read(t, dir, models.ManifestFile)
	if err := json.Unmarshal([]byte(text), &files); err != nil {
		t.Fatal(err)
	}
	for _, f := range files.Files {
		text = strings.Replace(text, f.SHA256, models.NewFileEntry(f.Name, []byte(read(t, dir, f.Name))).SHA256, 1)
	}
	lines := strings.SplitAfter(text, "\n")
	body := strings.Join(lines[:len(lines)-3], "")
	write(t, dir, models.ManifestFile, body+`  "sha256": "`+models.NewFileEntry("", []byte(body)).SHA256+"\"\n}\n")
}

package deploy

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// literals prints the constants of a Python file that are texts or lists of them,
// put together as Python would.
const literals = `
import ast, json, sys
names = {}
for node in ast.parse(open(sys.argv[1]).read(), sys.argv[1]).body:
    if isinstance(node, ast.Assign):
        try:
            names[node.targets[0].id] = eval(compile(ast.Expression(node.value), sys.argv[1], "eval"), {"__builtins__": {}}, names)
        except NameError:
            pass
print(json.dumps(names))
`

func TestTheDAGCallsTheProgram(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on this machine to read the DAG with")
	}
	const name = "airflow/bochner_retrain.py"
	out, err := exec.Command(python, "-c", literals, name).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(out, &values); err != nil {
		t.Fatal(err)
	}
	list := func(key string) (words []string) {
		if err := json.Unmarshal(values[key], &words); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		return words
	}
	train := parsed(t, name, list("TRAIN"))
	model := train.Flags().Lookup("model").Value.String()
	gate := parsed(t, name, list("GATE"))
	if train.Name() != "train" || gate.Name() != "evaluate" || gate.Flags().Lookup("model").Value.String() != model || gate.Flags().Lookup("gate").Value.String() == "" {
		t.Errorf("trains %s, scores %s", train.CommandPath(), gate.CommandPath())
	}
	if !strings.HasSuffix(model, "/{{ ds }}") {
		t.Errorf("the model %s is not named by its day", model)
	}
	text := read(t, name)
	if !strings.Contains(text, "train >> gate >> promote") || !strings.Contains(text, `"DAY": "{{ ds }}"`) {
		t.Error("the model is not scored before it is promoted")
	}
	if words := list("TRAIN"); !slices.Contains(words, "--resume") {
		t.Error("a second try begins anew")
	}
}

package deploy

import (
	"encoding/json"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/pipelines/exit"
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

func TestDAGCallsTheProgram(t *testing.T) {
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
	cmd := parsed(t, name, list("RETRAIN"))
	day := cmd.Flags().Lookup("day").Value.String()
	if cmd.Name() != "retrain" || cmd.Flags().Lookup("config").Value.String() == "" {
		t.Errorf("runs %s", cmd.CommandPath())
	}
	// ds is the beginning of an interval or its end, by the timetable; the end is always the run.
	if day != "{{ (data_interval_end - macros.timedelta(days=1)) | ds }}" {
		t.Errorf("the day is %s", day)
	}
	text := read(t, name)
	for _, old := range []string{"airflow.models", "airflow.utils", "airflow.operators", "schedule_interval", "days_ago",
		"execution_date"} {
		if strings.Contains(text, old) {
			t.Errorf("%s is deprecated", old)
		}
	}
	if string(values["NO_NEW_DATA"]) != strconv.Itoa(int(exit.CodeNothing)) ||
		!strings.Contains(text, "skip_on_exit_code=NO_NEW_DATA") {
		t.Errorf("no new data is %s", values["NO_NEW_DATA"])
	}
}

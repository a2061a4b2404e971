package onnx

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/io/storage"
)

// ModelFile is the name of the graph in a directory for MLflow.
const ModelFile = "model.onnx"

// pythonVersion is the version of Python that the files name. MLflow warns if it loads them with another one.
const pythonVersion = "3.11"

var requirements = []string{"mlflow", "numpy", "onnx", "onnxruntime>=1.17", "pandas<3"}

// mlmodel is the template of the file MLmodel, with places for the digest and the signature. It has neither
// a time nor a version of MLflow, so that equal models give equal bytes.
const mlmodel = `flavors:
  onnx:
    code: null
    data: model.onnx
    onnx_version: "1.12.0"
    providers: [CPUExecutionProvider]
  python_function:
    data: model.onnx
    env:
      conda: conda.yaml
      virtualenv: python_env.yaml
    loader_module: mlflow.onnx
    python_version: "` + pythonVersion + `"
model_uuid: %s
signature:
  inputs: %s
  outputs: %s
utc_time_created: "1970-01-01 00:00:00"
`

// field is a column of a signature.
type field struct {
	Type     string      `json:"type"`
	Name     string      `json:"name,omitempty"`
	Required *bool       `json:"required,omitempty"`
	Tensor   *tensorSpec `json:"tensor-spec,omitempty"`
}

type tensorSpec struct {
	Type  string `json:"dtype"`
	Shape []int  `json:"shape"`
}

// columnOf returns a value as a named column. Numbers are double, as in data frames; MLflow rounds them if
// the graph takes float.
func columnOf(v Value) field {
	kind := map[Type]string{Float: "double", Double: "double", Int64: "long", String: "string"}[v.Type]
	return field{Type: kind, Name: v.Name, Required: new(true)}
}

// tensorOf returns a value as a tensor.
func tensorOf(v Value) field {
	f := field{Type: "tensor", Name: v.Name, Tensor: &tensorSpec{"float32", append([]int{-1}, v.dims...)}}
	if v.Type == Double {
		f.Tensor.Type = "float64"
	}
	return f
}

// signature returns values as MLflow writes them, quoted for YAML.
func signature(values []Value, fieldOf func(Value) field) (string, error) {
	var fields []field
	for _, v := range values {
		fields = append(fields, fieldOf(v))
	}
	text, err := json.Marshal(fields)
	return "'" + strings.ReplaceAll(string(text), "'", "''") + "'", err
}

// MLflow returns the files of a directory that MLflow loads, except ModelFile. The graph must be ByColumn.
// A model whose columns have no names takes a tensor.
func (g *Graph) MLflow() ([]storage.File, error) {
	fieldOf := tensorOf
	if len(g.Inputs) > 1 || g.Inputs[0].dims == nil || g.Inputs[0].dims[0] == 1 {
		fieldOf = columnOf
	}
	inputs, err := signature(g.Inputs, fieldOf)
	if err != nil {
		return nil, err
	}
	outputs, err := signature(g.Outputs, columnOf)
	if err != nil {
		return nil, err
	}
	id := g.metadata[0][1] // the digest of the model
	pip := strings.Join(requirements, "\n") + "\n"
	conda := "channels:\n- conda-forge\ndependencies:\n- python=" + pythonVersion + "\n- pip\n- pip:\n  - " +
		strings.Join(requirements, "\n  - ") + "\nname: bochner\n"
	environment := "python: \"" + pythonVersion + "\"\nbuild_dependencies:\n- pip\ndependencies:\n" +
		"- -r requirements.txt\n"
	return []storage.File{
		{Name: "conda.yaml", Data: []byte(conda)},
		{Name: "python_env.yaml", Data: []byte(environment)},
		{Name: "requirements.txt", Data: []byte(pip)},
		{Name: "MLmodel", Data: fmt.Appendf(nil, mlmodel, id[:min(len(id), 32)], inputs, outputs)},
	}, nil
}

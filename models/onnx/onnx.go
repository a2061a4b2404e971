// Package onnx writes a model as an ONNX graph, which ONNX Runtime and others run without bochner: typed
// columns with texts, missing values and times, features, scores, probabilities and the class. New builds a
// Graph, which has nodes but no drawn numbers, and knows its size. Graph.WriteTo draws the numbers of the
// recipe and writes the file, which is larger than the model.
//
// A row that predict would refuse, such as one with an infinite number, has NaN scores. Its class is an
// empty text or the smallest int64.
package onnx

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/models"
)

// ErrUnsupported is wrapped by the errors about models that a graph cannot express.
var ErrUnsupported = errors.New("cannot be expressed in ONNX")

func unsupportedf(format string, args ...any) error {
	return fmt.Errorf("onnx: %s %w", fmt.Sprintf(format, args...), ErrUnsupported)
}

// Options choose the inputs and outputs of a graph.
type Options struct {
	// ByColumn makes an input of each named column and an output of each number of a prediction, all one-dimensional,
	// as MLflow maps data frames. Otherwise inputs are [N, 1], one for each column, or one [N, d] if all columns are
	// plain numbers; outputs are label [N], probabilities and scores [N, k], or prediction or coordinates [N, k].
	ByColumn bool
}

// Value is an input or output of a graph.
type Value struct {
	Name  string `json:"name"`
	Type  Type   `json:"type"`
	About string `json:"about,omitempty"` // what it holds
	dims  []int  // after the first, the number of rows
}

// maxAbout is the number of characters of About that String prints.
const maxAbout = 80

// String describes the value on one line.
func (v Value) String() string {
	text := fmt.Sprintf("%s  %v", v.Name, v.Type)
	if v.Name == "" || strings.ContainsAny(v.Name, " \t\n\"") {
		text = fmt.Sprintf("%q  %v", v.Name, v.Type)
	}
	text += " [N"
	for _, d := range v.dims {
		text += fmt.Sprintf(", %d", d)
	}
	text += "]"
	if v.About == "" {
		return text
	}
	if about := []rune(v.About); len(about) > maxAbout {
		return text + "  " + string(about[:maxAbout]) + "…"
	}
	return text + "  " + v.About
}

// Graph is a model in ONNX.
type Graph struct {
	Inputs, Outputs []Value

	nodes    []message
	tensors  []tensor
	metadata [][2]string
	prefix   string // of the names of inner values
	names    int    // number of inner names so far
	byColumn bool
	matrices bool // inputs of columns are matrices with one column each
}

// maxSize is the largest size of a graph in bytes, a limit of protocol buffers.
const maxSize = math.MaxInt32

// New returns the graph of a model, whose Map may be nil. The error is ErrUnsupported if ONNX cannot
// express a part of the model, or if the graph would be larger than 2 GiB.
func New(m *models.Model, o Options) (*Graph, error) {
	recipe, err := m.Manifest.Recipe.Open()
	if err != nil {
		return nil, err
	}
	g := &Graph{prefix: prefix(m), byColumn: o.ByColumn}
	g.metadata = [][2]string{{"bochner.manifest_sha256", m.Manifest.SHA256}, {"bochner.task", string(m.Manifest.Task)}}
	x, err := g.rows(m)
	if err != nil {
		return nil, err
	}
	x, valid := g.fill(m, x)
	phi, err := g.apply(recipe, x)
	if err != nil {
		return nil, err
	}
	scores := g.op("Add", g.scores(m, phi, x), valid)
	if !m.Classifies() {
		g.targets(m, scores)
	} else if err := g.classify(m, scores); err != nil {
		return nil, err
	}
	if size := g.Size(); size > maxSize {
		return nil, unsupportedf("%d features of %d numbers take %.2f GB, more than the 2 GiB of a file, and",
			m.Manifest.Features, m.Manifest.Input.Dim, float64(size)/1e9)
	}
	return g, nil
}

// prefix returns a prefix for the names of inner values that no column name has.
func prefix(m *models.Model) string {
	owners := slices.Clone(m.Manifest.Input.Columns)
	if t := m.Table(); t != nil {
		owners = t.Owners()
	}
	p := "/"
	for slices.ContainsFunc(owners, func(name string) bool { return len(name) >= len(p) && name[:len(p)] == p }) {
		p += "/"
	}
	return p
}

// attrs are the attributes of a node by name: numbers, texts, and lists of these.
type attrs map[string]any

// add adds a node with one output and returns the output's name.
func (g *Graph) add(op string, a attrs, in ...string) string {
	out := g.name()
	g.nodes = append(g.nodes, node(op, a, in, out))
	return out
}

// op is add without attributes.
func (g *Graph) op(op string, in ...string) string { return g.add(op, nil, in...) }

func (g *Graph) name() string {
	g.names++
	return fmt.Sprint(g.prefix, g.names)
}

// cast adds a conversion to another type.
func (g *Graph) cast(x string, to Type) string { return g.add("Cast", attrs{"to": int64(to)}, x) }

// columns adds a selection of columns of x.
func (g *Graph) columns(x string, index []int64) string {
	return g.add("Gather", attrs{"axis": int64(1)}, x, constant(g, index, len(index)))
}

// pick adds the selection of column c, without a dimension for columns.
func (g *Graph) pick(x string, c int64) string {
	return g.add("Gather", attrs{"axis": int64(1)}, x, g.int(c))
}

// concat adds a concatenation of matrices along their columns.
func (g *Graph) concat(parts ...string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	return g.add("Concat", attrs{"axis": int64(1)}, parts...)
}

// sum adds the sum over columns, as a matrix with one column.
func (g *Graph) sum(x string) string { return g.op("ReduceSum", x, constant(g, []int64{1}, 1)) }

// output makes x an output named by v, with len(v.dims)+1 dimensions.
func (g *Graph) output(x string, v Value) {
	taken := func(w Value) bool { return w.Name == v.Name }
	for slices.ContainsFunc(g.Inputs, taken) || slices.ContainsFunc(g.Outputs, taken) {
		v.Name += "_"
	}
	g.nodes = append(g.nodes, node("Identity", nil, []string{x}, v.Name))
	g.Outputs = append(g.Outputs, v)
}

// each makes outputs of a matrix whose columns have the given names: one per column if ByColumn, otherwise
// a single one.
func (g *Graph) each(x string, v Value, names []string) {
	if !g.byColumn {
		v.dims = []int{len(names)}
		g.output(x, v)
		return
	}
	for c, name := range names {
		column := g.pick(x, int64(c))
		g.output(column, Value{Name: name, Type: v.Type, About: v.About})
	}
}

// apply adds the features of the rows x by a recipe.
func (g *Graph) apply(r features.Recipe, x string) (string, error) {
	if chain, ok := r.(features.Chain); ok {
		var err error
		for _, step := range chain.Steps {
			if x, err = g.apply(step, x); err != nil {
				return "", err
			}
		}
		return x, nil
	}
	if out, known := g.scale(r, x); known {
		return out, nil
	}
	return g.features(r, x)
}

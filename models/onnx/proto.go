package onnx

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Versions of the format. ONNX Runtime reads them since 1.12.
const (
	irVersion = 8
	opset     = 17
	mlOpset   = 3
	mlDomain  = "ai.onnx.ml"
)

// Type is an element type, with the numbers of the enumeration DataType of onnx.proto.
type Type int32

// Types of inputs and outputs.
const (
	Float  Type = 1
	Int64  Type = 7
	String Type = 8
	Double Type = 11
)

// String returns the ONNX name of the type.
func (t Type) String() string {
	return map[Type]string{Float: "float", Int64: "int64", String: "string", Double: "double"}[t]
}

// MarshalText returns the name.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// message is an encoded protocol buffer. Field numbers follow onnx.proto.
type message []byte

func (m *message) varint(field protowire.Number, v int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(v))
}

func (m *message) float(field protowire.Number, v float32) {
	*m = protowire.AppendFixed32(protowire.AppendTag(*m, field, protowire.Fixed32Type), math.Float32bits(v))
}

func (m *message) bytes(field protowire.Number, v []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), v)
}

func (m *message) text(field protowire.Number, v string) { m.bytes(field, []byte(v)) }

// begin appends the tag and the length of a field whose bytes follow.
func (m *message) begin(field protowire.Number, size int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.BytesType), uint64(size))
}

// node returns a NodeProto.
func node(op string, a attrs, in []string, out string) (m message) {
	for _, name := range in {
		m.text(1, name)
	}
	m.text(2, out)
	m.text(4, op)
	for _, name := range slices.Sorted(maps.Keys(a)) {
		m.bytes(5, attribute(name, a[name]))
	}
	if op == "LabelEncoder" {
		m.text(7, mlDomain)
	}
	return m
}

// attribute returns an AttributeProto.
func attribute(name string, value any) (m message) {
	m.text(1, name)
	var kind int64
	switch v := value.(type) {
	case float32:
		m.float(2, v)
		kind = 1
	case int64:
		m.varint(3, v)
		kind = 2
	case []float32:
		for _, x := range v {
			m.float(7, x)
		}
		kind = 6
	case []int64:
		for _, x := range v {
			m.varint(8, x)
		}
		kind = 7
	case []string:
		for _, x := range v {
			m.text(9, x)
		}
		kind = 8
	default:
		panic(fmt.Sprintf("onnx: attribute %s of type %T", name, value))
	}
	m.varint(20, kind)
	return m
}

// tensor is a TensorProto: numbers stored in the graph.
type tensor struct {
	head  message
	size  int64 // bytes of the numbers, which follow
	write func(w io.Writer) error
}

// newTensor returns the header of a tensor; for texts, the whole tensor.
func newTensor(name string, kind Type, dims []int, texts []string) (t tensor) {
	for _, d := range dims {
		t.head.varint(1, int64(d))
	}
	t.head.varint(2, int64(kind))
	for _, text := range texts {
		t.head.text(6, text)
	}
	t.head.text(8, name)
	return t
}

// constant adds numbers of that shape, a scalar without dims, and returns their name.
func constant[T float32 | float64 | int64](g *Graph, values []T, dims ...int) string {
	kind := map[int]Type{4: Float, 8: Double}[binary.Size(values[:1])]
	if _, ok := any(values).([]int64); ok {
		kind = Int64
	}
	return g.stored(kind, dims, func(w io.Writer) error { return binary.Write(w, binary.LittleEndian, values) })
}

// float, double and int add a number.
func (g *Graph) float(v float32) string  { return constant(g, []float32{v}) }
func (g *Graph) double(v float64) string { return constant(g, []float64{v}) }
func (g *Graph) int(v int64) string      { return constant(g, []int64{v}) }

// row adds numbers as a matrix of one row.
func row[T float32 | float64 | int64](g *Graph, values []T) string {
	return constant(g, values, 1, len(values))
}

// stored adds numbers that write produces when the graph is written.
func (g *Graph) stored(kind Type, dims []int, write func(w io.Writer) error) string {
	name, size := g.name(), int64(8)
	if kind == Float {
		size = 4
	}
	for _, d := range dims {
		size *= int64(d)
	}
	t := newTensor(name, kind, dims, nil)
	t.head.begin(9, size)
	t.size, t.write = size, write
	g.tensors = append(g.tensors, t)
	return name
}

// texts adds a list of texts.
func (g *Graph) texts(values []string) string {
	name := g.name()
	g.tensors = append(g.tensors, newTensor(name, String, []int{len(values)}, values))
	return name
}

// encode returns a ValueInfoProto.
func (v *Value) encode() (m message) {
	var shape, tensor, kind, rows message
	rows.text(2, "N")
	shape.bytes(1, rows)
	for _, d := range v.dims {
		var dim message
		dim.varint(1, int64(d))
		shape.bytes(1, dim)
	}
	tensor.varint(1, int64(v.Type))
	tensor.bytes(2, shape)
	kind.bytes(1, tensor)
	m.text(1, v.Name)
	m.bytes(2, kind)
	if v.About != "" {
		m.text(3, v.About)
	}
	return m
}

// pieces returns the file in pieces, each followed by its numbers.
func (g *Graph) pieces() (pieces []tensor, size int64) {
	var nodes, values message
	for _, n := range g.nodes {
		nodes.bytes(1, n)
	}
	nodes.text(2, "bochner")
	for i := range g.Inputs {
		values.bytes(11, g.Inputs[i].encode())
	}
	for i := range g.Outputs {
		values.bytes(12, g.Outputs[i].encode())
	}
	inside := int64(len(nodes) + len(values))
	for _, t := range g.tensors {
		var head message
		head.begin(5, int64(len(t.head))+t.size)
		t.head = append(head, t.head...)
		inside += int64(len(t.head)) + t.size
		pieces = append(pieces, t)
	}
	var head, tail message
	head.varint(1, irVersion)
	head.text(2, "bochner")
	head.begin(7, inside)
	for _, set := range []struct {
		domain  string
		version int64
	}{{"", opset}, {mlDomain, mlOpset}} {
		var m message
		m.text(1, set.domain)
		m.varint(2, set.version)
		tail.bytes(8, m)
	}
	for _, pair := range g.metadata {
		var m message
		m.text(1, pair[0])
		m.text(2, pair[1])
		tail.bytes(14, m)
	}
	size = int64(len(head)) + inside + int64(len(tail))
	pieces = slices.Insert(pieces, 0, tensor{head: append(head, nodes...)})
	return append(pieces, tensor{head: append(values, tail...)}), size
}

// Size returns the number of bytes that WriteTo writes.
func (g *Graph) Size() int64 {
	_, size := g.pieces()
	return size
}

// WriteTo draws the stored numbers and writes the file. Equal models give equal bytes.
func (g *Graph) WriteTo(w io.Writer) (n int64, err error) {
	buffer := bufio.NewWriterSize(w, 1<<16)
	count := &counter{w: buffer}
	pieces, _ := g.pieces()
	for _, t := range pieces {
		if _, err := count.Write(t.head); err != nil {
			return count.n, err
		}
		begin := count.n
		if t.write != nil {
			if err := t.write(count); err != nil {
				return count.n, err
			}
		}
		if count.n-begin != t.size {
			panic("onnx: a tensor has another size than its shape")
		}
	}
	return count.n, buffer.Flush()
}

// counter counts the bytes that are written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

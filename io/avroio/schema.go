package avroio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// kind is the kind of a type.
type kind int

const (
	null kind = iota
	boolean
	integer // int and long
	float
	double
	binary
	text
	record
	enum
	array
	mapping
	union
	fixed
)

var primitives = map[string]kind{
	"null": null, "boolean": boolean, "int": integer, "long": integer, "float": float, "double": double, "bytes": binary,
	"string": text,
}

// node is a type of a schema.
type node struct {
	kind    kind
	logical string
	scale   int64
	size    int      // of fixed
	fields  []field  // of a record
	parts   []*node  // branches of a union; the elements of an array or the values of a map
	symbols [][]byte // of an enum
	noBytes bool     // of a record: all fields are empty
}

// field is a field of a record.
type field struct {
	name string
	node *node
}

// maxDepth limits how deep types and values are nested.
const maxDepth = 64

// parser parses a schema. It has the types with a name.
type parser map[string]*node

// parseSchema parses the schema of a file, which must be a record.
func parseSchema(b []byte) (*node, error) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("its schema is not JSON: %w", err)
	}
	n, err := parser{}.parse(v, "", 0)
	switch {
	case err != nil:
		return nil, fmt.Errorf("its schema: %w", err)
	case n.kind != record:
		return nil, errors.New("its values are not records, so it is not a table")
	case len(n.fields) == 0:
		return nil, errors.New("its records have no fields")
	}
	return n, nil
}

// parse parses a type; space is the namespace that names without one are in.
func (p parser) parse(v any, space string, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("types are nested more than %d deep", maxDepth)
	}
	switch v := v.(type) {
	case string:
		return p.name(v, space)
	case []any:
		n := &node{kind: union}
		for _, branch := range v {
			b, err := p.parse(branch, space, depth+1)
			if err != nil {
				return nil, err
			}
			n.parts = append(n.parts, b)
		}
		return n, nil
	case map[string]any:
		return p.object(v, space, depth)
	}
	return nil, fmt.Errorf("%.40v is not a type", v)
}

// name returns the type with a name.
func (p parser) name(name, space string) (*node, error) {
	if k, ok := primitives[name]; ok {
		return &node{kind: k}, nil
	}
	if n := p[full(name, space)]; n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("unknown type %.40q", name)
}

func full(name, space string) string {
	if space == "" || strings.Contains(name, ".") {
		return name
	}
	return space + "." + name
}

// object parses a schema that is a JSON object. It registers a named type before its fields, which may refer to it.
// space is the namespace of names without a dot.
func (p parser) object(v map[string]any, space string, depth int) (*node, error) {
	kindName, ok := v["type"].(string)
	if !ok {
		return p.parse(v["type"], space, depth+1) // {"type": {"type": …}}
	}
	n := &node{}
	n.logical, _ = v["logicalType"].(string)
	n.scale = whole(v["scale"])
	if k, ok := primitives[kindName]; ok {
		n.kind = k
		return n, nil
	}
	part := func(key string) (err error) {
		b, err := p.parse(v[key], space, depth+1)
		n.parts = []*node{b}
		return err
	}
	switch kindName {
	case "array":
		n.kind = array
		return n, part("items")
	case "map":
		n.kind = mapping
		return n, part("values")
	case "record", "error", "enum", "fixed":
	default:
		return p.name(kindName, space)
	}
	name, _ := v["name"].(string)
	if name == "" {
		return nil, fmt.Errorf("a %s has no name", kindName)
	}
	if s, ok := v["namespace"].(string); ok && !strings.Contains(name, ".") {
		space = s
	} else if i := strings.LastIndexByte(name, '.'); i >= 0 {
		space = name[:i]
	}
	p[full(name, space)] = n
	switch kindName {
	case "enum":
		n.kind = enum
		symbols, _ := v["symbols"].([]any)
		for _, s := range symbols {
			symbol, _ := s.(string)
			n.symbols = append(n.symbols, []byte(symbol))
		}
		return n, nil
	case "fixed":
		n.kind, n.size = fixed, int(whole(v["size"]))
		if n.size < 0 || n.size > maxValue {
			return nil, fmt.Errorf("fixed %.40q has %d bytes", name, n.size)
		}
		return n, nil
	}
	n.kind = record
	fields, _ := v["fields"].([]any)
	for _, f := range fields {
		m, _ := f.(map[string]any)
		fieldName, ok := m["name"].(string)
		if !ok {
			return nil, fmt.Errorf("a field of record %.40q has no name", name)
		}
		t, err := p.parse(m["type"], space, depth+1)
		if err != nil {
			return nil, fmt.Errorf("field %.40q: %w", fieldName, err)
		}
		n.fields = append(n.fields, field{fieldName, t})
	}
	n.noBytes = !slices.ContainsFunc(n.fields, func(f field) bool { return !f.node.empty() })
	return n, nil
}

// whole returns an integer of a schema.
func whole(v any) int64 {
	number, _ := v.(json.Number)
	n, _ := number.Int64()
	return n
}

// empty reports whether values of a type have no bytes.
func (n *node) empty() bool { return n.kind == null || n.kind == fixed && n.size == 0 || n.noBytes }

// list returns the type of the elements if values of a type are lists of numbers, perhaps missing; nil otherwise.
func (n *node) list() *node {
	n = n.present()
	if n.kind != array {
		return nil
	}
	switch e := n.parts[0].present(); {
	case e.kind == float, e.kind == double, e.kind == integer && e.logical == "":
		return n.parts[0]
	}
	return nil
}

// present returns the other branch of a union with null, and n if it is none.
func (n *node) present() *node {
	if n.kind == union && len(n.parts) == 2 {
		for i, b := range n.parts {
			if b.kind == null {
				return n.parts[1-i]
			}
		}
	}
	return n
}

// nested reports whether values of a type have parts.
func (n *node) nested() bool {
	switch n.kind {
	case record, array, mapping:
		return true
	case union:
		for _, b := range n.parts {
			if b.kind == union || b.nested() {
				return true
			}
		}
	}
	return false
}

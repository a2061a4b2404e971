package skeleton

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// graph is a skeleton that was checked and expanded node by node. It is immutable and safe for concurrent
// use.
type graph struct {
	columns int // row length
	nodes   []node
	edges   []int32 // inputs of inner nodes, columns of input nodes
	order   []int32 // nodes, each after its inputs
	output  int32
	spaces  []Space
	duals   []*preparedActivation
	name    func(v int32) string
}

// node is an input node (dual < 0) or an inner node (space < 0).
type node struct {
	first, end  int32 // range in edges
	space, dual int32
	tag         int32 // for the name of the node
}

// edgesOf returns the inputs of an inner node, or the columns of an input node.
func (g *graph) edgesOf(v int32) []int32 {
	n := &g.nodes[v]
	return g.edges[n.first:n.end]
}

func (g *graph) isInput(v int32) bool { return g.nodes[v].dual < 0 }

// compile checks the skeleton and expands it node by node. The error names the wrong node, layer or field.
func (s Skeleton) compile() (*graph, error) {
	columns, err := s.checkRow()
	if err != nil {
		return nil, err
	}
	var g *graph
	switch {
	case s.Nodes == nil && s.Layers == nil:
		return nil, errors.New("skeleton: neither layers nor nodes; give one of them")
	case s.Nodes != nil && (s.Layers != nil || s.Space != (Space{})):
		return nil, errors.New("skeleton: nodes cannot be used with layers or a space of all inputs; give one form")
	case s.Nodes != nil:
		g, err = fromNodes(s.Nodes, columns)
	default:
		g, err = fromLayers(&s, columns)
	}
	if err != nil {
		return nil, err
	}
	return g, g.sort()
}

// fromNodes resolves the names.
func fromNodes(nodes []Node, columns int) (*graph, error) {
	if len(nodes) == 0 || len(nodes) > maxNodes {
		return nil, fmt.Errorf("skeleton: the number of nodes must be 1 to %d (have %d)", maxNodes, len(nodes))
	}
	index, edges, err := named(nodes)
	if err != nil {
		return nil, err
	}
	g := &graph{
		columns: columns,
		nodes:   make([]node, len(nodes)),
		edges:   make([]int32, 0, edges),
		name:    func(v int32) string { return nodes[v].Name },
	}
	r := &resolver{graph: g, index: index, number: map[Space]int32{}, seen: make([]int32, max(columns, len(nodes)))}
	for i := range nodes {
		n := &nodes[i]
		at := node{first: int32(len(g.edges)), space: -1, dual: -1, tag: int32(i)}
		if n.Inputs == nil {
			at.space, err = r.addInput(n, int32(i+1))
		} else {
			at.dual, err = r.addInner(n, int32(i+1))
		}
		if err != nil {
			return nil, fmt.Errorf("skeleton: node %q: %w", n.Name, err)
		}
		at.end = int32(len(g.edges))
		g.nodes[i] = at
	}
	return g, g.findOutput()
}

// resolver adds the edges of nodes to a graph.
type resolver struct {
	*graph
	index  map[string]int32 // of the nodes, by name
	number map[Space]int32  // of the spaces of the graph
	seen   []int32          // by column or input: 1 + the index of the last node with it
}

// addInput adds the columns of an input node, and returns its space. mark is what it stores in seen.
func (r *resolver) addInput(n *Node, mark int32) (space int32, err error) {
	if err := n.Space.Validate(); err != nil {
		return 0, fmt.Errorf("%w; or give activation and inputs of an inner node", err)
	}
	if !n.Activation.none() {
		return 0, errors.New("has an activation but no inputs")
	}
	if err := n.Space.checkColumns(len(n.Columns)); err != nil {
		return 0, err
	}
	for _, c := range n.Columns {
		switch {
		case c < 0 || c >= r.columns:
			return 0, fmt.Errorf("reads column %d of rows of %d", c, r.columns)
		case r.seen[c] == mark:
			return 0, fmt.Errorf("reads column %d twice", c)
		}
		r.seen[c] = mark
		r.edges = append(r.edges, int32(c))
	}
	return intern(r.number, &r.spaces, n.Space), nil
}

// addInner adds the inputs of an inner node, and returns its dual activation.
func (r *resolver) addInner(n *Node, mark int32) (dual int32, err error) {
	if len(n.Inputs) == 0 {
		return 0, errors.New("an inner node without inputs")
	}
	if n.Space != (Space{}) || n.Columns != nil {
		return 0, errors.New("has inputs and a space or columns; an inner node has none")
	}
	if err := n.Activation.Validate(); err != nil {
		return 0, err
	}
	for _, name := range n.Inputs {
		u, known := r.index[name]
		switch {
		case !known:
			return 0, fmt.Errorf("takes %.100q, which is not a node", name)
		case r.seen[u] == mark:
			return 0, fmt.Errorf("takes %q twice", name)
		}
		r.seen[u] = mark
		r.edges = append(r.edges, u)
	}
	return r.addDual(n.Activation), nil
}

// named returns the indices of the nodes by name, and the number of their inputs and columns.
func named(nodes []Node) (index map[string]int32, edges int, err error) {
	index = make(map[string]int32, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		if n.Name == "" || len(n.Name) > maxName {
			return nil, 0, fmt.Errorf("skeleton: node %d: the name must have 1 to %d bytes (have %d)", i+1, maxName, len(n.Name))
		}
		if j, taken := index[n.Name]; taken {
			return nil, 0, fmt.Errorf("skeleton: node %d: the name %q is taken by node %d", i+1, n.Name, j+1)
		}
		index[n.Name] = int32(i)
		edges += len(n.Inputs) + len(n.Columns)
		if edges > maxEdges {
			return nil, 0, fmt.Errorf("skeleton: node %q: more than %d inputs and columns up to here", n.Name, maxEdges)
		}
	}
	return index, edges, nil
}

// intern returns the number of a space, which it adds if it is new.
func intern(known map[Space]int32, all *[]Space, s Space) int32 {
	i, ok := known[s]
	if !ok {
		i = int32(len(*all))
		known[s] = i
		*all = append(*all, s)
	}
	return i
}

// addDual returns the number of an activation. Equal consecutive ones share a number.
func (g *graph) addDual(a Activation) int32 {
	for i := len(g.duals) - 1; i >= max(0, len(g.duals)-4); i-- {
		if d := g.duals[i]; d.Exponential == a.Exponential && d.ReLU == a.ReLU && d.Step == a.Step &&
			slices.Equal(d.Polynomial, a.Polynomial) {
			return int32(i)
		}
	}
	g.duals = append(g.duals, a.prepare())
	return int32(len(g.duals) - 1)
}

// findOutput finds the only node that is not an input of another.
func (g *graph) findOutput() error {
	taken := make([]bool, len(g.nodes))
	for v := range g.nodes {
		if !g.isInput(int32(v)) {
			for _, u := range g.edgesOf(int32(v)) {
				taken[u] = true
			}
		}
	}
	g.output = -1
	for v, t := range taken {
		if t {
			continue
		}
		if g.output >= 0 {
			return fmt.Errorf("skeleton: nodes %q and %q: no node takes them; a skeleton has one output", g.name(g.output),
				g.name(int32(v)))
		}
		g.output = int32(v)
	}
	if g.output < 0 {
		return g.sort() // every node is an input: sort names a cycle
	}
	return nil
}

// sort sorts the nodes topologically, or names two nodes of a cycle.
func (g *graph) sort() error {
	const open, done = 1, 2
	state := make([]uint8, len(g.nodes))
	next := make([]int32, len(g.nodes)) // number of inputs that were visited
	g.order = make([]int32, 0, len(g.nodes))
	var stack []int32 // no recursion, because input would choose its depth
	for root := range g.nodes {
		if state[root] != 0 {
			continue
		}
		stack = append(stack[:0], int32(root))
		state[root] = open
		for len(stack) > 0 {
			v := stack[len(stack)-1]
			if g.isInput(v) || int(next[v]) == len(g.edgesOf(v)) {
				state[v] = done
				g.order = append(g.order, v)
				stack = stack[:len(stack)-1]
				continue
			}
			u := g.edgesOf(v)[next[v]]
			next[v]++
			switch state[u] {
			case open:
				if u == v {
					return fmt.Errorf("skeleton: node %q: takes itself", g.name(v))
				}
				w := g.edgesOf(u)[next[u]-1] // on the way from u to v, and so back to u
				return fmt.Errorf("skeleton: node %q: takes %q, which depends on it", g.name(u), g.name(w))
			case 0:
				state[u] = open
				stack = append(stack, u)
			}
		}
	}
	return nil
}

// complexity returns 𝒞(S), the mean number of factors of a drawn feature: 1 at an input node; at an inner
// node σ̂'(1) times the mean over its inputs (equation 11 of the paper).
func (g *graph) complexity() float64 {
	return g.expect(0, func(int32) float64 { return 1 })
}

// complexity returns 𝒞(S) as graph.complexity does, or the error of compile.
func (s Skeleton) complexity() (float64, error) {
	g, err := s.compile()
	if err != nil {
		return 0, err
	}
	return g.complexity(), nil
}

// expect returns the expected sum, over all nodes that a draw visits, of inner
// for an inner node and of input(v) for an input node.
func (g *graph) expect(inner float64, input func(v int32) float64) float64 {
	e := make([]float64, len(g.nodes))
	for _, v := range g.order {
		if g.isInput(v) {
			e[v] = input(v)
			continue
		}
		var sum float64
		for _, u := range g.edgesOf(v) {
			sum += e[u]
		}
		e[v] = inner
		if slope := g.duals[g.nodes[v].dual].slope; slope > 0 { // 0·∞ would be NaN
			e[v] += slope * sum / float64(len(g.edgesOf(v)))
		}
	}
	return e[g.output]
}

// kernel returns k_S(x, z). Shared nodes are evaluated once. It panics if a row does not have columns
// numbers.
func (g *graph) kernel(x, z []float32) float64 {
	if len(x) != g.columns || len(z) != g.columns {
		panic("skeleton: Kernel: rows of another length than the skeleton's")
	}
	k := make([]float64, len(g.nodes))
	for _, v := range g.order {
		inputs := g.edgesOf(v)
		if g.isInput(v) {
			k[v] = g.spaces[g.nodes[v].space].kernel(x, z, inputs)
			continue
		}
		var sum float64
		for _, u := range inputs {
			sum += k[u]
		}
		k[v] = g.duals[g.nodes[v].dual].dual(sum / float64(len(inputs)))
	}
	return k[g.output]
}

// kernel returns k_S(x, z), or NaN if the skeleton is not valid. It compiles the skeleton each time: for
// many pairs call compile once. It panics if a row has another length.
func (s Skeleton) kernel(x, z []float32) float64 {
	g, err := s.compile()
	if err != nil {
		return math.NaN()
	}
	return g.kernel(x, z)
}

package skeleton

import (
	"errors"
	"fmt"
)

// grid is an expanded layer: height×width positions of deep adjacent nodes each, from node first on.
type grid struct{ first, height, width, deep int }

func (d grid) nodes() int { return d.height * d.width * d.deep }

// appendWindow appends the nodes of the positions in a window.
func (d grid) appendWindow(edges []int32, top, left, rows, cols int) []int32 {
	for r := top; r < top+rows; r++ {
		first, end := d.first+(r*d.width+left)*d.deep, d.first+(r*d.width+left+cols)*d.deep
		for v := first; v < end; v++ {
			edges = append(edges, int32(v))
		}
	}
	return edges
}

// fromLayers expands the layers. It drops nodes that the output does not depend on, such as pixels that are
// in no window.
func fromLayers(s *Skeleton, columns int) (*graph, error) {
	if err := s.Space.Validate(); err != nil {
		return nil, fmt.Errorf("skeleton: %w", err)
	}
	plan, edges, err := s.plan()
	if err != nil {
		return nil, err
	}
	g := &graph{columns: columns, spaces: []Space{s.Space}, edges: make([]int32, 0, edges)}
	s.addInputs(g)
	if err := s.Space.checkColumns(len(g.edgesOf(0))); err != nil {
		return nil, fmt.Errorf("skeleton: input nodes: %w", err)
	}
	for i, l := range s.Layers {
		dual := g.addDual(l.Activation)
		below, here, stride := plan[i], plan[i+1], max(1, l.Stride)
		for at := range here.height * here.width {
			n := node{first: int32(len(g.edges)), space: -1, dual: dual, tag: int32(i)}
			if l.Full {
				g.edges = below.appendWindow(g.edges, 0, 0, below.height, below.width)
			} else {
				g.edges = below.appendWindow(g.edges, at/here.width*stride, at%here.width*stride, l.Conv, l.Conv)
			}
			n.end = int32(len(g.edges))
			g.nodes = append(g.nodes, n)
		}
	}
	g.output = int32(len(g.nodes) - 1)
	g.prune()
	g.name = g.layerName
	return g, nil
}

// plan returns the grids, inputs first, and the number of edges. It checks both against the limits.
func (s *Skeleton) plan() (plan []grid, edges int, err error) {
	if len(s.Layers) == 0 {
		return nil, 0, errors.New("skeleton: no layers; give at least one")
	}
	h, w, deep := s.area()
	columnsEach := 1
	if s.Space.vector() {
		deep, columnsEach = 1, deep
	}
	at := grid{height: h, width: w, deep: deep}
	plan = append(plan, at)
	nodes := at.nodes()
	edges = nodes * columnsEach
	if nodes > maxNodes || edges > maxEdges {
		return nil, 0, fmt.Errorf("skeleton: %d input nodes with %d columns; have %d nodes and %d columns at most", nodes,
			edges, maxNodes, maxEdges)
	}
	for i, l := range s.Layers {
		var takes int
		if at, takes, err = l.over(at); err != nil {
			return nil, 0, fmt.Errorf("skeleton: layer %d: %w", i+1, err)
		}
		at.first = nodes
		// Both factors are at most 10⁵, so products do not overflow.
		nodes += at.nodes()
		edges += at.nodes() * takes
		if nodes > maxNodes || edges > maxEdges {
			return nil, 0, fmt.Errorf("skeleton: layer %d: %d nodes and %d inputs and columns up to here; have %d and %d at "+
				"most", i+1, nodes, edges, maxNodes, maxEdges)
		}
		plan = append(plan, at)
	}
	if n := at.nodes(); n != 1 {
		return nil, 0, fmt.Errorf("skeleton: layer %d: the last layer has %d nodes and must have one, the output; add a "+
			"layer with full: true", len(s.Layers), n)
	}
	return plan, edges, nil
}

// over checks the layer. It returns its grid, without first, and the number of inputs of each of its nodes, given
// the grid of the layer below.
func (l *Layer) over(below grid) (at grid, takes int, err error) {
	at = grid{height: 1, width: 1, deep: 1}
	if err := l.Activation.Validate(); err != nil {
		return at, 0, err
	}
	switch {
	case l.Full && (l.Conv != 0 || l.Stride != 0):
		return at, 0, errors.New("full, with conv or stride; give one of full and conv")
	case l.Full:
		return at, below.nodes(), nil
	case l.Conv < 1 || l.Conv > min(below.height, below.width):
		return at, 0, fmt.Errorf("conv must be 1 to %d, because the layer below is %d×%d (have %d); or give full: true",
			min(below.height, below.width), below.height, below.width, l.Conv)
	case l.Stride < 0 || l.Stride > max(below.height, below.width):
		return at, 0, fmt.Errorf("stride must be 1 to %d, because the layer below is %d×%d (have %d)",
			max(below.height, below.width), below.height, below.width, l.Stride)
	}
	stride := max(1, l.Stride)
	at.height = (below.height-l.Conv)/stride + 1
	at.width = (below.width-l.Conv)/stride + 1
	return at, l.Conv * l.Conv * below.deep, nil
}

// area returns the part of the image that is used, or the columns as one pixel.
func (s *Skeleton) area() (height, width, channels int) {
	switch m := s.Image; {
	case m == Image{}:
		return 1, 1, s.Columns
	case m.Crop > 0:
		return m.Crop, m.Crop, m.Channels
	default:
		return m.Height, m.Width, m.Channels
	}
}

// addInputs adds the input nodes: one for each column, or one for each pixel if the space is one of
// vectors.
func (s *Skeleton) addInputs(g *graph) {
	h, w, channels := s.area()
	m := s.Image
	if m == (Image{}) {
		m = Image{Height: 1, Width: 1, Channels: channels}
	}
	top, left := (m.Height-h)/2, (m.Width-w)/2
	for y := top; y < top+h; y++ {
		for x := left; x < left+w; x++ {
			first := len(g.edges)
			for k := range channels {
				column := (y*m.Width+x)*channels + k
				if m.Planar {
					column = (k*m.Height+y)*m.Width + x
				}
				g.edges = append(g.edges, int32(column))
				if !s.Space.vector() {
					g.nodes = append(g.nodes, node{first: int32(first + k), end: int32(first + k + 1), dual: -1})
				}
			}
			if s.Space.vector() {
				g.nodes = append(g.nodes, node{first: int32(first), end: int32(len(g.edges)), dual: -1})
			}
		}
	}
}

// prune drops the nodes that the output does not depend on. The others keep their order.
func (g *graph) prune() {
	keep := make([]bool, len(g.nodes))
	keep[g.output] = true
	for v := g.output; v >= 0; v-- { // layers come after their inputs
		if keep[v] && !g.isInput(v) {
			for _, u := range g.edgesOf(v) {
				keep[u] = true
			}
		}
	}
	number := make([]int32, len(g.nodes))
	nodes, edges := g.nodes[:0], g.edges[:0]
	for v, n := range g.nodes {
		if !keep[v] {
			continue
		}
		inputs := g.edges[n.first:n.end]
		n.first = int32(len(edges))
		for _, u := range inputs {
			if n.dual >= 0 {
				u = number[u]
			}
			edges = append(edges, u)
		}
		n.end = int32(len(edges))
		number[v] = int32(len(nodes))
		nodes = append(nodes, n)
	}
	g.nodes, g.edges, g.output = nodes, edges, int32(len(nodes)-1)
}

// layerName returns the name of a node of a skeleton in layers: "x17" for the input node of column 17 (or
// of the columns from 17 on), "2.5" for node 5 of layer 2, counted from 1 without dropped nodes.
func (g *graph) layerName(v int32) string {
	if g.isInput(v) {
		return fmt.Sprintf("x%d", g.edgesOf(v)[0])
	}
	n := 1
	for u := v - 1; u >= 0 && !g.isInput(u) && g.nodes[u].tag == g.nodes[v].tag; u-- {
		n++
	}
	return fmt.Sprintf("%d.%d", g.nodes[v].tag+1, n)
}

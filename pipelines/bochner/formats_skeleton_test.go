package main

import (
	"cmp"
	"fmt"
	"math"
	"math/cmplx"
	"slices"
)

type spaceOf struct {
	Circle, Gaussian float64
	Binary           bool
	Categorical      int
	Sphere           string
}

type activationOf struct {
	Exponential float64
	ReLU        bool
	Step        int
	Polynomial  []float64
}

// graphOf is a skeleton.
type graphOf struct {
	Image *struct {
		Height, Width, Channels, Crop int
		Planar                        bool
	}
	Columns int
	Space   spaceOf
	Layers  []struct {
		Conv, Stride int
		Full         bool
		Activation   activationOf
	}
	Nodes []nodeOf

	output int
	drawn  []productOf // the features
	weight []float64
}

// nodeOf is a node. In takes the places of names.
type nodeOf struct {
	Name       string
	Space      spaceOf
	Columns    []int
	Activation activationOf
	Inputs     []string
	in         []int
	degrees    []float64 // the coefficients
}

// named finds the inputs of nodes that are listed, and the output.
func (g *graphOf) named() {
	place, taken := map[string]int{}, map[int]bool{}
	for i, n := range g.Nodes {
		place[n.Name] = i
	}
	for i := range g.Nodes {
		for _, name := range g.Nodes[i].Inputs {
			g.Nodes[i].in = append(g.Nodes[i].in, place[name])
			taken[place[name]] = true
		}
	}
	for taken[g.output] {
		g.output++
	}
}

// layered makes the nodes of layers.
func (g *graphOf) layered() {
	height, width, deep, top, left := 1, 1, g.Columns, 0, 0
	column := func(_, _, k int) int { return k }
	if m := g.Image; m != nil {
		height, width, deep = m.Height, m.Width, m.Channels
		if m.Crop > 0 {
			height, width = m.Crop, m.Crop
		}
		top, left = (m.Height-height)/2, (m.Width-width)/2
		column = func(y, x, k int) int { return (y*m.Width+x)*m.Channels + k }
		if m.Planar {
			column = func(y, x, k int) int { return (k*m.Height+y)*m.Width + x }
		}
	}
	for y := top; y < top+height; y++ {
		for x := left; x < left+width; x++ {
			var all []int
			for k := range deep {
				all = append(all, column(y, x, k))
				if g.Space.Gaussian == 0 && g.Space.Sphere == "" {
					g.Nodes = append(g.Nodes, nodeOf{Space: g.Space, Columns: all[k:]})
				}
			}
			if g.Space.Gaussian != 0 || g.Space.Sphere != "" {
				g.Nodes = append(g.Nodes, nodeOf{Space: g.Space, Columns: all})
			}
		}
	}
	deep, first := len(g.Nodes)/(height*width), 0
	for _, l := range g.Layers {
		below, across := first, width
		first = len(g.Nodes)
		size, stride := l.Conv, max(1, l.Stride)
		down, right := (height-size)/stride+1, (width-size)/stride+1
		if l.Full {
			down, right = 1, 1
		}
		for y := range down {
			for x := range right {
				n := nodeOf{Activation: l.Activation}
				for p := below; l.Full && p < first; p++ {
					n.in = append(n.in, p)
				}
				for p := range size * size * deep {
					n.in = append(n.in, below+((y*stride+p/deep/size)*across+x*stride+p/deep%size)*deep+p%deep)
				}
				g.Nodes = append(g.Nodes, n)
			}
		}
		height, width, deep = down, right, 1
	}
	g.output = len(g.Nodes) - 1
}

// coefficients returns the coefficients of an activation.
func (a *activationOf) coefficients() []float64 {
	switch {
	case a.Exponential > 0:
		y := 1 / a.Exponential
		c := []float64{math.Exp(-y)}
		for i := 1; ; i++ {
			next := c[i-1] * y / float64(i)
			if float64(i) > 2*y && next < 0x1p-61 {
				return c
			}
			c = append(c, next)
		}
	case a.ReLU:
		c := make([]float64, 65537)
		c[0], c[1], c[2] = 1/math.Pi, 0.5, 1/(2*math.Pi)
		for i := 2; i+2 < len(c); i += 2 {
			c[i+2] = c[i] * float64((i-1)*(i-1)) / float64((i+1)*(i+2))
		}
		return c
	case a.Step > 0:
		c := make([]float64, a.Step+1)
		c[0], c[1] = 0.5, 1/math.Pi
		for i := 1; i+2 < len(c); i += 2 {
			c[i+2] = c[i] * float64(i*i) / float64((i+1)*(i+2))
		}
		return c
	}
	return a.Polynomial
}

// productOf is a drawn product: of each node what it gives, and factors that are not repeated.
type productOf struct {
	sine, complex bool
	nodes         []int
	powers        [][]int // of a circle its power, of categories ω, of a sphere its choices
	factors       []factorOf
}

type factorOf struct {
	node   int
	vector []float64
	wave   bool
}

// draw returns draw j.
func (g *graphOf) draw(seed uint64, j int, hybrid bool) (p productOf) {
	s := newWords(seed, "skeleton/feature", uint64(j))
	p.sine = s.below(2) == 1
	got := map[int][]int{}
	vector := func(n int, by func(z []float64) float64) []float64 {
		z := make([]float64, n)
		for i := range z {
			z[i] = s.normal()
		}
		scale := by(z)
		for i := range z {
			z[i] = float64(float32(z[i] * scale))
		}
		return z
	}
	var visit func(v int)
	visit = func(v int) {
		n := &g.Nodes[v]
		d, sp := len(n.Columns), n.Space
		isInput := func(u int) bool { return len(g.Nodes[u].in) == 0 }
		switch {
		case d > 0 && sp.Circle > 0:
			got[v] = append(got[v], 1-2*int(s.below(2)))
		case d > 0 && sp.Binary:
			got[v] = append(got[v], 1)
		case d > 0 && sp.Categorical > 0:
			got[v] = append(got[v], int(s.below(uint64(sp.Categorical))))
		case d > 0 && sp.Gaussian > 0:
			p.factors = append(p.factors, factorOf{v,
				vector(d, func([]float64) float64 { return 1 / (2 * math.Pi * sp.Gaussian) }), true})
		case d > 0 && sp.Sphere == "pairs":
			got[v] = append(got[v], int(s.below(uint64(2*d))))
		case d > 0 && sp.Sphere == "coordinates":
			got[v] = append(got[v], int(s.below(uint64(d))))
		case d > 0:
			p.factors = append(p.factors, factorOf{v,
				vector(d, func(z []float64) float64 { return math.Sqrt(float64(d)) / norm(z) }), false})
		case hybrid && !slices.ContainsFunc(n.in, func(u int) bool { return !isInput(u) }):
			size := 0
			for _, u := range n.in {
				size += len(g.Nodes[u].Columns)
				if g.Nodes[u].Space.Circle > 0 {
					size++
				}
			}
			rate := 1 / (2 * math.Pi * math.Sqrt(n.Activation.Exponential*float64(len(n.in))))
			p.factors = append(p.factors, factorOf{v, vector(size, func([]float64) float64 { return rate }), true})
		default:
			if n.degrees == nil {
				n.degrees = n.Activation.coefficients()
			}
			var total, sum float64
			for _, a := range n.degrees {
				total += a
			}
			degree, u := 0, s.uniform()
			for sum = n.degrees[0]; !(u*total < sum); sum += n.degrees[degree] {
				degree++
			}
			for range degree {
				visit(n.in[s.below(uint64(len(n.in)))])
			}
		}
	}
	visit(g.output)
	g.reduce(&p, got)
	return p
}

// reduce stores the product of what nodes gave in p, or its conjugate.
func (g *graphOf) reduce(p *productOf, got map[int][]int) {
	sphere := func(v int) int { return min(1, len(g.Nodes[v].Space.Sphere)) }
	var all []int
	for v := range got {
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b int) int { return cmp.Or(sphere(a)-sphere(b), a-b) })
	waves := slices.ContainsFunc(p.factors, func(f factorOf) bool { return f.wave })
	sign := 0
	for _, v := range all {
		sp, powers, turn := g.Nodes[v].Space, got[v], 0
		sum := 0
		for _, a := range powers {
			sum += a
		}
		switch {
		case sp.Circle > 0:
			powers, turn = []int{sum}, sum
		case sp.Binary:
			powers = []int{sum % 2}
		case sp.Categorical > 0:
			sum %= sp.Categorical
			powers = []int{sum}
			if sum > 0 {
				turn = sp.Categorical - 2*sum
			}
		case sp.Sphere == "pairs":
			slices.Sort(powers)
			more := map[int]int{}
			for _, a := range powers {
				more[a/2] += 1 - 2*(a%2)
			}
			for j := 0; j < len(g.Nodes[v].Columns) && turn == 0; j++ {
				turn = more[j]
			}
		default:
			slices.Sort(powers)
		}
		if sign == 0 {
			sign = turn
		}
		if sp.Sphere != "" || powers[0] != 0 {
			p.nodes, p.powers = append(p.nodes, v), append(p.powers, powers)
		}
	}
	p.complex = sign != 0 || waves
	if sign < 0 && !waves {
		for i, v := range p.nodes {
			sp, powers := g.Nodes[v].Space, p.powers[i]
			for k, a := range powers {
				switch {
				case sp.Circle > 0:
					powers[k] = -a
				case sp.Categorical > 0:
					powers[k] = sp.Categorical - a
				case sp.Sphere == "pairs":
					powers[k] = a ^ 1
				}
			}
			slices.Sort(powers)
		}
	}
	p.sine = p.sine && p.complex
}

// features returns the features of a row.
func (g *graphOf) features(out int, hybrid bool, seed uint64, x []float64) []float64 {
	if g.drawn == nil {
		if g.Nodes == nil {
			g.layered()
		} else {
			g.named()
		}
		known := map[string]int{}
		draws := 0
		for ; draws < max(1000*out, 100_000); draws++ {
			p := g.draw(seed, draws, hybrid)
			key := fmt.Sprint(p.sine, p.nodes, p.powers)
			at, old := known[key]
			if old = old && len(p.factors) == 0; !old {
				if at = len(g.drawn); at == out {
					break
				}
				g.drawn, g.weight = append(g.drawn, p), append(g.weight, 0)
				if len(p.factors) == 0 {
					known[key] = at
				}
			}
			g.weight[at]++
		}
		for i, c := range g.weight {
			g.weight[i] = math.Sqrt(c / float64(draws))
		}
	}
	var phi []float64
	for i, p := range g.drawn {
		z := complex(g.weight[i], 0)
		if p.complex {
			z *= math.Sqrt2
		}
		if p.sine {
			z *= 1i
		}
		for k, v := range p.nodes {
			z *= g.Nodes[v].product(x, p.powers[k])
		}
		for _, f := range p.factors {
			var dot float64
			for k, v := range g.linear(f.node, x) {
				dot += v * f.vector[k]
			}
			if f.wave {
				z *= cmplx.Exp(complex(0, 2*math.Pi*dot))
			} else {
				z *= complex(dot, 0)
			}
		}
		phi = append(phi, real(z))
	}
	return phi
}

// product returns what powers of an input node give.
func (n *nodeOf) product(x []float64, powers []int) complex128 {
	first, d := x[n.Columns[0]], len(n.Columns)
	switch sp := n.Space; {
	case sp.Circle > 0:
		return cmplx.Exp(complex(0, 2*math.Pi*float64(powers[0])*float64(float32(first)/float32(sp.Circle))))
	case sp.Binary && first > 0:
		return 1
	case sp.Binary:
		return -1
	case sp.Categorical > 0:
		return cmplx.Exp(complex(0, 2*math.Pi*float64(powers[0])*math.RoundToEven(first)/float64(sp.Categorical)))
	}
	z := complex(1, 0)
	for _, a := range powers {
		if n.Space.Sphere == "coordinates" {
			z *= complex(math.Sqrt(float64(d))*x[n.Columns[a]], 0)
			continue
		}
		pair := complex(x[n.Columns[a/2]], x[n.Columns[(a/2+1)%d]])
		if a%2 == 1 {
			pair = cmplx.Conj(pair)
		}
		z *= complex(math.Sqrt(float64(d)/2), 0) * pair
	}
	return z
}

// linear returns the numbers that the vector of a factor is for.
func (g *graphOf) linear(v int, x []float64) (numbers []float64) {
	n := &g.Nodes[v]
	for _, u := range n.in {
		switch in := &g.Nodes[u]; {
		case in.Space.Circle > 0:
			angle := 2 * math.Pi * x[in.Columns[0]] / in.Space.Circle
			numbers = append(numbers, math.Cos(angle), math.Sin(angle))
		case in.Space.Binary:
			numbers = append(numbers, real(in.product(x, nil)))
		default:
			numbers = append(numbers, g.linear(u, x)...)
		}
	}
	for _, c := range n.Columns {
		numbers = append(numbers, x[c])
	}
	return numbers
}

package features

import (
	"slices"
)

// ShortForm is a short form of rows whose last columns are mostly zeros, such as one-hot encoded categories.
// A row in the short form is the first Dense numbers of the whole row, and then Groups indices of the other
// columns that are not zero, ascending: index i means that column Dense+i is Hot[i]. A number that is not an
// index stands for none. With Dense = 1 and Hot all 1, the short form of
//
//	(0.3, 0, 0, 1, 0, 1, 0)  is  (0.3, 2, 4)
//
// with indices into the columns after the first.
type ShortForm struct {
	Dense, Groups int
	Hot           []float32
}

// Row returns the lengths of a row in the short form and of a whole row.
func (s *ShortForm) Row() (short, whole int) { return s.Dense + s.Groups, s.Dense + len(s.Hot) }

// Within reports whether no number of Hot is beyond limit (see AngleLimit). Then rows in the short form show
// whether an angle can overflow.
func (s *ShortForm) Within(limit float32) bool {
	return !slices.ContainsFunc(s.Hot, func(v float32) bool { return !(v <= limit && v >= -limit) })
}

// Faster reports whether products with rows in the short form are faster. With 4 columns in a group both
// take the same time (package blas, BenchmarkHot). The results have the same bits.
func (s *ShortForm) Faster() bool { return len(s.Hot) >= 8*s.Groups }

// expand stores in dst the whole rows of the n rows of x in the short form.
func (s *ShortForm) expand(dst, x []float32, n int) {
	short, whole := s.Row()
	clear(dst[:n*whole])
	for i := range n {
		row, to := x[i*short:(i+1)*short], dst[i*whole:(i+1)*whole]
		copy(to, row[:s.Dense])
		for _, v := range row[s.Dense:] {
			if v >= 0 && v < float32(len(s.Hot)) {
				if k := int(v); float32(k) == v {
					to[s.Dense+k] = s.Hot[k]
				}
			}
		}
	}
}

// ShortFormMap is implemented by maps whose rows have a short form.
type ShortFormMap interface {
	Map
	// ShortForm returns the map to the short form of the same rows, and a description of the form; nil if
	// there is none.
	ShortForm() (Map, *ShortForm)
}

// Columnwise is implemented by maps that may map each column independently of the others.
type Columnwise interface {
	Map
	// Part returns the map of only the columns first to first+n−1, n ≥ 1, or nil if columns depend on
	// others.
	Part(first, n int) Map
}

// ShortFormRecipe is implemented by recipes that may have a map that takes rows in the short form.
type ShortFormRecipe interface {
	Recipe
	// NewShort draws the map that takes rows in the short form of c. Its features are the same, bit for bit,
	// except for the signs of zeros. It returns nil if the recipe has no such map.
	NewShort(c *ShortForm) (Map, error)
}

// ShortRow returns the length of rows in the short form after the steps of a chain; 0 if they have none or
// it is not worth it.
func ShortRow(steps []Recipe) (int, error) {
	maps := make([]Map, len(steps))
	for i, r := range steps {
		var err error
		if maps[i], err = r.New(); err != nil {
			return 0, err
		}
	}
	if _, c := shorten(maps); c != nil {
		short, _ := c.Row()
		return short, nil
	}
	return 0, nil
}

// shorten returns maps that pass rows in the short form between them, and a description of the form after
// the last; nil if that is impossible or not worth it.
func shorten(maps []Map) (short []Map, c *ShortForm) {
	if len(maps) == 0 {
		return nil, nil
	}
	start, ok := maps[0].(ShortFormMap)
	if !ok {
		return nil, nil
	}
	m, c := start.ShortForm()
	if c == nil || !c.Faster() {
		return nil, nil
	}
	short = []Map{m}
	for _, m := range maps[1:] {
		m, c = shortStep(m, c)
		if c == nil {
			return nil, nil
		}
		short = append(short, m)
	}
	return short, c
}

// shortChain returns maps for a chain that passes rows in the short form between its steps, given the maps of
// all steps but the last. They are nil if that is impossible or not worth it.
func shortChain(first []Map, last Recipe) (short []Map, gathered Map, err error) {
	g, ok := last.(ShortFormRecipe)
	if !ok {
		return nil, nil, nil
	}
	short, c := shorten(first)
	if c == nil {
		return nil, nil, nil
	}
	if gathered, err = g.NewShort(c); err != nil || gathered == nil {
		return nil, nil, err
	}
	return short, gathered, nil
}

// shortStep returns the counterpart of m for rows in the short form c, and the form of its output. It returns nil
// unless m maps column by column and the zeros to zeros.
func shortStep(m Map, c *ShortForm) (Map, *ShortForm) {
	by, ok := m.(Columnwise)
	if !ok {
		return nil, nil
	}
	hot := by.Part(c.Dense, len(c.Hot))
	if hot == nil {
		return nil, nil
	}
	zeros := make([]float32, len(c.Hot))
	to := &ShortForm{Dense: c.Dense, Groups: c.Groups, Hot: make([]float32, len(c.Hot))}
	hot.Apply(to.Hot, zeros, 1)
	if slices.ContainsFunc(to.Hot, func(v float32) bool { return v != 0 }) {
		return nil, nil
	}
	hot.Apply(to.Hot, c.Hot, 1)
	p := &partMap{width: c.Dense + c.Groups, dense: c.Dense}
	if c.Dense > 0 {
		p.part = by.Part(0, c.Dense)
	}
	return p, to
}

// partMap maps the first columns of rows and copies the others.
type partMap struct {
	part         Map // nil if dense is 0
	dense, width int
}

// Dims implements Map.
func (p *partMap) Dims() (in, out int) { return p.width, p.width }

// Apply maps the n rows of x. It panics if a slice is too short.
func (p *partMap) Apply(dst, x []float32, n int) {
	if n < 0 || len(x) < n*p.width || len(dst) < n*p.width {
		panic("features: Apply: slice too short")
	}
	for i := range n {
		from, to := x[i*p.width:(i+1)*p.width], dst[i*p.width:(i+1)*p.width]
		if p.part != nil {
			p.part.Apply(to, from, 1)
		}
		copy(to[p.dense:], from[p.dense:])
	}
}

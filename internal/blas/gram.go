package blas

import (
	"sync"

	workers "github.com/bochner-ml/bochner/internal/parallel"
)

// TileDim is the side of a Gram tile: 1.2 MB of float64.
const TileDim = 384

// NumTiles returns the number of tiles of the lower triangle of a d×d Gram.
func NumTiles(d int) int {
	t := (d + TileDim - 1) / TileDim
	return t * (t + 1) / 2
}

// TileRows returns the number of rows of the tiles (i, ·), which is also the
// number of columns of the tiles (·, i).
func TileRows(d, i int) int { return min(TileDim, d-i*TileDim) }

// TilesLen returns how many numbers the first n tiles of a d×d Gram have, or all of them if n is more.
func TilesLen(d, n int) int64 {
	t, all := (d+TileDim-1)/TileDim, NumTiles(d)
	rows, full := TileRows(d, t-1), all-t
	size := max(0, min(n, full))*TileDim*TileDim + max(0, min(n, all)-full)*rows*TileDim
	if n >= all {
		size -= rows * (TileDim - rows) // the last tile is a square
	}
	return int64(size)
}

// NewTiles returns the tiles of a d×d Gram, all zero: tile (i, j), j ≤ i, is
// the (i(i+1)/2 + j)-th, row-major, TileRows(d, i)×TileRows(d, j).
func NewTiles(d int) [][]float64 { return MakeTiles[float64](d) }

// MakeTiles is NewTiles for numbers of type T.
func MakeTiles[T float32 | float64](d int) [][]T {
	var lengths []int
	for i := 0; i*TileDim < d; i++ {
		for j := range i + 1 {
			lengths = append(lengths, TileRows(d, i)*TileRows(d, j))
		}
	}
	return MakeEach[T](lengths)
}

// TileBytes returns the memory of the tiles of a d×d matrix of numbers of size bytes each.
func TileBytes(d int, size int64) (bytes int64) {
	for i := 0; i*TileDim < d; i++ {
		rows := TileRows(d, i)
		bytes += size * int64(rows) * int64(i*TileDim+rows)
	}
	return bytes
}

// EachTile calls f for every tile (i, j) of a d×d Gram, which is the t-th, from threads goroutines;
// worker identifies them, 0 ≤ worker < threads.
func EachTile(d, threads int, f func(worker, t, i, j int)) {
	workers.Each(NumTiles(d), threads, func(worker, t int) {
		i, j := tileAt(t)
		f(worker, t, i, j)
	})
}

// Gram adds ZᵀZ to the tiles, in units of the grid. Entries are whole numbers,
// and so exact as long as they stay below 2⁵³: on a grid of 8 bits for 5·10¹¹ rows
// at least. Of the tiles on the diagonal, the part above the diagonal is not touched. Tiles that
// are nil are left out.
func Gram(tiles [][]float64, z *Bytes, threads int) { gram(tiles, z, nil, threads) }

// gram adds the Gram matrix of the rows of z, which have weights unless w is nil.
func gram(tiles [][]float64, z *Bytes, w *Weighted, threads int) {
	d := z.d
	places := placesOf(tiles, d)
	if z.n == 0 || len(places) == 0 {
		return
	}
	l := active()
	op := operands.Get().(*operand)
	defer operands.Put(op)
	op.block, op.w, op.quads = z, w, (z.n+3)/4
	left, scale := z.limbs(), 1.0
	right, panels, direct := left, z.panels()*left, left == 1
	if w != nil {
		scale = w.scale
		direct = direct && scale == 1 && w.limbs == 0
		if w.limbs > 0 {
			right = w.limbs
			panels += z.panels() * right
		}
	}
	if l.expand != nil {
		op.expand(l, panels, threads)
	}
	// A work item is a strip of 48 columns of a tile.
	const strips = TileDim / width
	parallel(threads, len(places)*strips, func(item int, s *scratch) {
		p := places[item/strips]
		rows, cols := TileRows(d, p.i), TileRows(d, p.j)
		col := item % strips * width
		if col >= cols {
			return
		}
		b := (p.j*TileDim + col) / lanes
		row := 0
		if p.i == p.j {
			row = col
		}
		for ; row < rows; row += lanes {
			a := (p.i*TileDim + row) / lanes
			g := tiles[p.t][row*cols+col:]
			whole := row+lanes <= rows && col+width <= cols && (p.i != p.j || row >= col+width)
			if direct && whole {
				l.gram(g, cols, op, a, b)
				continue
			}
			t := Grow(&s.f64, lanes*width)
			op.mulLimbs(l, t, a, b, left, right)
			for r := range min(lanes, rows-row) {
				end := min(width, cols-col)
				if p.i == p.j { // nothing above the diagonal
					end = min(end, row+r-col+1)
				}
				if end > 0 {
					addTo(g[r*cols:][:end], scale, t[r*width:][:end])
				}
			}
		}
	})
	op.block, op.w = nil, nil
}

// place is the position of a tile: tiles[t] has the rows of strip i and the columns of strip j.
type place struct{ t, i, j int }

// placesOf returns the places of the tiles that are not nil, of a matrix of dimension d.
func placesOf(tiles [][]float64, d int) []place {
	if len(tiles) != NumTiles(d) {
		panic("blas: another number of tiles than NumTiles")
	}
	places := make([]place, 0, len(tiles))
	for t, tile := range tiles {
		if tile == nil {
			continue
		}
		i, j := tileAt(t)
		if len(tile) != TileRows(d, i)*TileRows(d, j) {
			panic("blas: a tile of the wrong size")
		}
		places = append(places, place{t, i, j})
	}
	return places
}

// expand prepares panels of the block for the kernels of a level.
func (op *operand) expand(l *level, panels, threads int) {
	Grow(&op.sums, panels*lanes)
	if l.words && cap(op.words) < panels*panelBytes {
		op.words = Make[int16](panels * panelBytes)
	}
	op.words = op.words[:cap(op.words)]
	if l.packs {
		Grow(&op.packs, panels*packRuns)
	}
	parallel(threads, panels, func(p int, _ *scratch) { l.expand(op, p) })
}

// addTo adds s·x to g.
func addTo(g []float64, s float64, x []float64) {
	x = x[:len(g)]
	for i := range g {
		g[i] += float64(s * x[i]) // whole numbers, so nothing is rounded
	}
}

// operand is a block as the kernels of a level want it.
type operand struct {
	block *Bytes
	w     *Weighted // nil if the rows have no weights
	quads int       // quads of rows that count
	sums  []int32   // -128 times the sums of the columns, if the level wants them
	words []int16   // the block in words, [panel][row/2][column][row%2], likewise
	packs []packs   // the block in packs, [panel][run], likewise
}

var operands = sync.Pool{New: func() any { return new(operand) }}

// panel returns panel p, which belongs to the operand. The panels of the limbs of the block come
// first, then the panels of the limbs of its rows times their weights.
func (op *operand) panel(p int) []int8 {
	if panels := op.block.panels() * op.block.limbs(); p >= panels {
		return op.w.data[(p-panels)*panelBytes:][:op.quads*64]
	}
	return op.block.quads(p, 0, op.quads)
}

// mulLimbs overwrites t (lanes×width, row-major) with the products of the columns of panel a, which
// have left limbs, and of width columns from panel b on, which have right limbs. If w has limbs, the
// second columns are times the weights of the rows. The common factor of the weights is left out.
func (op *operand) mulLimbs(l *level, t []float64, a, b, left, right int) {
	clear(t)
	panels, from := op.block.panels(), 0
	if op.w != nil && op.w.limbs > 0 {
		from = left * panels
	}
	for power := left + right - 2; power >= 0; power-- {
		for i := max(0, power-right+1); i <= min(power, left-1); i++ {
			l.gram(t, width, op, a+i*panels, from+b+(power-i)*panels)
		}
		if power > 0 {
			scaleBy(t, limbBase)
		}
	}
}

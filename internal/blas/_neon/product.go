package main

import "fmt"

// real is a type of numbers: its name in Go, the end of a kernel's name, its size
// as a power of two, its arrangement in a vector, and its letter.
type real struct {
	typ, suffix string
	shift       int
	vector      string
	letter      string
}

var (
	float64s = real{"float64", "", 3, "2d", "d"}
	float32s = real{"float32", "32", 2, "4s", "s"}
)

func (f real) size() int { return 1 << f.shift }
func (f real) per() int  { return 16 >> f.shift } // numbers in a vector

// line is how many bytes of the packed columns belong to one step of a product.
const line = 64

// product writes the k steps of a tile: acc(i, j) += x_i·w_j, or -=, for the rows at x and
// the packed panels at w. It loads a vector of each row of x and multiplies by its elements
// one after the other. Pointers move forward.
func (w *writer) product(f real, op string, acc func(i, j int) int, x, panels []reg, k reg) {
	rows, first := len(x), len(x)*4*len(panels)
	xv := func(i int) int { return first + i }
	free := first + rows // from here on, two registers in turn hold columns
	turn := 0
	step := func(u int) {
		for p, from := range panels {
			for pair := range 2 {
				b := free + turn
				if turn += 2; free+turn+2 > 32 {
					turn = 0
				}
				w.v("ldp q%d, q%d, [x%d, #%d]", b, b+1, from, line*u+32*pair)
				for i := range rows {
					for j := range 2 {
						w.v("%s v%d.%s, v%d.%s, v%d.%s[%d]", op, acc(i, 4*p+2*pair+j), f.vector, b+j, f.vector, xv(i), f.letter, u)
					}
				}
			}
		}
	}
	w.steps(k, f.per(), func() {
		for i := range rows {
			w.v("ldr q%d, [x%d], #16", xv(i), x[i])
		}
		for u := range f.per() {
			step(u)
		}
		for _, from := range panels {
			w.op("ADD $%d, %v", line*f.per(), from)
		}
	})
	w.loop(k, 1, true, func() {
		for i := range rows {
			w.v("ldr %s%d, [x%d], #%d", f.letter, xv(i), x[i], f.size())
		}
		step(0)
		for _, from := range panels {
			w.op("ADD $%d, %v", line, from)
		}
	})
}

// rowsOf loads or stores the vectors of a tile, a pair at a time. Rows are stride apart from p,
// which then points behind them.
func (w *writer) rowsOf(op string, p, stride reg, rows, vectors int, acc func(i, j int) int) {
	for i := range rows {
		for j := 0; j < vectors; j += 2 {
			w.v("%s q%d, q%d, [x%d, #%d]", op, acc(i, j), acc(i, j+1), p, 16*j)
		}
		w.op("ADD %v, %v", stride, p)
	}
}

// pointers returns the addresses of rows from p, stride apart.
func (w *writer) pointers(p, stride reg, rows int) []reg {
	all := []reg{w.copy(p)}
	for i := 1; i < rows; i++ {
		r := w.reg()
		w.op("ADD %v, %v, %v", stride, all[i-1], r)
		all = append(all, r)
	}
	return all
}

// mulTile writes mulRxV: tiles of R rows by V·16 columns, one below the other.
func mulTile(w *writer, rows, vecs int) {
	w.text(fmt.Sprintf("mul%dx%dNEON", rows, vecs),
		"func(c *float32, cs int, init *float32, is int, x *float32, xs int, w *float32, ws int, k int, tiles int)",
		fmt.Sprintf("is mul for tiles of %d rows and %d×16 columns; k may be zero.", rows, vecs))
	n := 4 * vecs
	acc := func(i, j int) int { return i*n + j }
	c, cs, init, is := w.arg("c"), w.arg("cs", 2), w.arg("init"), w.arg("is", 2)
	x, xs, tiles := w.arg("x"), w.arg("xs", 2), w.arg("tiles")
	mark := w.next
	w.loop(tiles, 1, false, func() {
		w.next = mark
		w.rowsOf("ldp", init, is, rows, n, acc)
		pointers := w.pointers(x, xs, rows)
		panels, k := w.pointers(w.arg("w"), w.arg("ws", 2), vecs), w.arg("k")
		w.product(float32s, "fmla", acc, pointers, panels, k)
		w.rowsOf("stp", c, cs, rows, n, acc)
		for range rows {
			w.op("ADD %v, %v", xs, x)
		}
	})
	w.ret()
}

// subtractTile writes tile: 6 rows of 64 bytes.
func subtractTile(w *writer, f real) {
	const rows = 6
	w.text("tile"+f.suffix+"NEON", fmt.Sprintf("func(c *%[1]s, cs int, a *%[1]s, as int, b *%[1]s, k int)", f.typ),
		"is tile.")
	acc := func(i, j int) int { return i*4 + j }
	c, cs, a, as, b, k := w.arg("c"), w.arg("cs", f.shift), w.arg("a"), w.arg("as", f.shift), w.arg("b"), w.arg("k")
	w.rowsOf("ldp", w.copy(c), cs, rows, 4, acc)
	w.product(f, "fmls", acc, w.pointers(a, as, rows), []reg{b}, k)
	w.rowsOf("stp", c, cs, rows, 4, acc)
	w.ret()
}

// base is the number of right sides that solve takes, and of rows that factor takes.
const base = 32

// subtract subtracts from the vectors acc the vectors at from, times element 0 of bc.
func (w *writer) subtract(f real, from reg, n, bc int) {
	turn := bc + 1
	for j := 0; j < n; j += 2 {
		w.v("ldp q%d, q%d, [x%d, #%d]", turn, turn+1, from, 16*j)
		for h := range 2 {
			w.v("fmls v%d.%s, v%d.%s, v%d.%s[0]", j+h, f.vector, turn+h, f.vector, bc, f.letter)
		}
		if turn += 2; turn+2 > 32 {
			turn = bc + 1
		}
	}
}

// one is acc for a single row.
func one(_, j int) int { return j }

// solve writes solve: 32 right sides at once.
func solve(w *writer, f real) {
	pitch := base * f.size()
	n := pitch / 16
	w.text("solve"+f.suffix+"NEON", fmt.Sprintf("func(x, l *%s, ls, n int)", f.typ), "is solve.")
	first, row, ls, count := w.arg("x"), w.arg("l"), w.arg("ls", f.shift), w.arg("n")
	own, done, zero := w.copy(first), w.reg(), w.reg()
	w.op("MOVD $0, %v", done)
	w.op("MOVD $0, %v", zero)
	from, l, p := w.reg(), w.reg(), w.reg()
	w.loop(count, 1, false, func() {
		at := w.copy(own)
		w.rowsOf("ldp", at, zero, 1, n, one)
		w.op("MOVD %v, %v", first, from)
		w.op("MOVD %v, %v", row, l)
		w.op("MOVD %v, %v", done, p)
		w.loop(p, 1, true, func() {
			w.v("ldr %s%d, [x%d], #%d", f.letter, n, l, f.size())
			w.subtract(f, from, n, n)
			w.op("ADD $%d, %v", pitch, from)
		})
		w.v("ld1r {v%d.%s}, [x%d]", n, f.vector, l)
		for j := range n {
			w.v("fdiv v%d.%s, v%d.%s, v%d.%s", j, f.vector, j, f.vector, n, f.vector)
		}
		w.rowsOf("stp", own, zero, 1, n, one)
		w.op("ADD $%d, %v", pitch, own)
		w.op("ADD %v, %v", ls, row)
		w.op("ADD $1, %v", done)
	})
	w.ret()
}

// factor writes factor: 32 rows, column by column; each column is divided by the root of its
// diagonal element.
func factor(w *writer, f real) {
	pitch := base * f.size()
	n := pitch / 16
	w.text("factor"+f.suffix+"NEON", fmt.Sprintf("func(x *%s, n int) (pivot int)", f.typ), "is factor.")
	first, count := w.arg("x"), w.arg("n")
	own, done, offset, zero := w.copy(first), w.reg(), w.reg(), w.reg()
	for _, r := range []reg{done, offset, zero} {
		w.op("MOVD $0, %v", r)
	}
	from, p := w.reg(), w.reg()
	positive := w.label()
	w.loop(count, 1, false, func() {
		w.rowsOf("ldp", own, zero, 1, n, one)
		w.op("MOVD %v, %v", first, from)
		w.op("MOVD %v, %v", done, p)
		w.loop(p, 1, true, func() {
			w.v("ldr %s%d, [x%d, x%d]", f.letter, n, from, offset)
			w.subtract(f, from, n, n)
			w.op("ADD $%d, %v", pitch, from)
		})
		w.rowsOf("stp", own, zero, 1, n, one)
		w.v("ldr %s%d, [x%d, x%d]", f.letter, n, own, offset)
		w.v("fcmp %s%d, #0.0", f.letter, n)
		w.op("BGT %s", positive)
		w.op("MOVD %v, %s", done, w.slot("pivot"))
		w.ret()
		fmt.Fprintf(&w.asm, "%s:\n", positive)
		w.v("fsqrt %s%d, %s%d", f.letter, n, f.letter, n)
		w.v("dup v%d.%s, v%d.%s[0]", n+1, f.vector, n, f.letter)
		for j := range n {
			w.v("fdiv v%d.%s, v%d.%s, v%d.%s", j, f.vector, j, f.vector, n+1, f.vector)
		}
		w.rowsOf("stp", own, zero, 1, n, one)
		w.v("str %s%d, [x%d, x%d]", f.letter, n, own, offset)
		w.op("ADD $%d, %v", pitch, own)
		w.op("ADD $%d, %v", f.size(), offset)
		w.op("ADD $1, %v", done)
	})
	w.op("MOVD %v, %s", done, w.slot("pivot"))
	w.ret()
}

package main

// The polynomial of turns.go in the package.
var polynomial = []uint32{0x40c90fda, 0xc2255dda, 0x42a333b5, 0xc299194b, 0x421e20e6}

// Registers of the cosine: constants, and four vectors for each temporary value, so that
// four chains run at once.
const (
	coefficients = 0 // to 4
	quarter      = 5
	scale        = 6
	half         = 7
	sign         = 8
)

var angle, value, square, sum, next = span(12, 4), span(16, 4), span(20, 4), span(24, 4), span(28, 4)

func (w *writer) trig(sine bool) {
	for i, c := range polynomial {
		w.words(coefficients+i, c)
	}
	w.words(quarter, 0x3e800000)
	if sine {
		w.words(half, 0x3f000000)
		w.words(sign, 0x80000000)
	}
}

// each writes an instruction for all four vectors.
func (w *writer) each(format string, operands func(i int) []any) {
	for i := range 4 {
		w.v(format, operands(i)...)
	}
}

// three writes dst = op(a, b) for all four vectors. Constants have one vector.
func (w *writer) three(op string, dst, a, b []int) {
	w.each(op+" v%d.4s, v%d.4s, v%d.4s", func(i int) []any { return []any{dst[i], a[i], b[i]} })
}

func same(v int) []int { return []int{v, v, v, v} }

// reduce subtracts whole turns from angle.
func (w *writer) reduce() {
	w.each("frintn v%d.4s, v%d.4s", func(i int) []any { return []any{value[i], angle[i]} })
	w.three("fsub", angle, angle, value)
}

// quarterSine replaces u in value by scale·sin 2πu.
func (w *writer) quarterSine() {
	w.three("fmul", square, value, value)
	from, to := same(coefficients+4), sum
	for c := 3; c >= 0; c-- {
		w.each("mov v%d.16b, v%d.16b", func(i int) []any { return []any{to[i], coefficients + c} })
		w.three("fmla", to, from, square)
		if c == 3 {
			from, to = sum, next
		} else {
			from, to = to, from
		}
	}
	w.three("fmul", value, from, value)
	w.three("fmul", value, value, same(scale))
}

// cosine makes value the scaled cosine of the reduced angle.
func (w *writer) cosine() {
	w.each("fabs v%d.4s, v%d.4s", func(i int) []any { return []any{value[i], angle[i]} })
	w.three("fsub", value, same(quarter), value)
	w.quarterSine()
}

// sine makes value its scaled sine.
func (w *writer) sine() {
	w.each("fabs v%d.4s, v%d.4s", func(i int) []any { return []any{value[i], angle[i]} })
	w.three("fsub", square, same(half), value)
	w.three("fmin", value, value, square)
	w.each("bit v%d.16b, v%d.16b, v%d.16b", func(i int) []any { return []any{value[i], angle[i], sign} })
	w.quarterSine()
}

// cosines writes cos and cosSin, for 16 columns at a time.
func cosines(w *writer, sine bool) {
	if sine {
		w.text("cosSinNEON", "func(dst *float32, ds, sin int, src *float32, ss int, rows, vecs int, scale float32)",
			"is cosSin.")
	} else {
		w.text("cosNEON", "func(dst *float32, ds int, src *float32, ss int, rows, vecs int, scale float32)", "is cos.")
	}
	w.argument32(scale, "scale")
	w.trig(sine)
	dst, src, rows := w.arg("dst"), w.arg("src"), w.arg("rows")
	ds, ss, vecs := w.arg("ds", 2), w.arg("ss", 2), w.arg("vecs")
	var sin, e reg
	if sine {
		sin, e = w.arg("sin", 2), w.reg()
	}
	d, s, n := w.reg(), w.reg(), w.reg()
	quads := func(op string, v []int, p reg) {
		w.v(op+" q%d, q%d, [x%d, #0]", v[0], v[1], p)
		w.v(op+" q%d, q%d, [x%d, #32]", v[2], v[3], p)
		w.op("ADD $64, %v", p)
	}
	w.loop(rows, 1, false, func() {
		w.op("MOVD %v, %v", dst, d)
		w.op("MOVD %v, %v", src, s)
		w.op("MOVD %v, %v", vecs, n)
		if sine {
			w.op("ADD %v, %v, %v", sin, dst, e)
		}
		w.loop(n, 1, false, func() {
			quads("ldp", angle, s)
			w.reduce()
			w.cosine()
			quads("stp", value, d)
			if sine {
				w.sine()
				quads("stp", value, e)
			}
		})
		w.op("ADD %v, %v", ds, dst)
		w.op("ADD %v, %v", ss, src)
	})
	w.ret()
}

// pack stores four rows of 4 whole numbers as quads of bytes: shifts and inserts put row i
// into byte i of each word.
func (w *writer) pack(rows []int, to reg) {
	for i := 1; i < 4; i++ {
		w.v("sli v%d.4s, v%d.4s, #%d", rows[0], rows[i], 8*i)
	}
	w.v("str q%d, [x%d], #16", rows[0], to)
}

// quads runs body for each 4 of the 16 columns of every quad of rows, with their numbers in
// angle.
func (w *writer) quads(body func()) {
	src, ss, quads := w.arg("src"), w.arg("ss", 2), w.arg("quads")
	n := w.reg()
	mark := w.next
	w.loop(quads, 1, false, func() {
		w.next = mark
		rows := w.pointers(src, ss, 4)
		w.op("MOVD $4, %v", n)
		w.loop(n, 1, false, func() {
			for i, p := range rows {
				w.v("ldr q%d, [x%d], #16", angle[i], p)
			}
			body()
		})
		w.op("ADD %v<<2, %v", ss, src)
	})
}

// cosineBytes writes cosBytes and cosSinBytes.
func cosineBytes(w *writer, sine bool) {
	if sine {
		w.text("cosSinBytesNEON", "func(cos, sin *int8, src *float32, ss, quads int)", "is cosSinBytes.")
	} else {
		w.text("cosBytesNEON", "func(cos *int8, src *float32, ss, quads int)", "is cosBytes.")
	}
	w.trig(sine)
	w.words(scale, 0x42fe0000)
	cos := w.arg("cos")
	var sin reg
	if sine {
		sin = w.arg("sin")
	}
	// NaN becomes 0 when it becomes a whole number.
	round := func() {
		w.each("fcvtns v%d.4s, v%d.4s", func(i int) []any { return []any{value[i], value[i]} })
	}
	w.quads(func() {
		w.reduce()
		w.cosine()
		round()
		w.pack(value, cos)
		if sine {
			w.sine()
			round()
			w.pack(value, sin)
		}
	})
	w.ret()
}

// scaled makes value the numbers times the factor in register 0, cut to ±most, and
// counts in register 9 those whose absolute values are below the edge.
func (w *writer) scaled() {
	w.three("fmul", value, angle, same(0))
	w.three("facgt", square, same(1), value)
	for i := range 4 {
		w.v("sub v9.4s, v9.4s, v%d.4s", square[i]) // a mask is -1
	}
	w.three("fmin", value, value, same(2))
	w.three("fmax", value, value, same(3))
	w.each("fcvtns v%d.4s, v%d.4s", func(i int) []any { return []any{value[i], value[i]} })
}

// cut ends a function and returns how many numbers were not below the edge.
func (w *writer) cut() {
	w.v("addv s9, v9.4s")
	w.v("fmov w0, s9")
	n := reg(1)
	w.op("MOVD %s, %v", w.slot("quads"), n)
	w.op("LSL $6, %v", n)
	w.op("SUB R0, %v", n)
	w.op("MOVD %v, %s", n, w.slot("cut"))
	w.ret()
}

// quantize writes quantize.
func quantize(w *writer) {
	w.text("quantizeNEON", "func(dst *int8, src *float32, ss, quads int, f float32) (cut int64)", "is quantize.")
	w.argument32(0, "f")
	w.words(1, 0x42ff0000) // 127.5
	w.words(2, 0x42fe0000) // 127
	w.words(3, 0xc2fe0000)
	w.clear(9)
	dst := w.arg("dst")
	w.quads(func() {
		w.scaled()
		w.pack(value, dst)
	})
	w.cut()
}

// split writes split: numbers of steps v = 254·h + l, with h = ⌊(v+127)/254⌋.
func split(w *writer) {
	w.text("splitNEON", "func(low, high *int8, src *float32, ss, quads int, f float32) (cut int64)", "is split.")
	w.argument32(0, "f")
	w.words(1, 0x46fd0100) // MaxSteps and a half
	w.words(2, 0x46fd0000)
	w.words(3, 0xc6fd0000)
	w.words(4, 0x42ff0000) // 127.5
	w.words(5, 0x3b810204) // 1/254
	w.words(6, 254)
	w.clear(9)
	low, high := w.arg("low"), w.arg("high")
	w.quads(func() {
		w.scaled()
		// The quotient is at least 1/508 from a whole number, and its rounding error far below.
		w.each("scvtf v%d.4s, v%d.4s", func(i int) []any { return []any{sum[i], value[i]} })
		w.three("fadd", sum, sum, same(4))
		w.three("fmul", sum, sum, same(5))
		w.each("fcvtms v%d.4s, v%d.4s", func(i int) []any { return []any{sum[i], sum[i]} })
		w.three("mls", value, sum, same(6))
		w.pack(value, low)
		w.pack(sum, high)
	})
	w.cut()
}

package main

import "fmt"

// transpose writes columns: 8 rows by as many columns as a vector has numbers, at a time.
func transpose(w *writer, f real) {
	w.text("columns"+f.suffix+"NEON", fmt.Sprintf("func(dst *%[1]s, ds int, src *%[1]s, ss int, steps int)", f.typ),
		fmt.Sprintf("is columns, of %d columns in each step.", f.per()))
	rows, steps := w.pointers(w.arg("src"), w.arg("ss", f.shift), 8), w.arg("steps")
	dst, ds := w.arg("dst"), w.arg("ds", f.shift)
	w.loop(steps, 1, true, func() {
		for i, p := range rows {
			w.v("ldr q%d, [x%d], #16", i, p)
		}
		columns := make([][]int, f.per()) // the vectors of each
		if f == float64s {
			for i := 0; i < 8; i += 2 {
				w.v("trn1 v%d.2d, v%d.2d, v%d.2d", 16+i, i, i+1)
				w.v("trn2 v%d.2d, v%d.2d, v%d.2d", 17+i, i, i+1)
			}
			columns = [][]int{{16, 18, 20, 22}, {17, 19, 21, 23}}
		} else {
			for four := 0; four < 8; four += 4 {
				for i := range 2 { // pairs of rows: columns 0 and 1, or 2 and 3
					w.v("zip1 v%d.4s, v%d.4s, v%d.4s", 16+2*i, four+2*i, four+2*i+1)
					w.v("zip2 v%d.4s, v%d.4s, v%d.4s", 17+2*i, four+2*i, four+2*i+1)
				}
				for c := range 4 {
					w.v("trn%d v%d.2d, v%d.2d, v%d.2d", 1+c%2, 20+four+c, 16+c/2, 18+c/2)
					columns[c] = append(columns[c], 20+four+c)
				}
			}
		}
		for _, v := range columns {
			for i := 0; i < len(v); i += 2 {
				w.v("stp q%d, q%d, [x%d, #%d]", v[i], v[i+1], dst, 16*i)
			}
			w.op("ADD %v, %v", ds, dst)
		}
	})
	w.ret()
}

//go:build (amd64 || arm64) && !purego

package blas

type (
	scoresKernel             func(dst *float32, ds int, x *float32, xs int, w *float32, ws int, n int)
	gradientKernel[T, X any] func(g *T, gs int, c *T, cs int, x *X, xs int, rows int)
)

// thinScores are the kernels for a number of outputs: for rows at once, and for one.
type thinScores struct {
	outs, rows   int
	tile, single scoresKernel
}

// scoresBy returns scores that checks its slices and then works in tiles: outputs by the kernels in order, so those
// for the most outputs come first, and rows by k.rows and then one by one.
func scoresBy(kernels []thinScores) func(dst []float32, ds int, x []float32, xs int, w []float32, ws int, n, rows,
	outs int) {
	return func(dst []float32, ds int, x []float32, xs int, w []float32, ws int, n, rows, outs int) {
		reach(dst, rows, ds, outs)
		reach(x, rows, xs, n)
		reach(w, outs, ws, n)
		o := 0
		for _, k := range kernels {
			for ; o+k.outs <= outs; o += k.outs {
				i := 0
				for ; i+k.rows <= rows; i += k.rows {
					k.tile(ptr(dst[i*ds+o:]), ds, ptr(x[i*xs:]), xs, ptr(w[o*ws:]), ws, n)
				}
				for ; i < rows; i++ {
					k.single(ptr(dst[i*ds+o:]), ds, ptr(x[i*xs:]), xs, ptr(w[o*ws:]), ws, n)
				}
			}
		}
	}
}

// thinGradient are the kernels for a number of outputs: for many columns at once,
// and for a number of them that divides 16.
type thinGradient[T, X any] struct {
	outs       int
	tile, edge gradientKernel[T, X]
}

// thinColumns are the columns of the kernels of thinGradient.
type thinColumns struct{ tile, edge int }

// gradientBy returns a gradient that checks its slices and then works in tiles: have.tile columns at a time, then
// have.edge columns, and outputs by the kernels in order.
func gradientBy[T, X any](kernels []thinGradient[T, X], have thinColumns) func(g []T, gs int, c []T, cs int, x []X,
	xs, rows, cols, outs int) {
	return func(g []T, gs int, c []T, cs int, x []X, xs int, rows, cols, outs int) {
		reach(g, outs, gs, cols)
		reach(c, rows, cs, outs)
		reach(x, rows, xs, cols)
		for j := 0; j < cols; {
			wide := j+have.tile <= cols
			o := 0
			for _, k := range kernels {
				f := k.edge
				if wide {
					f = k.tile
				}
				for ; o+k.outs <= outs; o += k.outs {
					f(ptr(g[o*gs+j:]), gs, ptr(c[o:]), cs, ptr(x[j:]), xs, rows)
				}
			}
			if wide {
				j += have.tile
			} else {
				j += have.edge
			}
		}
	}
}

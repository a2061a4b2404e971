package ridge

import "testing"

// More features, folds, values and outputs are more work, whatever the solver.
func TestWorkGrows(t *testing.T) {
	for _, rows := range []int64{100, 3000, 30000, 1e6} {
		for _, outputs := range []int{1, 26} {
			var last float64
			for dim := 256; dim <= 1<<14; dim *= 2 {
				s := Shape{Dim: dim, Outputs: outputs}
				w := Work(s, rows, 5, 8, false)
				other := (rows <= int64(dim)) != (rows <= int64(dim)/2) // by another solver if only one fold judges
				if one := Work(s, rows, 1, 1, false); one >= w || Work(s, rows, 2, 8, true) >= w && !other || one <= 0 {
					t.Errorf("%d features, %d rows: %g s, %g s for one value", dim, rows, w, one)
				}
				if !(w > last) && dim > 1024 && !other { // by another solver from 1,024 on, and up to as many features as rows
					t.Errorf("%d features, %d rows, %d outputs: %g s after %g", dim, rows, outputs, w, last)
				}
				last = w
			}
			if least := Work(Shape{Dim: 512, Outputs: outputs}, rows, 5, 8, false); last < 50*least {
				t.Errorf("%d rows, %d outputs: %g s for 16,384 features, %g for 512", rows, outputs, last, least)
			}
		}
	}
}

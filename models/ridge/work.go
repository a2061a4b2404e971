package ridge

// Work returns about how many seconds Solve takes on a thread of a machine of 2024 if it chooses among
// that many values of λ: for comparing sizes, of which one has been measured. The steps of a
// search depend on the data; the most common number is taken. With first, only the first fold is
// held out.
func Work(shape Shape, rows int64, folds, values int, first bool) float64 {
	d, k := float64(shape.Dim), float64(shape.Outputs)
	const (
		double = 50e9  // operations a second of a factorisation in float64
		single = 100e9 // and in float32
		touch  = 5e-9  // seconds to read and write an element of a square
	)
	cube, square := d*d*d/3, d*d*touch
	fit := cube/double + 3*square // with loading the sum
	if folds < 2 || values < 2 {
		return fit
	}
	systems := float64(values * folds) // solves
	if first {
		systems = float64(values)
	}
	load := float64(2*folds) * square
	part := 0.0
	if shape.Dim >= partFrom && values > partValues && folds <= partFolds {
		if systems = 3; !first {
			systems += 2 * float64(folds-1)
		}
		if !few(shape, rows, first) {
			small := shape
			small.Dim = len(partOf(shape.Dim))
			part = Work(small, rows, folds, values, first)
		}
	}
	product := square * (1 + k/4) // of all weights with a square
	n := float64(rows)
	switch by := solverFor(shape, rows); {
	case few(shape, rows, first):
		rest := n * float64(folds-1) / float64(folds)
		return fit + load + n*n*d/double + n*n*d/float64(folds)/double + systems*rest*rest*rest/3/double
	case by == shared:
		// A factor for each of a few values, and a dozen steps for each solve.
		return fit + part + load + 3*cube/single + systems*(3*square+12*product)
	case by == alone:
		return fit + part + load + systems*(cube/single+6*square+3*product)
	}
	return fit + part + load + systems*(cube/double+4*square+product)
}

package solver

// Speeds of a thread of a machine of 2024.
const (
	doubleSpeed = 40e9 // operations a second of products in float64
	singleSpeed = 70e9 // and in float32
	thinSpeed   = 15e9 // in float64 of a product of which one side is a few rows
	exactSpeed  = 4e11 // of exact products
	touchTime   = 3e-9 // seconds to read and write a number of a square
	turnTime    = 1e-9 // and to turn a feature on its grid into a number
)

// work estimates the steps of Solve.
type work struct{ d, k float64 }

// touch returns the seconds to read and write a square of all features.
func (w work) touch() float64 { return w.d * w.d * touchTime }

// product multiplies all weights with a square.
func (w work) product() float64 { return w.touch()/2 + 2*w.d*w.d*w.k/doubleSpeed }

// exact solves a system by a factor in float64.
func (w work) exact() float64 {
	return w.d*w.d*w.d/3/doubleSpeed + 2*w.touch() + 2*w.product()
}

// steps are steps of a descent, with a product and the two triangles of a factor.
func (w work) steps(n float64) float64 {
	return w.touch() + n*(w.product()+w.touch()/4+2*w.d*w.d*w.k/singleSpeed)
}

// factor is one in float32.
func (w work) factor() float64 { return w.d*w.d*w.d/3/singleSpeed + 2*w.touch() }

// Far tells whether a factor of all rows is worth so much that it also serves the values of λ next
// to its own, by far of which its descents take some steps more.
func Far(shape Shape) bool {
	w := work{float64(shape.Dim), float64(shape.Outputs)}
	return w.factor() > w.steps(farSteps)
}

// farSteps is how many steps a descent takes more for a tenth of the λ of the factor, or ten times as much.
const farSteps = 7

// Work is ridge.Work.
func Work(shape Shape, rows int64, folds, values int, first bool) float64 {
	w := work{float64(shape.Dim), float64(shape.Outputs)}
	fit := w.exact() + w.touch() // with centring the sum
	if folds < 2 || values < 2 {
		return fit
	}
	judges, held := float64(folds), 1/float64(folds) // held is the share of the rows of a fold that judges
	if first {
		judges, held = 1, 1/float64(Folds)
	}
	few := Few(shape, rows) // then rows are carried
	descends := shape.Dim >= PartFrom && values > PartValues && folds <= PartFolds && !(few && rows <= FewTries)
	systems := float64(values) * judges
	if descends {
		systems = 3 + 1.6*(judges-1)
	}
	part := 0.0
	if descends {
		small := shape
		small.Dim = len(PartOf(shape.Dim))
		part = Work(small, rows, folds, values, first)
	}
	if few {
		n := float64(rows)
		rest := n * (1 - held)
		sums := (n*w.d*w.d + n*n*w.d) / exactSpeed // the sum of all rows, and the kernel
		solve := rest*rest*rest/3/doubleSpeed + 2*rest*rest*touchTime + 2*n*w.d*w.k/thinSpeed + n*w.d*turnTime
		return fit + part + sums + systems*solve
	}
	load := w.touch() * float64(folds) // the sums of the folds, added up
	if shape.Dim > RereadAbove {
		load *= 2 + systems // each time
	}
	judge := w.product()/2 + w.touch()/min(systems, 3) // its errors, and the centred sum of its rows
	switch For(shape, rows, first) {
	case Shared:
		// A factor for each of a few values, or for one of them, and a dozen steps for each solve.
		factors := 3 * w.factor()
		if Far(shape) {
			factors = w.factor() + 2*w.steps(farSteps)
		}
		return fit + part + load + factors + systems*(w.steps(12)+judge)
	case Alone:
		return fit + part + load + systems*(w.factor()+w.steps(3)+judge)
	}
	return fit + part + load + systems*(w.exact()+judge)
}

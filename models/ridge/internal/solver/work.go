package solver

// Speeds of a thread of a machine of 2024.
const (
	doubleSpeed = 40e9 // float64 operations per second in products
	singleSpeed = 70e9 // in float32
	thinSpeed   = 15e9 // in float64, for products in which one factor has few rows
	exactSpeed  = 4e11 // integer operations per second in exact products
	touchTime   = 3e-9 // seconds to read and write an entry of a D×D matrix
	turnTime    = 1e-9 // seconds to convert a feature from its grid
)

// work estimates the steps of Solve.
type work struct{ d, k float64 }

// touch returns the seconds to read and write a D×D matrix.
func (w work) touch() float64 { return w.d * w.d * touchTime }

// product returns the seconds to multiply a D×D matrix by the weights.
func (w work) product() float64 { return w.touch()/2 + 2*w.d*w.d*w.k/doubleSpeed }

// exact returns the seconds to solve a system by a float64 factor.
func (w work) exact() float64 {
	return w.d*w.d*w.d/3/doubleSpeed + 2*w.touch() + 2*w.product()
}

// steps returns the seconds of n steps of a descent: each has a product and two triangular solves.
func (w work) steps(n float64) float64 {
	return w.touch() + n*(w.product()+w.touch()/4+2*w.d*w.d*w.k/singleSpeed)
}

// factor returns the seconds of a float32 factorisation.
func (w work) factor() float64 { return w.d*w.d*w.d/3/singleSpeed + 2*w.touch() }

// SharesFactors reports whether a factor of all rows is so expensive that it should also serve the neighbouring
// values of λ, although their descents then take more steps.
func SharesFactors(shape Shape) bool {
	w := work{float64(shape.Dim), float64(shape.Outputs)}
	return w.factor() > w.steps(farSteps)
}

// farSteps is how many more steps a descent takes if its λ is ten times the factor's, or a tenth.
const farSteps = 7

// Work implements ridge.SolveSeconds.
func Work(shape Shape, p Plan, rows int64, values int) float64 {
	w := work{float64(shape.Dim), float64(shape.Outputs)}
	fit := w.exact() + w.touch() // including centring the sum
	if p.Folds < 2 || values < 2 {
		return fit
	}
	judges, held := float64(p.Folds), 1/float64(p.Folds) // held is the share of the rows in a held-out fold
	if p.FirstOnly {
		judges, held = 1, 1/float64(Folds)
	}
	few := StoresRows(shape, rows) // rows are stored
	descends := shape.Dim >= SubsetFrom && values > SubsetValues && p.Folds <= SubsetFolds && !(few && rows <= FewTries)
	systems := float64(values) * judges
	if descends {
		systems = 3 + 1.6*(judges-1)
	}
	subset := 0.0
	if descends {
		small := shape
		small.Dim = len(FeatureSubset(shape.Dim))
		subset = Work(small, p, rows, values)
	}
	if few {
		n := float64(rows)
		rest := n * (1 - held)
		sums := (n*w.d*w.d + n*n*w.d) / exactSpeed // the sum of all rows, and the kernel
		solve := rest*rest*rest/3/doubleSpeed + 2*rest*rest*touchTime + 2*n*w.d*w.k/thinSpeed + n*w.d*turnTime
		return fit + subset + sums + systems*solve
	}
	load := w.touch() * float64(p.Folds) // the sums of the folds, added up
	if shape.Dim > RereadAbove {
		load *= 2 + systems // read again for each
	}
	judge := w.product()/2 + w.touch()/min(systems, 3) // the errors, and centring the fold's sum
	switch p.MethodFor(shape, rows) {
	case SharedFactor:
		// A factor for each of a few values (or for one of them), and a dozen steps for each solve.
		factors := 3 * w.factor()
		if SharesFactors(shape) {
			factors = w.factor() + 2*w.steps(farSteps)
		}
		return fit + subset + load + factors + systems*(w.steps(12)+judge)
	case OwnFactor:
		return fit + subset + load + systems*(w.factor()+w.steps(3)+judge)
	}
	return fit + subset + load + systems*(w.exact()+judge)
}

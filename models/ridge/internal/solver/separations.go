package solver

// ClassFold has sums over the rows of a fold, and the weights of the classes in them.
type ClassFold struct {
	HeldOutSums           // Targets holds the number of rows of each class, or the sum of their weights
	Rows        float64   // number of rows
	Weights     []float64 // of the classes, in addition to the weights of rows
}

// Separation measures how well the scores of a class separate its rows (members) from the others.
type Separation struct {
	Distance float64 // between the two mean scores
	Variance float64 // around them
	Centre   float64 // halfway between them

	Members, Others float64 // numbers of rows
}

// Separations returns the separation of each class on the rows of a fold, for scores that were not fitted to them.
// vt are the weights for indicators of the classes, k rows of D, in units of the grids. The result is nil
// for a fold without rows.
//
// Means and class shares leave out the weights of classes. The variance includes them, because products of
// features are not known by class. Each distance of means is shrunk toward the mean distance over the
// classes, as if one more row had that distance, so that a class with few rows or none has a distance too.
func Separations(fit HeldOutFit, fold ClassFold, vt []float64, threads int) (separations []Separation) {
	d, k, w, n := len(fold.Columns), len(fold.Weights), fold.Width, fold.N
	if n == 0 {
		return nil
	}
	// Σ(Vᵀ(z-z̄₀))² of each output, where z̄₀ is the mean of the fit: the squared errors for targets of 0.
	around := fold.HeldOutSums
	around.Targets, around.Squares, around.Cross, around.Width = []float64{0}, []float64{0}, make([]float64, d), 1
	squares := NewHeldOutErrors(d, 1, threads).Squares(
		HeldOutFit{N: fit.N, Columns: fit.Columns, Targets: []float64{0}, Factors: []float64{1}}, around, vt)

	class, rows, plain := make([]float64, k), 0.0, make([]float64, d) // without the weights of classes
	for c, weight := range fold.Weights {
		class[c] = fold.Targets[c] / weight
		rows += class[c]
		for j := range plain {
			plain[j] += fold.Cross[j*w+c] / weight
		}
	}
	inMeans, outMeans, spread := make([]float64, k), make([]float64, k), make([]float64, k)
	var mean float64
	for c, weight := range fold.Weights {
		in := fold.Targets[c]
		out, weighted := n-in, 0.0 // the mean of the others, with the weights of classes
		for j, v := range vt[c*d:][:d] {
			zero, z := fit.Columns[j]/fit.N, fold.Cross[j*w+c]
			inMeans[c] += float64(v * (ratio(z, in) - zero))
			outMeans[c] += float64(v * (ratio(plain[j]-z/weight, rows-class[c]) - zero))
			weighted += float64(v * (ratio(fold.Columns[j]-z, out) - zero))
		}
		square := squares[c] - float64(in*float64(inMeans[c]*inMeans[c])) - float64(out*float64(weighted*weighted))
		spread[c] = max(square, 0) / n
		if in > 0 && out > 0 {
			mean += float64(class[c] / rows * (inMeans[c] - outMeans[c]))
		}
	}
	unit := fold.Rows / rows // rows per unit of their weights
	for c := range k {
		members, rest := float64(class[c]*unit), float64((rows-class[c])*unit)
		distance := mean
		if few := min(members, rest); few > 0 {
			distance = (float64(few*(inMeans[c]-outMeans[c])) + mean) / (few + 1)
		}
		centre := outMeans[c] + float64(distance/2)
		if members > rest { // the mean of the larger side is more precise
			centre = inMeans[c] - float64(distance/2)
		}
		// A score is 2(Vᵀ(z-z̄₀) + q̄₀) - 1, for codes of ±1.
		at := float64(2*(centre+fit.Targets[c]/fit.N)) - 1
		separations = append(separations, Separation{2 * distance, 4 * spread[c], at, members, rest})
	}
	return separations
}

// ratio returns x/n, and 0 for no rows.
func ratio(x, n float64) float64 {
	if n > 0 {
		return x / n
	}
	return 0
}

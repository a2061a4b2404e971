package evaluate

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/features/fourier"
	"github.com/bochner-ml/bochner/features/kernel"
	"github.com/bochner-ml/bochner/internal/parallel"
	"github.com/bochner-ml/bochner/pipelines/results"
	"github.com/bochner-ml/bochner/transforms/fault"
)

// approximationErrors holds the errors of inner products of features as estimates of the kernel, over all pairs
// of distinct rows of a sample.
type approximationErrors struct {
	MAE         float64 // mean of |φ(x)·φ(z) − K(x, z)|
	RMSE        float64 // root of the mean squared error
	Max         float64 // largest absolute error
	Correlation float64 // of φ(x)·φ(z) with K(x, z)
}

// kernelOfPairs returns K(x_i, x_j) for all pairs i < j of the n rows of x (n×d), in the order (0, 1), (0, 2),
// …, (n−2, n−1). Steps before the kernel, such as scaling, are applied once.
func kernelOfPairs(r features.Recipe, x []float32, n, d, threads int) ([]float64, error) {
	r, x, d = lastStep(r, x, n, d)
	k, err := features.Kernel(r)
	if err != nil {
		return nil, err
	}
	return forPairs(n, threads, func(i, j int) float64 { return k(x[i*d:(i+1)*d], x[j*d:(j+1)*d]) }), nil
}

// lastStep returns the last step of a chain, and the output of the other steps for the n rows of x. If r is not
// a valid chain, it returns its arguments.
func lastStep(r features.Recipe, x []float32, n, d int) (features.Recipe, []float32, int) {
	c, ok := r.(features.Chain)
	if !ok || len(c.Steps) < 2 {
		return r, x, d
	}
	last := len(c.Steps) - 1
	m, err := features.Chain{Steps: c.Steps[:last]}.New()
	if err != nil {
		return r, x, d
	}
	_, to := m.Dims()
	y := make([]float32, n*to)
	m.Apply(y, x[:n*d], n)
	return c.Steps[last], y, to
}

// productsOfPairs returns φ(x_i)·φ(x_j) for the same pairs, given the features φ (n×dim).
func productsOfPairs(phi []float32, n, dim, threads int) []float64 {
	return forPairs(n, threads, func(i, j int) (sum float64) {
		a := phi[i*dim : (i+1)*dim]
		for k, v := range phi[j*dim : (j+1)*dim] {
			sum += float64(float64(a[k]) * float64(v))
		}
		return sum
	})
}

// forPairs returns f for all pairs i < j.
func forPairs(n, threads int, f func(i, j int) float64) []float64 {
	out := make([]float64, n*(n-1)/2)
	var wg parallel.Group
	for t := range max(1, threads) {
		wg.Go(func() {
			for i := t; i < n; i += max(1, threads) {
				at := i*n - i*(i+1)/2 // position of the first pair of row i
				for j := i + 1; j < n; j++ {
					out[at+j-i-1] = f(i, j)
				}
			}
		})
	}
	wg.Wait()
	return out
}

// measureErrors draws the map of the recipe and compares its inner products with the kernel's values on the n
// rows of x. exact has the values of kernelOfPairs. It returns an error if the map cannot be drawn, or if the
// features take more than 4 GiB.
func measureErrors(r features.Recipe, exact []float64, x []float32, n, threads int) (approximationErrors, error) {
	m, err := r.New()
	if err != nil {
		return approximationErrors{}, err
	}
	_, dim := m.Dims()
	if int64(n)*int64(dim) > 1<<30 {
		return approximationErrors{}, fmt.Errorf("%d features of %d rows take more than 4 GiB; compare fewer rows",
			dim, n)
	}
	phi := make([]float32, n*dim)
	m.Apply(phi, x, n)
	return compareErrors(exact, productsOfPairs(phi, n, dim, threads)), nil
}

// compareErrors returns the errors of estimates of the kernel's values, pair by pair.
func compareErrors(exact, estimates []float64) approximationErrors {
	var e approximationErrors
	for i, k := range exact {
		d := math.Abs(estimates[i] - k)
		e.MAE += d
		e.RMSE += float64(d * d)
		e.Max = max(e.Max, d)
	}
	n := float64(len(exact))
	e.MAE /= n
	e.RMSE = math.Sqrt(e.RMSE / n)
	e.Correlation = stat.Correlation(exact, estimates, nil)
	return e
}

// summariseErrors returns means over seeds, at least one, with 95% intervals by Student's t distribution.
func summariseErrors(dim int, runs []approximationErrors) results.ErrorSummary {
	interval := func(f func(approximationErrors) float64) results.ErrorInterval {
		v := make([]float64, len(runs))
		for i, r := range runs {
			v[i] = f(r)
		}
		if len(v) == 1 {
			return results.ErrorInterval{Mean: v[0]}
		}
		mean, dev := stat.MeanStdDev(v, nil)
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(v) - 1)}.Quantile(0.975)
		return results.ErrorInterval{Mean: mean, Half: t * dev / math.Sqrt(float64(len(v)))}
	}
	return results.ErrorSummary{
		Features: dim, Seeds: len(runs),
		MAE:         interval(func(e approximationErrors) float64 { return e.MAE }),
		RMSE:        interval(func(e approximationErrors) float64 { return e.RMSE }),
		Max:         interval(func(e approximationErrors) float64 { return e.Max }),
		Correlation: interval(func(e approximationErrors) float64 { return e.Correlation }),
	}
}

// fourierRecipe is a recipe of Fourier features.
type fourierRecipe interface {
	Dims() (in, out int)
	Drawn() (fourier.Form, fourier.Draw)
	SecondMoment() float64
}

// bounds returns the bounds for the points of a curve, nil unless features are Fourier features with
// independent frequencies.
func (k *kernelSample) bounds(curve results.ErrorCurve) (*results.ErrorBounds, error) {
	r, ok := k.prepared.Recipe.Choice.Recipe.(fourierRecipe)
	if !ok {
		return nil, nil
	}
	form, draw := r.Drawn()
	if draw != fourier.Iid {
		return nil, nil
	}
	dim, _ := r.Dims()
	scaled, err := k.prepared.Recipe.Scaling.Apply(k.x, k.n)
	if err != nil {
		return nil, err
	}
	b := &results.ErrorBounds{Dim: dim, Diameter: diameter(scaled, k.n, dim), Epsilon: k.options.Epsilon}
	paired := form == fourier.Paired
	given := kernel.Pairs{Paired: paired, Pairs: int64(len(k.exact))}
	region := kernel.Uniform{Paired: paired, Dim: dim, Diameter: b.Diameter, Moment: r.SecondMoment()}
	for i, p := range curve.Points {
		b.Points = append(b.Points, results.BoundPoint{Features: p.Features, Max: p.Max.Mean})
		if b.Points[i].Pairs, err = kernel.Epsilon(given, p.Features, results.BoundDelta); err != nil {
			return nil, err
		}
		if e, err := kernel.Epsilon(region, p.Features, results.BoundDelta); err == nil {
			b.Points[i].Uniform = &e
		}
	}
	// An error means that there is no such bound, or that the number of features overflows.
	if b.PairsFeatures, err = kernel.Features(given, k.options.Epsilon, results.BoundDelta); err != nil {
		b.Why = fault.Text(err)
	} else if b.UniformFeatures, err = kernel.Features(region, k.options.Epsilon, results.BoundDelta); err != nil {
		b.Why = fault.Text(err)
	}
	return b, nil
}

// diameter returns the largest distance between n rows.
func diameter(x []float32, n, d int) (largest float64) {
	for i := range n {
		for j := range i {
			var sum float64
			for c, v := range x[i*d : (i+1)*d] {
				e := float64(v) - float64(x[j*d+c])
				sum += float64(e * e)
			}
			largest = max(largest, sum)
		}
	}
	return math.Sqrt(largest)
}

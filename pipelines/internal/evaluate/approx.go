package evaluate

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bochner-ml/bochner/features"
	"github.com/bochner-ml/bochner/internal/parallel"
)

// ApproximationErrors are the errors of inner products of features as estimates of the kernel,
// over all pairs of different rows of a sample.
type ApproximationErrors struct {
	MAE         float64 `json:"mae"`         // mean of |φ(x)·φ(z) − K(x, z)|
	RMSE        float64 `json:"rmse"`        // root of the mean of its square
	Max         float64 `json:"max"`         // largest
	Correlation float64 `json:"correlation"` // of φ(x)·φ(z) with K(x, z)
}

// KernelOfPairs returns K(x_i, x_j) for all pairs i < j of the n rows of x (n×d), in the
// order (0, 1), (0, 2), …, (n−2, n−1), computed by that many threads. Work that
// does not depend on the pair, such as scaling the rows, is done once.
func KernelOfPairs(r features.Recipe, x []float32, n, d, threads int) []float64 {
	r, x, d = scaled(r, x, n, d)
	kernel := features.Kernel(r)
	return pairs(n, threads, func(i, j int) float64 { return kernel(x[i*d:(i+1)*d], x[j*d:(j+1)*d]) })
}

// scaled returns the last step of a chain and the output of the other steps for x.
// It returns a recipe that is not a chain, or is not valid, unchanged.
func scaled(r features.Recipe, x []float32, n, d int) (features.Recipe, []float32, int) {
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

// ProductsOfPairs returns φ(x_i)·φ(x_j) for the same pairs, φ being the features (n×D).
func ProductsOfPairs(phi []float32, n, dim, threads int) []float64 {
	return pairs(n, threads, func(i, j int) (sum float64) {
		a := phi[i*dim : (i+1)*dim]
		for k, v := range phi[j*dim : (j+1)*dim] {
			sum += float64(float64(a[k]) * float64(v))
		}
		return sum
	})
}

// pairs returns f of all pairs.
func pairs(n, threads int, f func(i, j int) float64) []float64 {
	out := make([]float64, n*(n-1)/2)
	var wg parallel.Group
	for t := range max(1, threads) {
		wg.Go(func() {
			for i := t; i < n; i += max(1, threads) {
				at := i*n - i*(i+1)/2 // of its first pair
				for j := i + 1; j < n; j++ {
					out[at+j-i-1] = f(i, j)
				}
			}
		})
	}
	wg.Wait()
	return out
}

// MeasureErrors draws the map of the recipe and compares it with the kernel's values
// (from Kernel) on the n rows of x. It returns an error if the map cannot be drawn or if
// the features of the sample take more than 4 GiB.
func MeasureErrors(r features.Recipe, kernel []float64, x []float32, n, threads int) (ApproximationErrors, error) {
	m, err := r.New()
	if err != nil {
		return ApproximationErrors{}, err
	}
	_, dim := m.Dims()
	if int64(n)*int64(dim) > 1<<30 {
		return ApproximationErrors{}, fmt.Errorf("approx: %d features of %d rows take more than 4 GiB; compare fewer rows",
			dim, n)
	}
	phi := make([]float32, n*dim)
	m.Apply(phi, x, n)
	return CompareErrors(kernel, ProductsOfPairs(phi, n, dim, threads)), nil
}

// CompareErrors returns the errors of the estimates of the kernel's values, pair by
// pair. It panics if the lengths differ.
func CompareErrors(kernel, estimates []float64) ApproximationErrors {
	if len(kernel) != len(estimates) {
		panic("approx: Compare: lengths differ")
	}
	var e ApproximationErrors
	for i, k := range kernel {
		d := math.Abs(estimates[i] - k)
		e.MAE += d
		e.RMSE += d * d
		e.Max = max(e.Max, d)
	}
	n := float64(len(kernel))
	e.MAE /= n
	e.RMSE = math.Sqrt(e.RMSE / n)
	e.Correlation = stat.Correlation(kernel, estimates, nil)
	return e
}

// ErrorInterval is a mean over seeds with its confidence interval.
type ErrorInterval struct {
	Mean float64 `json:"mean"`
	Half float64 `json:"half"` // half the width of the 95% interval; 0 for a single seed
}

// ErrorSummary holds the errors over several seeds for one number of features.
type ErrorSummary struct {
	Features    int           `json:"features"`
	Seeds       int           `json:"seeds"`
	MAE         ErrorInterval `json:"mae"`
	RMSE        ErrorInterval `json:"rmse"`
	Max         ErrorInterval `json:"max"`
	Correlation ErrorInterval `json:"correlation"`
}

// SummariseErrors returns the means over seeds, with 95% intervals of Student's t
// distribution. It returns an error if there are no seeds.
func SummariseErrors(dim int, runs []ApproximationErrors) (ErrorSummary, error) {
	if len(runs) == 0 {
		return ErrorSummary{}, errors.New("approx: no seeds to summarise")
	}
	of := func(f func(ApproximationErrors) float64) ErrorInterval {
		v := make([]float64, len(runs))
		for i, r := range runs {
			v[i] = f(r)
		}
		if len(v) == 1 {
			return ErrorInterval{Mean: v[0]}
		}
		mean, dev := stat.MeanStdDev(v, nil)
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(v) - 1)}.Quantile(0.975)
		return ErrorInterval{mean, t * dev / math.Sqrt(float64(len(v)))}
	}
	return ErrorSummary{
		Features: dim, Seeds: len(runs),
		MAE:         of(func(e ApproximationErrors) float64 { return e.MAE }),
		RMSE:        of(func(e ApproximationErrors) float64 { return e.RMSE }),
		Max:         of(func(e ApproximationErrors) float64 { return e.Max }),
		Correlation: of(func(e ApproximationErrors) float64 { return e.Correlation }),
	}, nil
}

// String returns the interval as mean ± half.
func (i ErrorInterval) String() string { return fmt.Sprintf("%.5f ± %.5f", i.Mean, i.Half) }

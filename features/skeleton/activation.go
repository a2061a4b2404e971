package skeleton

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"sort"
	"sync"
)

// MaxDegree is the largest degree of an activation's series that can be drawn.
const MaxDegree = 1 << 16

// Activation is a normalised dual activation
//
//	σ̂(ρ) = Σ a_i ρ^i,   a_i ≥ 0,   Σ a_i = 1,
//
// given by exactly one of its fields.
type Activation struct {
	// Exponential is the scale s ≥ 0.002 of σ̂(ρ) = exp((ρ−1)/s): a_i = e^{−1/s} s^{−i}/i!. Over circles or
	// other linear kernels, a node with it is a Gaussian kernel.
	Exponential float64 `json:"exponential,omitempty"`
	// ReLU is σ̂(ρ) = (√(1−ρ²) + ρ(π − arccos ρ))/π, the dual of max(0, x):
	// a_0 = 1/π, a_1 = ½, a_2 = 1/2π, a_{2i} = [(2i−3)!!]²/(2i)!/π.
	ReLU bool `json:"relu,omitempty"`
	// Step is the degree, 1 to MaxDegree, at which the series of the step function's dual, 1 − arccos(ρ)/π,
	// is truncated. The rest is normalised. The full series has infinite slope at 1, so features would have
	// infinitely many factors on average.
	Step int `json:"step,omitempty"`
	// Polynomial lists a_0, a_1, … directly, at most MaxDegree+1 of them.
	Polynomial []float64 `json:"polynomial,omitempty"`
}

// none reports whether no field is given.
func (a Activation) none() bool {
	return a.Exponential == 0 && !a.ReLU && a.Step == 0 && a.Polynomial == nil
}

const (
	minScale     = 0.002 // so that e^{−1/s} is a normal float64
	sumTolerance = 1e-9
)

// Validate returns an error unless exactly one field is given and in range.
func (a Activation) Validate() error {
	given := 0
	for _, g := range []bool{a.Exponential != 0, a.ReLU, a.Step != 0, a.Polynomial != nil} {
		if g {
			given++
		}
	}
	switch {
	case given == 0:
		return errors.New("activation: none; give one of exponential (its scale), relu, step (the degree to cut it at: " +
			"uncut, features have infinitely many factors in the mean), polynomial (its coefficients)")
	case given > 1:
		return errors.New("activation: more than one of exponential, relu, step, polynomial; give one")
	case a.Exponential != 0 && !(a.Exponential >= minScale && a.Exponential <= math.MaxFloat64):
		return fmt.Errorf("activation: exponential: scale must be %v or more, and finite (have %v)", minScale, a.Exponential)
	case a.Step < 0 || a.Step > MaxDegree:
		return fmt.Errorf("activation: step: the degree to cut at must be 1 to %d (have %d)", MaxDegree, a.Step)
	case a.Polynomial != nil:
		return checkCoefficients(a.Polynomial)
	}
	return nil
}

func checkCoefficients(c []float64) error {
	if len(c) == 0 || len(c) > MaxDegree+1 {
		return fmt.Errorf("activation: polynomial: the number of coefficients must be 1 to %d (have %d)", MaxDegree+1,
			len(c))
	}
	var sum float64
	for i, v := range c {
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("activation: polynomial: coefficient of ρ^%d must be 0 to 1 (have %v)", i, v)
		}
		sum += v
	}
	if !(math.Abs(sum-1) <= sumTolerance) {
		return fmt.Errorf("activation: polynomial: coefficients must sum to 1 (have %v); divide each by their sum", sum)
	}
	return nil
}

// dual returns σ̂(ρ) of a valid activation. ρ is clamped to [−1, 1].
func (a Activation) dual(rho float64) float64 {
	rho = max(-1, min(1, rho))
	switch {
	case a.Exponential != 0:
		return math.Exp((rho - 1) / a.Exponential)
	case a.ReLU:
		return (math.Sqrt(1-float64(rho*rho)) + float64(rho*(math.Pi-math.Acos(rho)))) / math.Pi
	}
	c := a.series()
	var sum, total float64
	for i := len(c) - 1; i >= 0; i-- {
		sum = float64(sum*rho) + c[i]
		total += c[i]
	}
	return sum / total
}

// meanDegree returns σ̂'(1) = Σ i·a_i, the mean degree, of a valid activation.
func (a Activation) meanDegree() float64 {
	switch {
	case a.Exponential != 0:
		return 1 / a.Exponential
	case a.ReLU:
		return 1
	}
	var sum, total float64
	for i, v := range a.series() {
		sum += float64(float64(i) * v)
		total += v
	}
	return sum / total
}

// series returns the coefficients from which degrees are drawn, up to a common factor. Models depend on
// them, so every operation is rounded separately.
func (a Activation) series() []float64 {
	switch {
	case a.Exponential != 0:
		return poisson(1 / a.Exponential)
	case a.ReLU:
		return reluSeries()
	case a.Step != 0:
		return stepSeries(a.Step)
	}
	return a.Polynomial
}

// poisson returns e^{−y} yⁱ/i! for i = 0, 1, … until the rest is below 2⁻⁶⁰ of the sum.
func poisson(y float64) []float64 {
	c := []float64{expNegative(y)}
	for i := 1; i <= MaxDegree; i++ {
		next := float64(c[i-1]*y) / float64(i)
		if float64(i) > 2*y && next < 0x1p-61 {
			break
		}
		c = append(c, next)
	}
	return c
}

// expNegative returns e^{−y} for 0 ≤ y ≤ 500, correctly rounded unless 160 bits cannot decide. math.Exp
// differs between platforms.
func expNegative(y float64) float64 {
	const prec = 160
	term, sum := big.NewFloat(1).SetPrec(prec), big.NewFloat(1).SetPrec(prec)
	factor := big.NewFloat(y).SetPrec(prec)
	for i := int64(1); term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-prec; i++ {
		term.Mul(term, factor)
		term.Quo(term, new(big.Float).SetPrec(prec).SetInt64(i))
		sum.Add(sum, term)
	}
	r, _ := new(big.Float).SetPrec(prec).Quo(big.NewFloat(1).SetPrec(prec), sum).Float64()
	return r
}

// reluSeries returns the series up to degree MaxDegree. The omitted part is 5·10⁻⁹ of it.
var reluSeries = sync.OnceValue(func() []float64 {
	c := make([]float64, MaxDegree+1)
	c[0], c[1], c[2] = 1/math.Pi, 0.5, 1/(2*math.Pi)
	for i := 2; i+2 <= MaxDegree; i += 2 {
		// a_{i+2} = a_i · (i−1)²/((i+1)(i+2))
		c[i+2] = float64(c[i]*float64((i-1)*(i-1))) / float64((i+1)*(i+2))
	}
	return c
})

// stepSeries returns the series of ½ + arcsin(ρ)/π up to degree n.
func stepSeries(n int) []float64 {
	c := make([]float64, n+1)
	c[0], c[1] = 0.5, 1/math.Pi
	for i := 1; i+2 <= n; i += 2 {
		// a_{i+2} = a_i · i²/((i+1)(i+2))
		c[i+2] = float64(c[i]*float64(i*i)) / float64((i+1)*(i+2))
	}
	return c
}

// preparedActivation is an activation prepared for drawing and evaluation.
type preparedActivation struct {
	Activation
	slope float64
	sums  []float64 // a_0, a_0+a_1, …
}

var reluSums = sync.OnceValue(func() []float64 { return runningSums(reluSeries()) })

// prepare returns a valid activation, prepared.
func (a Activation) prepare() *preparedActivation {
	d := &preparedActivation{Activation: a, slope: a.meanDegree()}
	if a.ReLU {
		d.sums = reluSums()
	} else {
		d.sums = runningSums(a.series())
	}
	return d
}

func runningSums(c []float64) []float64 {
	sums := make([]float64, len(c))
	var s float64
	for i, v := range c {
		s += v
		sums[i] = s
	}
	return sums
}

// degree returns the degree for a uniform number u: the least i with u·Σa < a_0 + … + a_i.
func (d *preparedActivation) degree(u float64) int {
	last := len(d.sums) - 1
	v := float64(u * d.sums[last])
	for i, s := range d.sums[:min(8, last+1)] {
		if v < s {
			return i
		}
	}
	return min(last, sort.Search(last+1, func(i int) bool { return v < d.sums[i] }))
}

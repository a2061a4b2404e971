package exact

import "math/big"

// Mean returns the mean of n ≥ 1 terms with the given sum, rounded once to nearest
// even; 0 if n is 0.
func Mean(n int64, sum *Sum) float64 {
	if n < 0 {
		panic("exact: negative count")
	}
	if n == 0 || sum.IsZero() {
		return 0
	}
	return quotient(sum.Big(), big.NewInt(n), -unitBits)
}

// Moments returns the mean and the population variance
//
//	mean = S/n,   variance = Q/n − (S/n)² = (nQ − S²)/n²
//
// of n ≥ 1 values with sum S and sum of squares Q, each rounded once to nearest
// even from the exact value. Both are 0 if n is 0. A variance below zero, which
// no n values have, is returned as it is.
func Moments(n int64, sum, sumsq *Sum) (mean, variance float64) {
	mean = Mean(n, sum)
	if n == 0 || sumsq.IsZero() && sum.IsZero() {
		return mean, 0
	}
	// With S = s·u, Q = q·u and the unit u: nQ − S² = u²·(n·q/u − s²).
	count, s := big.NewInt(n), sum.Big()
	num := new(big.Int).Mul(count, sumsq.Big())
	num.Lsh(num, unitBits)
	num.Sub(num, s.Mul(s, s))
	return mean, quotient(num, count.Mul(count, count), -2*unitBits)
}

// WeightedMoments returns the mean and the population variance
//
//	mean = S/W,   variance = Q/W − (S/W)² = (WQ − S²)/W²
//
// of values with weights of sum W > 0, weighted sum S and weighted sum of squares Q, each
// rounded once. With whole weights they equal the Moments of rows repeated as often as they weigh.
func WeightedMoments(weights, sum, sumsq *Sum) (mean, variance float64) {
	if weights.Sign() <= 0 {
		return 0, 0
	}
	w, s := weights.Big(), sum.Big()
	if s.Sign() != 0 {
		mean = quotient(s, w, 0)
	}
	num := new(big.Int).Mul(w, sumsq.Big())
	if num.Sub(num, new(big.Int).Mul(s, s)).Sign() != 0 {
		variance = quotient(num, w.Mul(w, w), 0)
	}
	return mean, variance
}

// quotient returns num/den·2^exp rounded once. The values that arise here are
// in the range of normal float64 numbers, or zero.
func quotient(num, den *big.Int, exp int) float64 {
	// SetInt on a zero precision is exact; Quo rounds to the precision of z.
	z := new(big.Float).SetPrec(53).SetMode(big.ToNearestEven)
	z.Quo(new(big.Float).SetInt(num), new(big.Float).SetInt(den))
	x, _ := z.SetMantExp(z, exp).Float64()
	return x
}

package rowio

import (
	"math"
	"testing"
)

func TestOrderedKeysAreInTheOrderOfNumbers(t *testing.T) {
	numbers := []float64{math.Inf(-1), -math.MaxFloat64, -1.5, -1, -5e-324, 0, 5e-324, 1, 1.5, math.MaxFloat64,
		math.Inf(1)}
	for i, v := range numbers {
		if KeyNumber(OrderedKey(v)) != v || i > 0 && OrderedKey(v) <= OrderedKey(numbers[i-1]) {
			t.Errorf("%g has key %d", v, OrderedKey(v))
		}
	}
	if OrderedKey(math.Copysign(0, -1)) != OrderedKey(0) {
		t.Error("zeros differ")
	}
}

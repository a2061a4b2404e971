package evaluate

import (
	"math"
	"strconv"
	"testing"
)

func TestRowsNeededFallWithTheDifference(t *testing.T) {
	last := int64(math.MaxInt64)
	for _, n := range rowsNeeded(0.01) {
		if n.NotWorse <= 0 || n.NotWorse >= last || n.Better > 0 && n.Difference > 0.01 || n.Better == 0 &&
			n.Difference <= 0.01 {
			t.Error(strconv.FormatFloat(n.Difference, 'g', -1, 64), n)
		}
		last = n.NotWorse
	}
}

package parquetio

import "testing"

// A run of a value that does not fit is an error, also after ones has met it.
func TestHybridRejectsARunOfALargeValue(t *testing.T) {
	for _, first := range []bool{false, true} {
		var h hybrid
		if err := h.set([]byte{4, 2, 4, 1}, 1); err != nil {
			t.Fatal(err)
		}
		if first && h.ones(2) {
			t.Error("a run of 2 is a run of ones")
		}
		dst := make([]uint32, 2)
		if err := h.next(dst); err == nil {
			t.Errorf("values %v", dst)
		}
	}
}

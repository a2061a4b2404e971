package blas

import "testing"

func TestMakeReturnsZerosOnACacheLine(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 1000, large/4 - 1, large / 4, 3*large + 5} {
		for range 3 { // small ones may lie on a line by chance
			s, b := Make[float32](n), Make[int8](n)
			if len(s) != n || cap(s) < n || len(b) != n {
				t.Fatalf("%d and %d numbers, want %d", len(s), len(b), n)
			}
			if n > 0 && (fromLine(s) != 0 || fromLine(b) != 0) {
				t.Errorf("%d numbers start %d and %d bytes behind a line", n, fromLine(s), fromLine(b))
			}
			for i := range s {
				if s[i] != 0 || b[i] != 0 {
					t.Fatalf("%d numbers: number %d is %g, %d", n, i, s[i], b[i])
				}
				s[i], b[i] = 1, 1
			}
		}
	}
}

func TestMakeEachMatchesMake(t *testing.T) {
	for range 2 { // the second time in memory that the first has had
		lengths := []int{1, 0, large/8 - 1, large / 8, 3*large + 5}
		for i, s := range MakeEach[float64](lengths) {
			if len(s) != lengths[i] || (s == nil) != (lengths[i] == 0) || s != nil && fromLine(s) != 0 {
				t.Fatalf("slice %d has %d numbers, want %d from a line on", i, len(s), lengths[i])
			}
			for j := range s {
				if s[j] != 0 {
					t.Fatalf("number %d of slice %d is %g", j, i, s[j])
				}
				s[j] = 1
			}
		}
	}
}
